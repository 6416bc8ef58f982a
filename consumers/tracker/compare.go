package tracker

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tributary/internal/pg"
)

// TableCompared is what a comparison found of one table.
type TableCompared struct {
	Table   string `json:"table"`
	Rows    int64  `json:"rows"`    // of the tracker
	Rebuilt int64  `json:"rebuilt"` // rows that follow from the log
	Hash    string `json:"hash"`    // of all rows of the tracker, in the order of their ids
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
// compared.
func bookkeeping() []string { return []string{"schema_version", "consumed", "consumed_topic"} }

// comparison compares the tables of two schemas.
type comparison struct {
	live, shadow             pg.Querier // two connections
	liveSchema, shadowSchema string
	limit                    int
	to                       *Verification
}

func (c *comparison) run(ctx context.Context, told func(table string)) error {
	live, err := shapes(ctx, c.live, c.liveSchema)
	if err != nil {
		return err
	}
	shadow, err := shapes(ctx, c.shadow, c.shadowSchema)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, m := range []map[string]shape{live, shadow} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range sorted(names) {
		told(name)
		a, ok := live[name]
		b, okB := shadow[name]
		switch {
		case !ok:
			c.differ(Difference{Table: name, Kind: Missing})
			continue
		case !okB:
			c.differ(Difference{Table: name, Kind: Extra})
			continue
		case !slices.Equal(a.columns, b.columns):
			c.differ(Difference{Table: name, Kind: Columns, Columns: []ColumnDiffer{{Tracker: list(a.columns), Log: list(b.columns)}}})
			continue
		}
		if err := c.table(ctx, name, b); err != nil {
			return fmt.Errorf("compare the table %s: %w", name, err)
		}
	}
	return nil
}

func sorted(set map[string]bool) []string {
	var out []string
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func list(names []string) *string {
	text := strings.Join(names, ", ")
	return &text
}

// table compares one table row by row.
func (c *comparison) table(ctx context.Context, name string, s shape) error {
	live, err := s.open(ctx, c.live, c.liveSchema, name)
	if err != nil {
		return err
	}
	defer live.rows.Close()
	shadow, err := s.open(ctx, c.shadow, c.shadowSchema, name)
	if err != nil {
		return err
	}
	defer shadow.rows.Close()
	if err := live.next(); err != nil {
		return err
	}
	if err := shadow.next(); err != nil {
		return err
	}
	before := c.to.Differ
	var found []Difference // keys in bytes
	for live.key != nil || shadow.key != nil {
		d := Difference{Table: name, Kind: Differs}
		order := bytes.Compare(live.key, shadow.key)
		if live.key == nil || shadow.key == nil {
			order = -order // nil comes after all
		}
		switch {
		case order < 0:
			d.Key, d.Kind = s.printed(live.key), Extra
		case order > 0:
			d.Key, d.Kind = s.printed(shadow.key), Missing
		default:
			d.Key = s.printed(live.key)
		}
		if order != 0 || !bytes.Equal(live.row, shadow.row) {
			if c.to.Differ++; len(c.to.Differences)+len(found) < c.limit {
				found = append(found, d)
			}
		}
		if order <= 0 {
			if err := live.next(); err != nil {
				return err
			}
		}
		if order >= 0 {
			if err := shadow.next(); err != nil {
				return err
			}
		}
	}
	c.to.Tables = append(c.to.Tables, TableCompared{Table: name, Rows: live.n, Rebuilt: shadow.n, Hash: hex.EncodeToString(live.sum.Sum(nil)), Equal: c.to.Differ == before})
	live.rows.Close()
	shadow.rows.Close()
	return c.explain(ctx, s, found)
}

func (c *comparison) differ(d Difference) {
	if c.to.Differ++; len(c.to.Differences) < c.limit {
		c.to.Differences = append(c.to.Differences, d)
	}
}

// explain adds to differing rows which columns differ, and to those that only
// one side has what they hold.
func (c *comparison) explain(ctx context.Context, s shape, found []Difference) error {
	for _, d := range found {
		live, err := s.fetch(ctx, c.live, c.liveSchema, d)
		if err != nil {
			return err
		}
		shadow, err := s.fetch(ctx, c.shadow, c.shadowSchema, d)
		if err != nil {
			return err
		}
		for i, column := range s.columns {
			a, b := live[i], shadow[i]
			if d.Kind == Differs && (a == nil) == (b == nil) && (a == nil || *a == *b) || d.Kind != Differs && a == nil && b == nil {
				continue
			}
			d.Columns = append(d.Columns, ColumnDiffer{Column: column, Tracker: a, Log: b})
		}
		c.to.Differences = append(c.to.Differences, d)
	}
	return nil
}
