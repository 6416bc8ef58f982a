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
	err = pg.Exec(ctx, tx, "forget old links of centres", "DELETE FROM control.centre_link WHERE number IN (SELECT number FROM control.centre_link WHERE least(expires_at, revoked_at) < $1 LIMIT $2)", over, mostForgotten)
	if err != nil {
		return 0, err
	}
	return pg.One(ctx, tx, "store a link of "+l.Centre, pgx.RowTo[int64], "INSERT INTO control.centre_link (centre, secret, made_by, created_at, expires_at) VALUES ($1, $2, $3, $4, $5) RETURNING number",
		l.Centre, secret, pg.Text(l.MadeBy), l.CreatedAt, l.ExpiresAt)
}

// CentreLinks returns the links of a centre, or all for an empty name, by number, those
// that are over too.
func CentreLinks(ctx context.Context, q pg.Querier, centre string) ([]CentreLink, error) {
	return pg.List(ctx, q, "read links of centres", pgx.RowToStructByName[CentreLink], "SELECT number, centre, made_by, created_at, expires_at, used_at, revoked_at FROM control.centre_link WHERE $1 IN ('', centre) ORDER BY number", centre)
}

// ReadCentreLink returns a link by the SHA-256 of its secret, also one that is over; nil
// if there is none.
func ReadCentreLink(ctx context.Context, q pg.Querier, secret []byte) (*CentreLink, error) {
	return pg.Maybe(ctx, q, "read a link of a centre", pgx.RowToStructByName[CentreLink], "SELECT number, centre, made_by, created_at, expires_at, used_at, revoked_at FROM control.centre_link WHERE secret = $1", secret)
}

// SeeCentreLink notes when a link was used last.
func SeeCentreLink(ctx context.Context, q pg.Querier, number int64, now time.Time) error {
	return pg.Exec(ctx, q, "note that a link of a centre was used", "UPDATE control.centre_link SET used_at = $2 WHERE number = $1 AND (used_at < $2 OR used_at IS NULL)", number, now)
}

// RevokeCentreLink ends a link and returns of which centre it was; empty if there is
// none of that number that has not ended.
func RevokeCentreLink(ctx context.Context, tx pgx.Tx, number int64, now time.Time) (centre string, err error) {
	l, err := pg.Maybe(ctx, tx, fmt.Sprintf("revoke the link %d of a centre", number), pgx.RowTo[string], "UPDATE control.centre_link SET revoked_at = $2 WHERE number = $1 AND revoked_at IS NULL AND expires_at > $2 RETURNING centre", number, now)
	return pg.Value(l), err
}
