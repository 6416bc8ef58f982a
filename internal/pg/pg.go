// Package pg holds what every role that writes to Postgres shares: the pool,
// migrations, leases with epochs, and offsets stored with what they caused.
package pg

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/crashpoint"
)

// Querier is what pools, connections and transactions have in common.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Open returns a pool of at most maxConns connections. It does not connect:
// a database that is down is met, and waited for, by whoever uses the pool.
func Open(ctx context.Context, dsn, application string, maxConns int32) (*pgxpool.Pool, error) {
	cfg, err := PoolConfig(dsn, application, maxConns)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres pool: %w", err)
	}
	return pool, nil
}

// PoolConfig is what Open makes its pool of, for who connects in another way.
func PoolConfig(dsn, application string, maxConns int32) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres address: %w", err)
	}
	cfg.MaxConns = maxConns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = 10 * time.Second
	cfg.ConnConfig.RuntimeParams["application_name"] = application
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// A transaction whose member is stopped must not hold its locks for ever.
	const idle = "idle_in_transaction_session_timeout"
	cfg.ConnConfig.RuntimeParams[idle] = cmp.Or(cfg.ConnConfig.RuntimeParams[idle], "60000")
	cfg.ConnConfig.Tracer = crashpoint.Tracer()
	return cfg, nil
}

// Beginner begins transactions: a pool, or one of its connections.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// InTx runs fn in one read-committed transaction and commits it unless fn
// fails.
func InTx(ctx context.Context, db Beginner, fn func(tx pgx.Tx) error) error {
	label := crashpoint.Caller()
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		err := fn(tx)
		if err == nil {
			crashpoint.At(label, "commit", "before")
		}
		return err
	})
	if err == nil {
		crashpoint.At(label, "commit", "after")
	}
	return err
}
