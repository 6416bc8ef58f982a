package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/storeversion"
)

// ServerVersion asks a server for its version, and refuses one that is too old
// with a *storeversion.TooOldError.
func ServerVersion(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	var version string
	if err := pool.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", fmt.Errorf("ask Postgres for its version: %w", err)
	}
	return version, storeversion.Postgres().Check(Address(pool), version)
}

// Address is where a pool connects to, without secrets.
func Address(pool *pgxpool.Pool) string {
	c := pool.Config().ConnConfig
	return fmt.Sprintf("%s:%d", c.Host, c.Port)
}
