package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
)

// Hash is a digest, in hexadecimal, of all current records in the order of
// their natural keys' identities, without surrogate keys and places in
// documents: two warehouses that hold the same have the same hash, however they
// came to it. It reads everything, in one snapshot and constant memory.
func Hash(ctx context.Context, pool *pgxpool.Pool, m *mapping.Mapping) (string, error) {
	sum := sha256.New()
	err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1"); err != nil {
			return err
		}
		for _, t := range m.Tables {
			if !t.Record && t.Under == nil {
				continue
			}
			if _, err := fmt.Fprintf(sum, "%s\n", t.Name); err != nil {
				return err
			}
			if err := copyOut(ctx, tx, sum, hashQuery(t)); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash of the warehouse: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hashQuery is what the hash reads of a table: which rows lie within which is
// told by ordinals relative to the record's.
func hashQuery(t *mapping.Table) string {
	columns := []string{"claim", "ordinal - record"}
	if !t.Record && t.HasParentColumn {
		columns = append(columns, "parent - record")
	}
	for _, c := range t.Columns {
		columns = append(columns, c.Name)
	}
	return fmt.Sprintf("SELECT %s FROM warehouse.claimed_%s WHERE is_current ORDER BY claim, ordinal - record", strings.Join(columns, ", "), t.Name)
}

func copyOut(ctx context.Context, tx pgx.Tx, w io.Writer, query string) error {
	_, err := tx.Conn().PgConn().CopyTo(ctx, w, "COPY ("+query+") TO STDOUT")
	return err
}
