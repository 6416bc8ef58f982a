package counters

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is how long a start of the engines may take.
const patience = 10 * time.Minute

// CountStatements has the embedded Postgres in a data directory count statements
// (pg_stat_statements) from its next start on, which costs it some time of its own.
func CountStatements(data string) error {
	f, err := os.OpenFile(filepath.Join(data, "postgres", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("shared_preload_libraries = 'pg_stat_statements'\n")
	return cmp.Or(err, f.Close())
}

// Connect connects to the embedded Postgres of a data directory as soon as it answers.
func Connect(ctx context.Context, data string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var at struct{ Postgres string }
		text, err := os.ReadFile(filepath.Join(data, "engines.json"))
		if err == nil {
			err = json.Unmarshal(text, &at)
		}
		if err == nil {
			var conn *pgx.Conn
			if conn, err = pgx.Connect(ctx, at.Postgres); err == nil {
				return conn, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to the embedded Postgres: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
