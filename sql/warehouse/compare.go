package warehouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// maxExamples is how many rows of each side a comparison shows of a table.
const maxExamples = 5

// TableComparison says how a table of the shadow compares to the live one.
type TableComparison struct {
	Table   string `json:"table"`
	Live    int64  `json:"live"`    // rows of the live table
	Rebuilt int64  `json:"rebuilt"` // rows of the rebuilt one
	Hash    string `json:"hash"`    // of the rebuilt rows, in any order
	Equal   bool   `json:"equal"`
	// OnlyLive and OnlyRebuilt are the first rows that only one side has, as
	// Postgres writes rows as text; at most 5 each.
	OnlyLive    []string `json:"only_live,omitempty"`
	OnlyRebuilt []string `json:"only_rebuilt,omitempty"`
}

// Compare compares each table of the shadow with the live one: every column of
// every row, but not the state of running members. q is to be a transaction
// that sees both at the same position. each is called table by table.
func Compare(ctx context.Context, q pg.Querier, each func(TableComparison) error) error {
	names, err := tablesOf(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range names {
		c, err := compareTable(ctx, q, name)
		if err != nil {
			return err
		}
		if err := each(c); err != nil {
			return err
		}
	}
	return nil
}

func compareTable(ctx context.Context, q pg.Querier, name string) (TableComparison, error) {
	c := TableComparison{Table: name}
	there, err := hasTable(ctx, q, name)
	if err != nil {
		return c, err
	}
	if !there {
		c.OnlyRebuilt = []string{"the table: the live warehouse has none of this name"}
		return c, nil
	}
	columns, err := commonColumns(ctx, q, name)
	if err != nil {
		return c, err
	}
	id := pgx.Identifier{name}.Sanitize()
	var hash string
	for schema, to := range map[string]*int64{Schema: &c.Live, Shadow: &c.Rebuilt} {
		var sum string
		// A sum of digests: equal rows give an equal one, in whatever order.
		err := q.QueryRow(ctx, fmt.Sprintf(`SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text || '/' || coalesce(sum(hashtextextended(t::text, 1)::numeric), 0)::text
			FROM (SELECT %s FROM %s.%s) t`, columns, schema, id)).Scan(to, &sum)
		if err != nil {
			return c, fmt.Errorf("compare %s: %w", name, err)
		}
		if schema == Shadow {
			c.Hash = sum
		} else {
			hash = sum
		}
	}
	if c.Equal = hash == c.Hash && c.Live == c.Rebuilt; c.Equal {
		return c, nil
	}
	if c.OnlyLive, err = only(ctx, q, columns, Schema+"."+id, Shadow+"."+id); err != nil {
		return c, fmt.Errorf("differences of %s: %w", name, err)
	}
	if c.OnlyRebuilt, err = only(ctx, q, columns, Shadow+"."+id, Schema+"."+id); err != nil {
		return c, fmt.Errorf("differences of %s: %w", name, err)
	}
	return c, nil
}

func hasTable(ctx context.Context, q pg.Querier, name string) (there bool, err error) {
	err = q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.Identifier{Schema, name}.Sanitize()).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("look for the table %s: %w", name, err)
	}
	return there, nil
}

// only returns the first rows of a that b has not, one for one.
func only(ctx context.Context, q pg.Querier, columns, a, b string) ([]string, error) {
	rows, err := q.Query(ctx, fmt.Sprintf("SELECT left(t::text, 1000) FROM (SELECT %[1]s FROM %[2]s EXCEPT ALL SELECT %[1]s FROM %[3]s) t ORDER BY t::text LIMIT %[4]d", columns, a, b, maxExamples))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// String is the comparison on a line, with the differences below it.
func (c TableComparison) String() string {
	if c.Equal {
		return fmt.Sprintf("%s: %d rows, equal", c.Table, c.Live)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rows live, %d rebuilt, DIFFERENT", c.Table, c.Live, c.Rebuilt)
	for _, row := range c.OnlyLive {
		fmt.Fprintf(&b, "\n  only live    %s", row)
	}
	for _, row := range c.OnlyRebuilt {
		fmt.Fprintf(&b, "\n  only rebuilt %s", row)
	}
	return b.String()
}
