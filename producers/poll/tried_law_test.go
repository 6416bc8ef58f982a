//go:build !race

package poll

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/producers/sources"
)

// tries tells what a source's filters and other keys would do.
func (b *bench) tries(src config.Source) ([]sources.Filtered, error) {
	r := sources.Registry{Config: config.Default(), Profile: b.deps.Profile, Now: func() time.Time { return b.now }}
	return r.TestFilters(b.t.Context(), b.deps.Pool, src)
}

// leftBy is what the last poll took, and what it left by each filter and key: how many,
// the first of them, and what that was left for.
func (b *bench) leftBy() string {
	return b.text(`SELECT key, count(*), min(path COLLATE "C"), (array_agg(CASE WHEN reason IN ('not_latest', 'no_done_file') THEN rule ELSE '' END ORDER BY path COLLATE "C"))[1] FROM (
			SELECT CASE reason WHEN 'not_latest' THEN 'latest_only: true' WHEN 'no_done_file' THEN 'done_file: *.ok' ELSE rule END AS key, directory || '/' || name AS path, reason, rule
			FROM control.ignored WHERE reason <> 'not_zip') l GROUP BY key
		UNION ALL SELECT 'taken', count(*), coalesce(min(action || '/' || name COLLATE "C"), ''), '' FROM control.hosting WHERE state = 'present' ORDER BY 1`)
}

// Whatever a source shows and leaves, it is told of its filters and other keys what a poll
// does that sees all of it for the first time: once it is taken, and as well while it is
// left.
func TestWhatIsTriedIsWhatAPollDoes(t *testing.T) {
	b := newBench(t)
	b.once, b.cfg.Settle = true, 0
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	plain := config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Hosts: config.Hosts{{Centre: "J"}}}
	rapid.Check(t, func(r *rapid.T) {
		for _, table := range []string{"look", "hosting", "file", "poll", "session", "source_day", "outbox", "ignored"} {
			b.exec("DELETE FROM control." + table)
		}
		b.exec("UPDATE control.source SET ignored = 0, directories = '{}'")
		shown := map[string]remote.Entry{}
		show := func(what string, most int) {
			for range rapid.IntRange(0, most).Draw(r, what) {
				action := rapid.SampledFrom([]string{"add", "edit"}).Draw(r, "action")
				stem := fmt.Sprintf("%s.2026-01-%02d.%d.impc", rapid.SampledFrom([]string{"H", "J"}).Draw(r, "centre"), rapid.IntRange(1, 3).Draw(r, "day"), rapid.IntRange(1, 2).Draw(r, "increment"))
				shown[action+"/"+stem+".zip"] = remote.Entry{Name: stem + ".zip", Precision: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 24 * time.Hour}).Draw(r, "precision"),
					Size: rapid.Int64Range(-1, 9).Draw(r, "size"), ModTime: b.now.Add(-time.Duration(rapid.IntRange(0, 5).Draw(r, "age")) * time.Hour)}
				if rapid.Bool().Draw(r, "done") {
					shown[action+"/"+stem+".ok"] = remote.Entry{Name: stem + ".ok"}
				}
			}
		}
		poll := func(src config.Source) {
			b.define(src)
			b.server.dirs = map[string][]remote.Entry{"add": nil, "edit": nil, "delete": nil}
			for path, e := range shown {
				action, _, _ := strings.Cut(path, "/")
				b.server.dirs[action] = append(b.server.dirs[action], e)
			}
			if got := b.listing(); got != "complete" {
				r.Fatalf("a poll ended %s", got)
			}
		}
		show("taken away", 4)
		poll(plain)
		b.exec("UPDATE control.hosting SET state = 'done_with'")
		clear(shown)
		show("files", 16)
		for _, away := range strings.Fields(b.text("SELECT action || '/' || name FROM control.hosting")) {
			delete(shown, away)
		}
		src := plain
		src.Filters = rapid.SampledFrom([]config.Filters{nil, {{Exclude: "edit/*"}}, {{Include: "*-02.1.*"}, {Exclude: "H.*-02.*"}}}).Draw(r, "filters")
		src.MinSize, src.MaxSize = config.Bytes(rapid.IntRange(0, 4).Draw(r, "min_size")), config.Bytes(rapid.SampledFrom([]int{0, 7}).Draw(r, "max_size"))
		src.MinAge, src.MaxAge = config.Duration(rapid.IntRange(0, 2).Draw(r, "min_age"))*config.Duration(time.Hour), config.Duration(rapid.SampledFrom([]int{0, 4}).Draw(r, "max_age"))*config.Duration(time.Hour)
		src.LatestOnly, src.DoneFile = rapid.Bool().Draw(r, "latest_only"), rapid.SampledFrom([]string{"", "*.ok"}).Draw(r, "done_file")
		poll(src)
		want := b.leftBy()
		tried := func(about string) {
			rows, err := b.tries(src)
			if err != nil {
				r.Fatal(err)
			}
			if d := cmp.Diff(want, told(rows)); d != "" {
				r.Fatalf("what is tried %s is not what a poll does (- want, + got):\n%s", about, d)
			}
		}
		tried("while it is left")
		poll(plain)
		tried("once it is taken")
	})
}

// told is what is tried as leftBy tells it.
func told(rows []sources.Filtered) string {
	taken, lines := sources.Filtered{Filter: "taken"}, []string{}
	for _, row := range rows {
		switch {
		case row.Taken:
			taken.Entries += row.Entries
			if taken.First == "" || row.First != "" && row.First < taken.First {
				taken.First = row.First
			}
		case row.Entries > 0:
			lines = append(lines, fmt.Sprintf("%s %d %s %s", row.Filter, row.Entries, row.First, row.Beside))
		}
	}
	lines = append(lines, fmt.Sprintf("taken %d %s ", taken.Entries, taken.First))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
