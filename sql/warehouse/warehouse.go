// Package warehouse holds the tables that documents are loaded into, and the
// SQL of the profile: data checks, context and overview. Its schema has an
// outbox and a lease of its own.
package warehouse

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

//go:embed migrations/*.sql impc/*.sql
var files embed.FS

// Schema is the name of the warehouse's schema.
const Schema = "warehouse"

// Migrate brings the schema to the newest version.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of the warehouse: %w", err)
	}
	return pg.Migrate(ctx, pool, Schema, sub)
}

// Statements are what a batch end runs for one centre, each with the centre as
// its only argument.
type Statements struct {
	// Checks return the positions of the documents whose findings changed.
	Checks []string
	// Context and Overview are run one after another.
	Context, Overview []string
	// Settle ends the batch: what changed before it is no change any more.
	Settle []string
}

// BatchEnd returns the statements of a profile's batch ends.
func BatchEnd(profile string) (Statements, error) {
	var s Statements
	for _, part := range []struct {
		prefix string
		to     *[]string
	}{{"check_", &s.Checks}, {"context_", &s.Context}, {"overview_", &s.Overview}, {"settle_", &s.Settle}} {
		names, err := fs.Glob(files, path.Join(profile, part.prefix+"*.sql"))
		if err != nil || len(names) == 0 {
			return s, fmt.Errorf("the profile %q has no SQL %s*.sql for the warehouse", profile, part.prefix)
		}
		slices.Sort(names)
		for _, name := range names {
			text, err := files.ReadFile(name)
			if err != nil {
				return s, fmt.Errorf("read %s: %w", name, err)
			}
			*part.to = append(*part.to, string(text))
		}
	}
	return s, nil
}

// Hash is a digest, in hexadecimal, of all current rows in the order of their
// natural keys, without surrogate keys and times of loading: two warehouses
// that hold the same have the same hash, however they came to it. It reads
// everything, in one snapshot and constant memory.
func Hash(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	text, err := files.ReadFile("impc/hash.sql")
	if err != nil {
		return "", fmt.Errorf("read hash.sql: %w", err)
	}
	sum := sha256.New()
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL datestyle = 'ISO, YMD'"); err != nil {
			return err
		}
		for i, query := range strings.Split(string(text), ";\n") {
			if _, err := fmt.Fprintf(sum, "%d\n", i); err != nil {
				return err
			}
			if err := copyOut(ctx, tx, sum, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash of the warehouse: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyOut(ctx context.Context, tx pgx.Tx, w io.Writer, query string) error {
	_, err := tx.Conn().PgConn().CopyTo(ctx, w, "COPY ("+query+") TO STDOUT")
	return err
}
