package beside

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
)

// DB is a database in whose transactions every statement acts in the target, but
// for COPY, which goes past it. A transaction that has all the same come to a
// table of the schema From is not committed.
type DB struct {
	pg.Beginner
	Target Target
}

// Begin begins such a transaction.
func (d DB) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := d.Beginner.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return targetTx{tx, d.Target}, nil
}

// ErrTouchesLive says that a statement meant for another schema reached the live
// one: it names a table in a way that Target.SQL doesn't know.
var ErrTouchesLive = errors.New("a statement reaches the live schema although it is run for a rebuild: write the names of tables as SCHEMA.NAME, and not within texts")

type targetTx struct {
	pgx.Tx
	target Target
}

func (x targetTx) Begin(ctx context.Context) (pgx.Tx, error) { return DB{x.Tx, x.target}.Begin(ctx) }

// Commit commits unless a table of the live schema has been used.
func (x targetTx) Commit(ctx context.Context) error {
	var touched *string
	err := x.Tx.QueryRow(ctx, `SELECT min(c.relname) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = to_regnamespace(quote_ident($1))`, x.target.From).Scan(&touched)
	if err == nil && touched != nil {
		err = fmt.Errorf("table %s.%s: %w", x.target.From, *touched, ErrTouchesLive)
	}
	if err != nil {
		return errors.Join(err, x.Tx.Rollback(ctx))
	}
	return x.Tx.Commit(ctx)
}

func (x targetTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return x.Tx.Exec(ctx, x.target.SQL(sql), args...)
}

func (x targetTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return x.Tx.Query(ctx, x.target.SQL(sql), args...)
}

func (x targetTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return x.Tx.QueryRow(ctx, x.target.SQL(sql), args...)
}

func (x targetTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return x.Tx.Prepare(ctx, name, x.target.SQL(sql))
}

func (x targetTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		q.SQL = x.target.SQL(q.SQL)
	}
	return x.Tx.SendBatch(ctx, b)
}
