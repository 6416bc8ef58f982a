package warehouse

import (
	"context"
	"fmt"
	"strings"

	"tributary/sql/beside"
)

// maxExamples is how many rows of each side a comparison shows of a table.
const maxExamples = 5

// TableComparison says how a table that was built beside compares to the live one.
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

// Compare compares each table that was built beside with the live one: every column of
// every row, but not the state of running members. The built side
// sees both at the same position. each is called table by table.
func Compare(ctx context.Context, by beside.Sight, each func(TableComparison) error) error {
	live, err := beside.Shapes(ctx, by.Built, Schema)
	if err != nil {
		return err
	}
	built, err := shapes(ctx, by.Built)
	if err != nil {
		return err
	}
	for _, name := range beside.Names(built) {
		c := TableComparison{Table: name, OnlyRebuilt: []string{"the table: the live warehouse has none of this name"}}
		if l, there := live[name]; there {
			if c, err = compareTable(ctx, by, beside.Pair{Live: Schema, Built: Built, Table: name, Shape: l.Common(built[name])}); err != nil {
				return err
			}
		}
		if err := each(c); err != nil {
			return err
		}
	}
	return nil
}

func compareTable(ctx context.Context, by beside.Sight, p beside.Pair) (TableComparison, error) {
	live, built, err := p.Count(ctx, by)
	c := TableComparison{Table: p.Table, Live: live.Rows, Rebuilt: built.Rows, Hash: built.Hash, Equal: live.Hash == built.Hash}
	if err != nil || c.Equal {
		return c, err
	}
	rows, err := p.Differences(ctx, by.Built, beside.InLive, maxExamples)
	for _, r := range rows {
		c.OnlyLive = append(c.OnlyLive, r.LiveRow)
	}
	if err == nil {
		rows, err = p.Differences(ctx, by.Built, beside.InBuilt, maxExamples)
	}
	for _, r := range rows {
		c.OnlyRebuilt = append(c.OnlyRebuilt, r.BuiltRow)
	}
	return c, err
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
