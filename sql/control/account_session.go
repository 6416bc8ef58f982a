package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// mostForgotten is how many old rows of accounts one statement deletes at most: who
// adds a row deletes as many, so that they never heap up.
const mostForgotten = 1000

// AccountSession is a browser in which somebody is logged in. Secrets are known here
// by their SHA-256.
type AccountSession struct {
	Name, Role, Centre string     // of the account as they are now; link:WHO MADE IT if a link began it
	DisabledAt         *time.Time // of the account
	BegunAt, SeenAt    time.Time
}

// BeginAccountSession begins a session of an account. It reports false, and begins none, if
// the account is not any more what the caller has checked the password of: then who
// changed it has ended the sessions that it knew.
func BeginAccountSession(ctx context.Context, q pg.Querier, a Account, secret []byte, now time.Time) (begun bool, err error) {
	n, err := pg.Changed(ctx, q, "begin a session of "+a.Name, `INSERT INTO control.account_session (secret, account, begun_at, seen_at)
		SELECT $1, name, $4, $4 FROM control.account WHERE name = $2 AND password = $3 AND disabled_at IS NULL FOR SHARE`, secret, a.Name, a.Password, now)
	return n == 1, err
}

// ReadAccountSession returns a session; nil if there is none.
func ReadAccountSession(ctx context.Context, q pg.Querier, secret []byte) (*AccountSession, error) {
	return pg.Maybe(ctx, q, "read a session", pgx.RowToStructByName[AccountSession], `SELECT coalesce(s.account, 'link:' || s.link_by) AS name, coalesce(a.role, s.link_role) AS role, coalesce(a.centre, '') AS centre,
		a.disabled_at, s.begun_at, s.seen_at FROM control.account_session s LEFT JOIN control.account a ON a.name = s.account WHERE s.secret = $1`, secret)
}

// SeeAccountSession notes when a session asked last.
func SeeAccountSession(ctx context.Context, q pg.Querier, secret []byte, now time.Time) error {
	return pg.Exec(ctx, q, "note that a session asked", "UPDATE control.account_session SET seen_at = $2 WHERE secret = $1 AND seen_at < $2", secret, now)
}

// EndAccountSession ends a session, if there is one.
func EndAccountSession(ctx context.Context, q pg.Querier, secret []byte) error {
	return pg.Exec(ctx, q, "end a session", "DELETE FROM control.account_session WHERE secret = $1", secret)
}

// EndAccountSessions ends all sessions of an account.
func EndAccountSessions(ctx context.Context, tx pgx.Tx, account string) error {
	return pg.Exec(ctx, tx, "end the sessions of "+account, "DELETE FROM control.account_session WHERE account = $1", account)
}

// ForgetAccountSessions deletes sessions that have not asked since a moment, a thousand at
// most, and those of an account beyond so many that asked last.
func ForgetAccountSessions(ctx context.Context, q pg.Querier, unseen time.Time, account string, most int) error {
	_, err := q.Exec(ctx, "DELETE FROM control.account_session WHERE secret IN (SELECT secret FROM control.account_session WHERE seen_at < $1 LIMIT $2)", unseen, mostForgotten)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM control.account_session WHERE account = $1
			AND secret IN (SELECT secret FROM control.account_session WHERE account = $1 ORDER BY seen_at DESC, secret OFFSET $2 LIMIT $3)`, account, most, mostForgotten)
	}
	if err != nil {
		return fmt.Errorf("forget old sessions: %w", err)
	}
	return nil
}

// AddLink stores a link that logs in once, and forgets links that are over, a
// thousand at most.
func AddLink(ctx context.Context, tx pgx.Tx, secret []byte, role, by string, now, expires time.Time) error {
	_, err := tx.Exec(ctx, "DELETE FROM control.account_link WHERE secret IN (SELECT secret FROM control.account_link WHERE expires_at <= $1 LIMIT $2)", now, mostForgotten)
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO control.account_link (secret, role, made_by, expires_at) VALUES ($1, $2, $3, $4)", secret, role, pg.Text(by), expires)
	}
	if err != nil {
		return fmt.Errorf("store a link: %w", err)
	}
	return nil
}

// UseLink begins a session by a link, which is gone then. It reports false, and
// begins none, if the link was used, is over, or never was.
func UseLink(ctx context.Context, q pg.Querier, link, session []byte, now time.Time) (begun bool, err error) {
	n, err := pg.Changed(ctx, q, "use a link", `WITH used AS (DELETE FROM control.account_link WHERE secret = $1 AND expires_at > $3 RETURNING role, made_by)
		INSERT INTO control.account_session (secret, link_role, link_by, begun_at, seen_at) SELECT $2, role, made_by, $3, $3 FROM used`, link, session, now)
	return n == 1, err
}

// EndLinks ends all links that were not used, and all sessions that links began, and
// tells how many there were.
func EndLinks(ctx context.Context, tx pgx.Tx) (links, sessions int64, err error) {
	if links, err = pg.Changed(ctx, tx, "end links", "DELETE FROM control.account_link"); err != nil {
		return 0, 0, err
	}
	sessions, err = pg.Changed(ctx, tx, "end sessions of links", "DELETE FROM control.account_session WHERE account IS NULL")
	return links, sessions, err
}
