package control

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Ignored is an entry of a listing that is no file of ours.
type Ignored struct {
	Directory string `json:"directory"`
	Name      string `json:"name"`
	Reason    string `json:"reason"` // directory, not_a_regular_file, not_zip or repeated
}

// PutIgnored replaces what is kept of the entries that a source's last complete
// listing showed and nobody takes up: how many there were, and the first of them.
func PutIgnored(ctx context.Context, tx pgx.Tx, source string, total int, first []Ignored) error {
	var directories, names, reasons []string
	for _, e := range first {
		directories, names, reasons = append(directories, e.Directory), append(names, e.Name), append(reasons, e.Reason)
	}
	b := &pgx.Batch{}
	b.Queue("DELETE FROM control.ignored WHERE source=$1", source)
	b.Queue(`INSERT INTO control.ignored (source, ordinal, directory, name, reason)
		SELECT $1, n, directory, name, reason FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS r(directory, name, reason, n)`, source, directories, names, reasons)
	b.Queue("UPDATE control.source SET ignored=$2 WHERE id=$1", source, total)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep what %s shows and nobody takes up: %w", source, err)
	}
	return nil
}

// IgnoredOf returns how many entries a source's last complete listing showed that
// nobody takes up, and the first of them as the server listed them.
func IgnoredOf(ctx context.Context, q pg.Querier, source string) (total int64, first []Ignored, err error) {
	if err := q.QueryRow(ctx, "SELECT coalesce((SELECT ignored FROM control.source WHERE id=$1), 0)", source).Scan(&total); err != nil {
		return 0, nil, fmt.Errorf("read what %s shows and nobody takes up: %w", source, err)
	}
	rows, err := q.Query(ctx, "SELECT directory, name, reason FROM control.ignored WHERE source=$1 ORDER BY ordinal", source)
	if err != nil {
		return 0, nil, fmt.Errorf("read what %s shows and nobody takes up: %w", source, err)
	}
	if first, err = pgx.CollectRows(rows, pgx.RowToStructByName[Ignored]); err != nil {
		return 0, nil, fmt.Errorf("read what %s shows and nobody takes up: %w", source, err)
	}
	return total, first, nil
}
