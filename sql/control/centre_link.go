package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// CentreLink is a link by which people of a centre see what is theirs, known by the
// SHA-256 of a secret.
type CentreLink struct {
	Number    int64 // by which people name it
	Centre    string
	MadeBy    string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time // nil: never
	RevokedAt *time.Time // nil: it can be used until it expires
}

// AddCentreLink stores a new link and returns its number. Links that were over by a
// moment are forgotten, a thousand at most.
func AddCentreLink(ctx context.Context, tx pgx.Tx, l CentreLink, secret []byte, over time.Time) (number int64, err error) {
	_, err = tx.Exec(ctx, "DELETE FROM control.centre_link WHERE number IN (SELECT number FROM control.centre_link WHERE least(expires_at, revoked_at) < $1 LIMIT $2)", over, mostForgotten)
	if err != nil {
		return 0, fmt.Errorf("forget old links of centres: %w", err)
	}
	err = tx.QueryRow(ctx, "INSERT INTO control.centre_link (centre, secret, made_by, created_at, expires_at) VALUES ($1, $2, $3, $4, $5) RETURNING number",
		l.Centre, secret, pg.Text(l.MadeBy), l.CreatedAt, l.ExpiresAt).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("store a link of %s: %w", l.Centre, err)
	}
	return number, nil
}

// CentreLinks returns the links of a centre, or all for an empty name, by number, those
// that are over too.
func CentreLinks(ctx context.Context, q pg.Querier, centre string) ([]CentreLink, error) {
	return pg.List(ctx, q, "read links of centres", pgx.RowToStructByName[CentreLink], "SELECT number, centre, made_by, created_at, expires_at, used_at, revoked_at FROM control.centre_link WHERE $1 IN ('', centre) ORDER BY number", centre)
}

// ReadCentreLink returns a link by the SHA-256 of its secret, also one that is over; nil
// if there is none.
func ReadCentreLink(ctx context.Context, q pg.Querier, secret []byte) (*CentreLink, error) {
	l, err := one[CentreLink](ctx, q, "SELECT number, centre, made_by, created_at, expires_at, used_at, revoked_at FROM control.centre_link WHERE secret = $1", secret)
	if err != nil {
		return nil, fmt.Errorf("read a link of a centre: %w", err)
	}
	return l, nil
}

// SeeCentreLink notes when a link was used last.
func SeeCentreLink(ctx context.Context, q pg.Querier, number int64, now time.Time) error {
	if _, err := q.Exec(ctx, "UPDATE control.centre_link SET used_at = $2 WHERE number = $1 AND (used_at < $2 OR used_at IS NULL)", number, now); err != nil {
		return fmt.Errorf("note that a link of a centre was used: %w", err)
	}
	return nil
}

// RevokeCentreLink ends a link and returns of which centre it was; empty if there is
// none of that number that has not ended.
func RevokeCentreLink(ctx context.Context, tx pgx.Tx, number int64, now time.Time) (centre string, err error) {
	l, err := one[struct{ Centre string }](ctx, tx, "UPDATE control.centre_link SET revoked_at = $2 WHERE number = $1 AND revoked_at IS NULL AND expires_at > $2 RETURNING centre", number, now)
	if err != nil {
		return "", fmt.Errorf("revoke the link %d of a centre: %w", number, err)
	}
	if l == nil {
		return "", nil
	}
	return l.Centre, nil
}
