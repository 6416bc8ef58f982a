package control

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// chosenAtOnce is how many items are sent to Postgres together.
const chosenAtOnce = 1000

// Chosen is what a replay shall process, gathered in a table of a connection of
// its own: choosing may take minutes, in which no transaction may be open, since
// others would wait for what it has locked, and vacuum for its end.
type Chosen struct {
	conn  *pgxpool.Conn
	items int64 // repeats included
}

// Gather asks next for items until it says false, and keeps them until Close.
func Gather(ctx context.Context, pool *pgxpool.Pool, next func() (ReplayItem, bool, error)) (_ *Chosen, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to gather what is replayed: %w", err)
	}
	c := &Chosen{conn: conn}
	defer func() {
		if err != nil {
			c.Close(ctx)
		}
	}()
	if _, err := conn.Exec(ctx, "CREATE TEMP TABLE chosen (n bigint GENERATED ALWAYS AS IDENTITY, file text, archive text, domain text)"); err != nil {
		return nil, fmt.Errorf("gather what is replayed: %w", err)
	}
	var rows [][]any
	for more := true; more; {
		var i ReplayItem
		if i, more, err = next(); err != nil {
			return nil, err
		}
		if more {
			rows = append(rows, []any{i.File, i.Archive, i.Domain})
		}
		if len(rows) == chosenAtOnce || !more {
			if _, err := conn.CopyFrom(ctx, pgx.Identifier{"pg_temp", "chosen"}, []string{"file", "archive", "domain"}, pgx.CopyFromRows(rows)); err != nil {
				return nil, fmt.Errorf("gather what is replayed: %w", err)
			}
			c.items += int64(len(rows))
			rows = rows[:0]
		}
	}
	return c, nil
}

// Empty tells whether nothing was chosen.
func (c *Chosen) Empty() bool { return c.items == 0 }

// Begin begins a transaction that sees what was gathered.
func (c *Chosen) Begin(ctx context.Context) (pgx.Tx, error) { return c.conn.Begin(ctx) }

// Close forgets what was gathered, together with the connection, which is not
// used again.
func (c *Chosen) Close(ctx context.Context) {
	_ = c.conn.Conn().Close(context.WithoutCancel(ctx)) // nothing is left to be told by it
	c.conn.Release()
}
