package recipes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

// now is when the questions are asked.
func now() time.Time { return clock("16:00:00") }

// answer runs a recipe with arguments as they are written on a command line.
func answer(t *testing.T, conn driver.Conn, r recipes.Recipe, arguments, format string) string {
	t.Helper()
	given := map[string]string{}
	fields := strings.Fields(arguments)
	for i := 0; i+1 < len(fields); i += 2 {
		given[strings.TrimPrefix(fields[i], "--")] = fields[i+1]
	}
	values, err := recipe.Values(r, given, now())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := report.SQL(t.Context(), report.ClickHouse{Conn: conn, Parameters: values}, r.Statement, &out, format); err != nil {
		t.Fatalf("%s %s: %v", r.Name, arguments, err)
	}
	return out.String()
}

// A report on a centre or a source that is not in the history says so.
func TestUnknownNames(t *testing.T) {
	store := report.ClickHouse{Conn: tale(t)}
	var unknown *report.UnknownError
	if err := store.Known(t.Context(), "Nowhere", ""); !errors.As(err, &unknown) || !slices.Contains(unknown.Known, "H") || !slices.Contains(unknown.Known, "Ics") {
		t.Errorf("an unknown centre: %v", err)
	}
	if err := store.Known(t.Context(), "", "nowhere"); !errors.As(err, &unknown) || unknown.What != "source" || len(unknown.Known) == 0 {
		t.Errorf("an unknown source: %v", err)
	}
	if err := store.Known(t.Context(), "h", unknown.Known[0]); err != nil {
		t.Error(err)
	}
}

// What every recipe shows as its example is what it answers, under the
// columns that its head explains.
func TestExamples(t *testing.T) {
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	conn := tale(t)
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			got := answer(t, conn, r, r.Arguments, report.Table)
			if diff := gocmp.Diff(strings.Split(r.Example, "\n"), trimmed(got)); diff != "" {
				t.Errorf("report %s %s (-example +answer):\n%s\nall of it:\n%s", r.Name, r.Arguments, diff, got)
			}
			var names []string
			for _, c := range r.Columns {
				names = append(names, strings.ToUpper(c.Name))
			}
			if diff := gocmp.Diff(names, strings.Fields(trimmed(got)[0])); diff != "" {
				t.Errorf("columns (-explained +answered):\n%s", diff)
			}
		})
	}
}

func trimmed(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
