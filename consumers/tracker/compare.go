package tracker

import (
	"context"
	"slices"
	"strings"

	"tributary/sql/beside"
	trackersql "tributary/sql/tracker"
)

// TableCompared is what a comparison found of one table.
type TableCompared struct {
	Table   string `json:"table"`
	Rows    int64  `json:"rows"`    // of the tracker
	Rebuilt int64  `json:"rebuilt"` // rows that follow from the log
	Hash    string `json:"hash"`    // of all rows of the tracker, in any order
	Equal   bool   `json:"equal"`
}

// Difference is one row in which the tracker is not what the log says.
type Difference struct {
	Table   string         `json:"table"`
	Key     string         `json:"key,omitempty"` // the row's id; the parts of longer keys are divided by slashes
	Kind    string         `json:"kind"`          // missing: the tracker lacks the row; extra: it should not have it; differs; columns: the table has others
	Columns []ColumnDiffer `json:"columns,omitempty"`
}

// ColumnDiffer is a column in which a row differs; nil is null.
type ColumnDiffer struct {
	Column  string  `json:"column"`
	Tracker *string `json:"tracker"`
	Log     *string `json:"log"`
}

// The kinds of differences.
const (
	Missing = "missing"
	Extra   = "extra"
	Differs = "differs"
	Columns = "columns"
)

// bookkeeping are tables that do not follow from the log: which migrations
// were applied when, and the offsets and the topic at which the rest is
// compared. Parts of counts depend on who counted; their sums are compared.
func bookkeeping() []string { return []string{"schema_version", "consumed", "consumed_topic", "tally"} }

// standing is the view that adds up what was counted.
func standing() (name string, shape beside.Shape) {
	key := []string{"what", "of_id", "phase_id", "status_id", "exception_id", "ended"}
	return "standing", beside.Shape{Columns: append(slices.Clone(key), "n"), Key: key}
}

// compare compares the tables of another schema with the tracker's. The built side sees
// both.
func (b *Builder) compare(ctx context.Context, by beside.Sight, schema string, limit int, v *Verification) error {
	live, err := beside.Shapes(ctx, by.Built, trackersql.Schema, bookkeeping()...)
	if err != nil {
		return err
	}
	built, err := beside.Shapes(ctx, by.Built, schema, bookkeeping()...)
	if err != nil {
		return err
	}
	for _, name := range beside.Names(live, built) {
		b.report(Progress{Step: "comparing " + name})
		l, isLive := live[name]
		r, isBuilt := built[name]
		switch {
		case !isLive:
			v.differ(limit, 1, Difference{Table: name, Kind: Missing})
		case !isBuilt:
			v.differ(limit, 1, Difference{Table: name, Kind: Extra})
		case !slices.Equal(l.Columns, r.Columns):
			v.differ(limit, 1, Difference{Table: name, Kind: Columns, Columns: []ColumnDiffer{{Tracker: list(l.Columns), Log: list(r.Columns)}}})
		default:
			err = v.table(ctx, by, beside.Pair{Live: trackersql.Schema, Built: schema, Table: name, Shape: r}, limit)
		}
		if err != nil {
			return err
		}
	}
	name, shape := standing()
	return v.table(ctx, by, beside.Pair{Live: trackersql.Schema, Built: schema, Table: name, Shape: shape}, limit)
}

func list(names []string) *string {
	text := strings.Join(names, ", ")
	return &text
}

// differ counts differences, of which some are shown.
func (v *Verification) differ(limit int, n int64, shown ...Difference) {
	v.Differ += n
	v.Differences = append(v.Differences, shown[:min(len(shown), limit-len(v.Differences))]...)
}

// table compares one table row by row.
func (v *Verification) table(ctx context.Context, by beside.Sight, p beside.Pair, limit int) error {
	live, built, err := p.Count(ctx, by)
	if err != nil {
		return err
	}
	t := TableCompared{Table: p.Table, Rows: live.Rows, Rebuilt: built.Rows, Hash: live.Hash, Equal: live.Hash == built.Hash}
	v.Tables = append(v.Tables, t)
	if t.Equal {
		return nil
	}
	n, err := p.Differ(ctx, by.Built)
	if err != nil {
		return err
	}
	rows, err := p.Differences(ctx, by.Built, beside.Either, limit-len(v.Differences))
	if err != nil {
		return err
	}
	shown := make([]Difference, len(rows))
	for i, row := range rows {
		shown[i] = explained(p, row)
	}
	v.differ(limit, n, shown...)
	return nil
}

// explained says which columns of a row differ, and of a row that only one side
// has what they hold.
func explained(p beside.Pair, row beside.Difference) Difference {
	d := Difference{Table: p.Table, Key: row.Key, Kind: Differs}
	none := make([]*string, len(p.Shape.Columns))
	if row.Live == nil {
		d.Kind, row.Live = Missing, none
	}
	if row.Built == nil {
		d.Kind, row.Built = Extra, none
	}
	for i, column := range p.Shape.Columns {
		a, b := row.Live[i], row.Built[i]
		if a == nil && b == nil || a != nil && b != nil && *a == *b && d.Kind == Differs {
			continue
		}
		d.Columns = append(d.Columns, ColumnDiffer{Column: column, Tracker: a, Log: b})
	}
	return d
}
