package pg

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Rows are rows to be copied into a table. Each row is given as names of columns
// with what they hold, so that no list of columns lies anywhere else.
type Rows struct {
	Columns []string // those of the first row, which all have
	Values  [][]any  // a row each, in the order of Columns
}

// Add adds a row: the name of a column, its value, the name of the next one, and
// so on, with the same columns for each row of a table. It panics if what it is
// given isn't that, as only a mistake in the program can bring about.
func (r *Rows) Add(pairs ...any) {
	first := len(r.Columns) == 0
	row := make([]any, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if first {
			r.Columns = append(r.Columns, name)
		}
		if !ok || i+1 == len(pairs) || i/2 >= len(r.Columns) || r.Columns[i/2] != name {
			panic(fmt.Sprintf("row %d of columns %s: %v is not the name of column %d, or has no value", len(r.Values), r.Columns, pairs[i], i/2))
		}
		row = append(row, pairs[i+1])
	}
	if len(row) != len(r.Columns) {
		panic(fmt.Sprintf("row %d has %d of the columns %s", len(r.Values), len(row), r.Columns))
	}
	r.Values = append(r.Values, row)
}

// Insert is the statement that inserts one row, whose values are its parameters.
func (r *Rows) Insert(table string) string {
	places := make([]string, len(r.Columns))
	for i := range places {
		places[i] = fmt.Sprint("$", i+1)
	}
	return "INSERT INTO " + table + " (" + strings.Join(r.Columns, ", ") + ") VALUES (" + strings.Join(places, ", ") + ")"
}

// Copy copies the rows into a table of a transaction.
func (r *Rows) Copy(ctx context.Context, tx pgx.Tx, table ...string) error {
	if len(r.Values) == 0 {
		return nil
	}
	n, err := tx.CopyFrom(ctx, table, r.Columns, pgx.CopyFromRows(r.Values))
	if err != nil {
		return fmt.Errorf("copy %d rows to %s: %w", len(r.Values), strings.Join(table, "."), err)
	}
	if int(n) != len(r.Values) {
		return fmt.Errorf("copy to %s: %d of %d rows", strings.Join(table, "."), n, len(r.Values))
	}
	return nil
}

// CopyEach copies n rows into a table of a transaction, and returns their columns. Row i
// is added by row as it is sent, so that they are never in memory together; row must not
// use the transaction.
func CopyEach(ctx context.Context, tx pgx.Tx, n int, row func(i int, to *Rows) error, table ...string) ([]string, error) {
	var one Rows
	if n == 0 {
		return nil, nil
	}
	if err := row(0, &one); err != nil {
		return nil, err
	}
	next := 0
	copied, err := tx.CopyFrom(ctx, table, one.Columns, pgx.CopyFromFunc(func() ([]any, error) {
		switch next {
		case 0: // it is there
		case n:
			return nil, nil
		default:
			one.Values = one.Values[:0]
			if err := row(next, &one); err != nil {
				return nil, err
			}
		}
		next++
		return one.Values[0], nil
	}))
	if err != nil {
		return nil, fmt.Errorf("copy %d rows to %s: %w", n, strings.Join(table, "."), err)
	}
	if int(copied) != n {
		return nil, fmt.Errorf("copy to %s: %d of %d rows", strings.Join(table, "."), copied, n)
	}
	return one.Columns, nil
}
