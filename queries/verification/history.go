package verification

import (
	"fmt"
	"strings"

	"tributary/consumers/history"
)

// DifferenceHeader names the columns of a list of differences.
func DifferenceHeader() []string { return []string{"kind", "topic", "partition", "offset", "columns"} }

// SpanHeader names the columns of a list of ranges and rollups.
func SpanHeader() []string {
	return []string{"what", "partition", "from", "to", "log", "history", "log checksum", "history checksum", "equal"}
}

// WriteHistory lets a verification write what it finds by row: each range and each
// rollup, or only what differs.
func WriteHistory(o *history.VerifyOptions, ranges bool, row func(value any, cells ...string) error) {
	if ranges {
		o.Span = func(s history.Span) error { return row(s, spanCells(s)...) }
		o.Rollup = func(r history.Rollup) error { return row(r, rollupCells(r)...) }
		return
	}
	o.Difference = func(d history.Difference) error { return row(d, differenceCells(d)...) }
	o.Rollup = func(r history.Rollup) error {
		if r.Equal || r.Skipped != "" {
			return nil
		}
		return row(r, "rollup", r.Name, "", "", strings.Join(r.Days, " "))
	}
}

func spanCells(s history.Span) []string {
	return []string{s.Topic, fmt.Sprint(s.Partition), fmt.Sprint(s.From), fmt.Sprint(s.To), fmt.Sprint(s.LogRecords), fmt.Sprint(s.HistoryRows),
		s.LogChecksum, s.HistoryChecksum, fmt.Sprint(s.Equal)}
}

func rollupCells(r history.Rollup) []string {
	equal := fmt.Sprint(r.Equal)
	if r.Skipped != "" {
		equal = "not compared: " + r.Skipped
	}
	return []string{r.Name, "", "", "", fmt.Sprint(r.LogEvents), fmt.Sprint(r.RollupEvents), "", "", equal}
}

func differenceCells(d history.Difference) []string {
	columns := make([]string, len(d.Columns))
	for i, c := range d.Columns {
		columns[i] = fmt.Sprintf("%s: log %q, history %q", c.Name, c.Log, c.History)
	}
	return []string{d.Kind, d.Topic, fmt.Sprint(d.Partition), fmt.Sprint(d.Offset), strings.Join(columns, "; ")}
}

// SumOfHistory says in lines what a verification of the history has found, and, as
// the last, what puts a history right that differs.
func SumOfHistory(v history.Verified) []string {
	verdict := "the history is equal to the log"
	if !v.Equal() {
		verdict = fmt.Sprintf("the history DIFFERS from the log: %d differences", v.Differences)
	}
	lines := []string{fmt.Sprintf("%s: %d records, %d rows, %d of %d ranges and %d of %d rollups equal", verdict, v.LogRecords, v.HistoryRows,
		v.Ranges-v.RangesDifferent, v.Ranges, v.RollupsEqual, v.Rollups)}
	for _, n := range []struct {
		n    int64
		what string
	}{
		{v.Behind, "offsets at the log's end are not in the history yet"},
		{int64(v.Older), "rows are older than the log's beginning, and were not compared"},
		{int64(v.Expired), "rows are gone, as history.retention wants"},
		{int64(v.RollupsSkipped), "rollups could not be compared, since the history and the log don't go equally far back"},
	} {
		if n.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if !v.Equal() {
		lines = append(lines, "tributary history rebuild fills the history again from the log, which puts this right")
	}
	return lines
}
