package finding_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/finding"
	"tributary/queries/report/reporttest"
)

// Findings are counted by check and centre, and listed page by page; closed ones are not.
func TestFindings(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	reporttest.Findings(t, pool)
	counts, err := finding.Counts(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	want := []finding.Count{{"specimen_unknown", "error", "H", 3}, {"specimen_unknown", "error", "J", 1}, {"date_odd", "warn", "H", 1}}
	if d := cmp.Diff(want, counts); d != "" {
		t.Error(d)
	}
	lines := func(after string, limit int) (lines []int, next string) {
		t.Helper()
		all, err := finding.Open(t.Context(), pool, "H", "specimen_unknown", after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			lines, next = append(lines, f.Line), f.Key
		}
		return lines, next
	}
	first, next := lines("", 2)
	second, _ := lines(next, 2)
	if d := cmp.Diff([][]int{{12, 13}, {15}}, [][]int{first, second}); d != "" {
		t.Error(d)
	}
	for _, key := range []string{"x", "1", "1-x", "1-99999999999"} {
		var bad *finding.KeyError
		if _, err := finding.Open(t.Context(), pool, "H", "date_odd", key, 1); !errors.As(err, &bad) {
			t.Errorf("after %q: %v", key, err)
		}
	}
	if all, err := finding.Open(t.Context(), pool, "\x00\xff", "date_odd", "", 1); err != nil || len(all) != 0 {
		t.Errorf("of no centre: %v, %v", all, err)
	}
}
