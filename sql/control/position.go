package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/chain"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/outbox"
)

// Position is where the order goes on.
type Position struct {
	Next int64
	// Previous is what the record of Next names as the one before it.
	Previous string
	// GivenAt is when that one was given; zero if that is not known.
	GivenAt time.Time
}

// Heartbeat is how long sessions that found nothing close without positions after one
// was given: a record that contradicts the order is found with the next position, so there
// is one whenever a session ends after that.
const Heartbeat = 10 * time.Second

// GivenPosition is the last position that was given; 0 before the first.
func GivenPosition(ctx context.Context, q pg.Querier) (last int64, err error) {
	return pg.One(ctx, q, "read the last position", pgx.RowTo[int64], "SELECT next - 1 FROM control.position")
}

// LockPosition locks the one row of positions and returns the next one.
func LockPosition(ctx context.Context, tx pgx.Tx) (p Position, err error) {
	err = pg.Row(ctx, tx, "lock position", []any{&p.Next, &p.Previous}, "SELECT next, coalesce(encode(digest, 'hex'), $1) FROM control.position FOR UPDATE", chain.Start)
	return p, err
}

// AppendPositions adds events to the outbox, and chains the positions among them:
// each names the digest of the record before it, as it will be published. They
// are those that follow at, which the caller has locked, in their order.
func AppendPositions(ctx context.Context, tx pgx.Tx, o outbox.Outbox, at Position, messages ...schemas.Message) error {
	var records []schemas.Record
	first := at.Next
	for _, m := range messages {
		body, position := m.Body.(*schemas.DocumentOrdered)
		if position {
			if body.Position != at.Next {
				return fmt.Errorf("position %d is to be given, not %d", at.Next, body.Position)
			}
			body.Previous = at.Previous
		}
		out, err := o.Encode(ctx, tx, m)
		if err != nil {
			return err
		}
		if position {
			if len(out) == 0 || out[0].Topic != schemas.DocumentOrderedTopic {
				return fmt.Errorf("position %d can't be published", at.Next)
			}
			at = Position{Next: at.Next + 1, Previous: chain.Of(out[0].Value).String(), GivenAt: m.Time}
		}
		records = append(records, out...)
	}
	if at.Next > first {
		if err := SetPosition(ctx, tx, at); err != nil {
			return err
		}
	}
	return outbox.Append(ctx, tx, o.Schema, records)
}

// SetPosition stores the next position to give, what it names, and when that was given.
func SetPosition(ctx context.Context, tx pgx.Tx, p Position) error {
	return pg.Exec(ctx, tx, "store position", "UPDATE control.position SET next = $1, digest = decode(nullif($2, $3), 'hex'), given_at = nullif($4, '0001-01-01Z'::timestamptz)", p.Next, p.Previous, chain.Start, p.GivenAt)
}

// LastGiven is PositionDigest, and the positions that are not published yet, as far
// as they can be read.
func LastGiven(ctx context.Context, q pg.Querier) (digest string, unpublished []schemas.Record, err error) {
	digest, err = PositionDigest(ctx, q)
	if err != nil || digest == "" {
		return "", nil, err
	}
	rows, err := outbox.Read(ctx, q, Schema, 0, 1<<20)
	if err != nil {
		return "", nil, err
	}
	for _, row := range rows {
		for _, r := range row.Records {
			if r.Topic == schemas.DocumentOrderedTopic {
				unpublished = append(unpublished, r)
			}
		}
	}
	return digest, unpublished, nil
}

// PositionDigest is the digest of the last position that was given, in hexadecimal;
// chain.Start before the first, and empty where that is not known: control was lost,
// or what it gave was given by older programs.
func PositionDigest(ctx context.Context, q pg.Querier) (digest string, err error) {
	there := false
	if err := q.QueryRow(ctx, "SELECT to_regclass('control.position') IS NOT NULL").Scan(&there); err != nil {
		return "", fmt.Errorf("look for control: %w", err)
	}
	if !there {
		return "", nil
	}
	// By way of JSON, since the column is not there in an older control; a digest
	// begins with \x then.
	return pg.One(ctx, q, "read the digest of the last position", pgx.RowTo[string], "SELECT coalesce(substr(to_jsonb(p) ->> 'digest', 3), CASE next WHEN 1 THEN $1 ELSE '' END) FROM control.position p", chain.Start)
}
