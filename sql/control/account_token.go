package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// AccountToken is a program that may ask, known by the SHA-256 of a secret.
type AccountToken struct {
	Name, Role string
	Centre     string // of a producer; empty for other roles
	CreatedAt  time.Time
	ExpiresAt  time.Time
	UsedAt     *time.Time // nil: never
	RevokedAt  *time.Time // nil: it can be used until it expires
}

// AddToken stores a new token and reports false if there is one of that name. Tokens
// that were over by a moment are forgotten with their questions, a thousand at most.
func AddToken(ctx context.Context, tx pgx.Tx, t AccountToken, secret []byte, over time.Time) (added bool, err error) {
	err = pg.Exec(ctx, tx, "forget old tokens", `WITH gone AS (DELETE FROM control.account_token WHERE name IN (SELECT name FROM control.account_token WHERE least(expires_at, revoked_at) < $1 LIMIT $2) RETURNING name)
		DELETE FROM control.kept_question WHERE person IN (SELECT 'token:' || name FROM gone)`, over, mostForgotten)
	if err != nil {
		return false, err
	}
	n, err := pg.Changed(ctx, tx, "add the token "+t.Name, "INSERT INTO control.account_token (name, role, centre, secret, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING",
		t.Name, t.Role, t.Centre, secret, t.CreatedAt, t.ExpiresAt)
	return n == 1, err
}

// Tokens returns all tokens, by name, those that are over too.
func Tokens(ctx context.Context, q pg.Querier) ([]AccountToken, error) {
	return pg.List(ctx, q, "read tokens", pgx.RowToStructByName[AccountToken], "SELECT name, role, centre, created_at, expires_at, used_at, revoked_at FROM control.account_token ORDER BY name COLLATE \"C\"")
}

// ReadToken returns a token by the SHA-256 of its secret, also one that is over; nil
// if there is none.
func ReadToken(ctx context.Context, q pg.Querier, secret []byte) (*AccountToken, error) {
	return pg.Maybe(ctx, q, "read a token", pgx.RowToStructByName[AccountToken], "SELECT name, role, centre, created_at, expires_at, used_at, revoked_at FROM control.account_token WHERE secret = $1", secret)
}

// SeeToken notes when a token was used last.
func SeeToken(ctx context.Context, q pg.Querier, secret []byte, now time.Time) error {
	return pg.Exec(ctx, q, "note that a token was used", "UPDATE control.account_token SET used_at = $2 WHERE secret = $1 AND (used_at < $2 OR used_at IS NULL)", secret, now)
}

// RevokeToken ends a token, and reports false if there is none of that name that has
// not ended.
func RevokeToken(ctx context.Context, tx pgx.Tx, name string, now time.Time) (revoked bool, err error) {
	n, err := pg.Changed(ctx, tx, "revoke the token "+name, "UPDATE control.account_token SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL AND expires_at > $2", name, now)
	return n == 1, err
}
