// Package finding lists what data checks have found in the warehouse and still holds:
// how much of what, by centre and check, and each with its place.
package finding

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Count is how many findings of a check are open for a centre.
type Count struct {
	Check    string `json:"check"`
	Level    string `json:"level"` // error, warn or info; an error makes its document fail
	Centre   string `json:"centre"`
	Findings int64  `json:"findings"`
}

// Counts lists them by level, the gravest first, check, and number.
func Counts(ctx context.Context, warehouse pg.Querier) ([]Count, error) {
	return list[Count](ctx, warehouse, `SELECT test, level, centre, sum(findings)::bigint FROM warehouse.finding_count GROUP BY 1, 2, 3 HAVING sum(findings) > 0
		ORDER BY array_position(ARRAY['error', 'warn', 'info'], level), test COLLATE "C", sum(findings) DESC, centre COLLATE "C"`)
}

// Finding is one that is open.
type Finding struct {
	Check      string `json:"check"`
	Level      string `json:"level"`
	Centre     string `json:"centre"`
	RecordType string `json:"record_type"` // the table of the record
	File       string `json:"file"`
	Action     string `json:"action"`
	Document   string `json:"document"` // its entry's name
	Line       int    `json:"line"`
	Column     int    `json:"column"` // 0: not known
	Message    string `json:"message"`
	Key        string `json:"key"` // where the list goes on after it
}

// Open lists open findings of a check for a centre, at most limit of them, in the order
// of their documents, after the one with a key; all for the empty one.
func Open(ctx context.Context, warehouse pg.Querier, centre, check, after string, limit int) ([]Finding, error) {
	position, ordinal, err := parseKey(after)
	if err != nil {
		return nil, err
	}
	// The list lies between two rows, and not where centre and test equal something: then
	// only the index of lists has its order, and Postgres doesn't take that of another in
	// the hope that what is asked for comes soon.
	return list[Finding](ctx, warehouse, `SELECT f.test, f.level, f.centre, f.record_type, d.file_name, d.action, d.entry, f.line, f.col, f.message, f.position || '-' || f.ordinal
		FROM (SELECT * FROM warehouse.finding WHERE open
				AND (centre, test, position, ordinal) > ($1, $2, $3::bigint, $4::int) AND (centre, test, position, ordinal) <= ($1, $2, $6::bigint, 0)
			ORDER BY centre, test, position, ordinal LIMIT $5) f
		JOIN warehouse.document d ON d.position = f.position ORDER BY f.position, f.ordinal`,
		clean(centre), clean(check), position, ordinal, limit, int64(math.MaxInt64))
}

// KeyError says that a list can't go on after what was given.
type KeyError struct{ Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("the list can't go on after %q: take the address of the next page as it was given", e.Key)
}

func parseKey(key string) (position int64, ordinal int32, err error) {
	if key == "" {
		return -1, -1, nil
	}
	before, after, _ := strings.Cut(key, "-")
	position, err = strconv.ParseInt(before, 10, 64)
	if err == nil {
		var o int64
		o, err = strconv.ParseInt(after, 10, 32)
		ordinal = int32(o)
	}
	if err != nil {
		return 0, 0, &KeyError{key}
	}
	return position, ordinal, nil
}

// clean is a text as Postgres takes it; what it drops is in no name.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func list[T any](ctx context.Context, q pg.Querier, sql string, args ...any) ([]T, error) {
	return pg.List(ctx, q, "read findings", pgx.RowToStructByPos[T], sql, args...)
}
