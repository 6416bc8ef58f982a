package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// APIRequest is a request that a program sends with a key of its own.
type APIRequest struct {
	Person, Key string
	Digest      []byte // SHA-256 of what is asked
	At          time.Time
	Answer      []byte // nil: it is being done, or whoever did it has died
}

// BeginAPIRequest stores that a request is being done. If there is one of that key
// already it returns that, and stores nothing. Requests from before a moment are
// forgotten, a thousand at most.
func BeginAPIRequest(ctx context.Context, q pg.Querier, r APIRequest, over time.Time) (earlier *APIRequest, err error) {
	if _, err := q.Exec(ctx, "DELETE FROM control.api_request WHERE (person, key) IN (SELECT person, key FROM control.api_request WHERE at < $1 LIMIT $2)", over, mostForgotten); err != nil {
		return nil, fmt.Errorf("forget old requests: %w", err)
	}
	tag, err := q.Exec(ctx, "INSERT INTO control.api_request (person, key, digest, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", r.Person, r.Key, r.Digest, r.At)
	if err != nil {
		return nil, fmt.Errorf("store a request: %w", err)
	}
	if tag.RowsAffected() == 1 {
		return nil, nil
	}
	return pg.One(ctx, q, "read a request", pgx.RowToAddrOfStructByName[APIRequest], "SELECT person, key, digest, at, answer FROM control.api_request WHERE person = $1 AND key = $2", r.Person, r.Key)
}

// EndAPIRequest stores what a request was answered; nil forgets the request, since
// nothing has come of it.
func EndAPIRequest(ctx context.Context, q pg.Querier, person, key string, answer []byte) error {
	statement, args := "UPDATE control.api_request SET answer = $3 WHERE person = $1 AND key = $2", []any{person, key, answer}
	if answer == nil {
		statement, args = "DELETE FROM control.api_request WHERE person = $1 AND key = $2", args[:2]
	}
	return pg.Exec(ctx, q, "store what a request was answered", statement, args...)
}
