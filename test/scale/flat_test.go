package scale

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tributary/test/scale/plans"
)

// Numbers of files that control knows, in the table that the test below makes.
const flatFiles = "TRIBUTARY_SCALE_FLAT"

// What control's statements take for a file does not grow with the files that it knows:
// two sessions go through control that knows few, more and very many, and what each of
// their statements took becomes a table. Whether one looks at more than it should is
// judged by TestControlDecidesByIndex; times here are told, and judge nothing.
func TestControlIsFlat(t *testing.T) {
	if os.Getenv(flatFiles) == "" {
		t.Skip("a measurement: make control-flat")
	}
	var sizes []int
	var totals []map[string]plans.Total
	listed := number(t, "TRIBUTARY_SCALE_LISTED", 2_000)
	for text := range strings.SplitSeq(os.Getenv(flatFiles), ",") {
		files, err := strconv.Atoi(text)
		if err != nil || files < 10 {
			t.Fatalf("%s: %q is no number of files", flatFiles, text)
		}
		t.Run(text, func(t *testing.T) {
			p := &plans.Watcher{Given: []string{"listed"}}
			sessions(t, p, files*hosts, listed)
			sizes, totals = append(sizes, files), append(totals, p.Totals())
		})
	}
	if t.Failed() {
		return
	}
	table := flatTable(sizes, listed, totals, written(t))
	t.Log("\n" + table)
	if page := os.Getenv("TRIBUTARY_SCALE_PAGE"); page != "" {
		if err := os.WriteFile(page, fmt.Appendf(nil, flatPage, thousands(listed), time.Now().Format(time.DateOnly), table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const flatPage = `# What control's statements take

After this page you know what each statement that control's roles ask while files come takes, and that it does not grow with the files that control knows.

` + "`make control-flat`" + ` makes this page, and ` + "`make control-scale`" + ` with it. Control is filled with files that were carried to their end, each hosted at ten sources, but for one in five that is under way. Then schedule, poll, plan, publish and sequence go through two sessions in which a listing of %s new files is found, and later some are changed and some gone. Postgres's ` + "`auto_explain`" + ` tells how long each statement took and how many pages it looked at; that costs it some time itself. Where a statement's rows grow with the files, the figures are all of its calls by the number of files in the listing; else they are the mean of a call. Statements that took less than a hundredth of a millisecond of either are left out. Measured on %s; times are those of the clock on a machine that others used too, pages are not touched by that.

%s`

// flatTable is a table of the statements that were seen at each size, those first that
// took longest at the last one.
func flatTable(sizes []int, listed int, totals []map[string]plans.Total, known []literal) string {
	var b strings.Builder
	head, rule := "| statement | it stands in | calls | for each |", "|---|---|---|---|"
	for _, what := range []string{"µs", "pages"} {
		for _, n := range sizes {
			head += fmt.Sprintf(" %s, %s files |", what, thousands(n))
			rule += "---|"
		}
	}
	b.WriteString(head + "\n" + rule + "\n")
	last := totals[len(totals)-1]
	for _, sql := range slices.SortedFunc(maps.Keys(last), func(x, y string) int { return cmp.Or(cmp.Compare(last[y].Took, last[x].Took), cmp.Compare(x, y)) }) {
		perFile := last[sql].Work >= float64(listed)/2
		var micros, pages []string
		worth := false
		for _, at := range totals {
			sum, seen := at[sql]
			if !seen {
				micros, pages = append(micros, ""), append(pages, "")
				continue
			}
			each := float64(sum.Calls)
			if perFile {
				each = float64(listed)
			}
			took := float64(sum.Took.Nanoseconds()) / 1000 / each
			worth = worth || took >= 10
			micros, pages = append(micros, fmt.Sprintf("%.1f", took)), append(pages, fmt.Sprintf("%.1f", sum.Pages/each))
		}
		if !worth {
			continue
		}
		unit := "call"
		if perFile {
			unit = "file"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %s |\n", strings.NewReplacer("|", "¦", "`", "'").Replace(shortened(sql)), placeOf(sql, known), last[sql].Calls, unit, strings.Join(append(micros, pages...), " | "))
	}
	return b.String()
}

// placeOf is where a statement stands in the source code: that of the longest beginning
// that it holds; empty for one of Postgres's own, or of a trigger.
func placeOf(sql string, known []literal) string {
	const shortest = 16 // what is shorter says nothing: SELECT, and more is put in
	best := literal{}
	for _, s := range known {
		if len(s.begin) > max(shortest, len(best.begin)) && strings.Contains(sql, s.begin) {
			best = s
		}
	}
	return best.place
}

func shortened(sql string) string {
	const most = 90
	if len(sql) > most {
		return sql[:most] + "…"
	}
	return sql
}

// thousands is a number with commas between thousands.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
