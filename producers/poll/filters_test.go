//go:build !race

package poll

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/producers/sources"
)

// TestFilteredEntriesAreLeft holds that what a filter excludes is never taken up,
// is told with the rule, and counts as no longer shown if it was before.
func TestFilteredEntriesAreLeft(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.cfg.GoneAfter = 1
	b.server.show(good, 10)
	b.server.show(good2, 10)
	b.listing()
	if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "2" {
		t.Fatalf("%s files are hosted", got)
	}
	src := b.defined()
	src.Filters = config.Filters{{Include: "add/" + good}, {Exclude: "*"}}
	b.define(src)
	b.server.show("H.2031-01-02.1.impc.zip", 10) // never seen before
	b.server.show("notes.txt", 10)
	b.clear()
	b.listing()
	if got := b.ended(); got != "complete " {
		t.Fatalf("the poll ended %s", got)
	}
	if got := b.text("SELECT string_agg(name || ' ' || state, ', ' ORDER BY name) FROM control.hosting"); got != good+" present, "+good2+" gone" {
		t.Errorf("hosted: %s", got)
	}
	want := good2 + " filtered exclude: *, H.2031-01-02.1.impc.zip filtered exclude: *, notes.txt not_zip "
	if got := b.text("SELECT string_agg(name || ' ' || reason || ' ' || rule, ', ' ORDER BY ordinal) FROM control.ignored"); got != want {
		t.Errorf("ignored: %s, want %s", got, want)
	}
	got, err := b.tries(config.Source{ID: "src", Filters: config.Filters{{Exclude: "edit/*"}, {Exclude: "*2031*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]sources.Filtered{
		{Filter: "exclude: edit/*"},
		{Filter: "exclude: *2031*", Entries: 1, First: "add/H.2031-01-02.1.impc.zip"},
		{Taken: true, Entries: 2, First: "add/" + good},
	}, got); d != "" {
		t.Errorf("the filters do (- want, + got):\n%s", d)
	}
	src.Filters = nil
	b.define(src)
	b.listing()
	if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "3" {
		t.Errorf("without filters %s files are hosted", got)
	}
}

// TestBoundsAreTried holds that bounds are tried on what a source showed last, also of
// what it leaves by now.
func TestBoundsAreTried(t *testing.T) {
	b := newBench(t)
	b.once = true
	src := b.defined()
	src.MinSize, src.MaxSize, src.Filters = 10, 1000, config.Filters{{Exclude: "*-06.*"}}
	b.define(src)
	for day, f := range []struct {
		size int64
		age  time.Duration
	}{{9, 3 * time.Hour}, {50, 3 * time.Hour}, {500, 3 * time.Hour}, {50, time.Hour - time.Second}, {50, 72 * time.Hour}, {500, 72 * time.Hour}} {
		b.showAt(named(day+1), f.size, b.now.Add(-f.age))
	}
	b.showAt(named(7), -1, time.Time{}) // says nothing of itself
	b.showAt(named(8), 50, b.now.Add(-3*time.Hour))
	b.listing()
	b.showAt(named(8), 5000, b.now.Add(-3*time.Hour)) // is known, and too large by now
	b.listing()
	if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "6" {
		t.Fatalf("%s files are hosted", got)
	}
	in := func(day int) string { return "add/" + named(day) }
	for about, tc := range map[string]struct {
		change func(*config.Source)
		want   []sources.Filtered
	}{
		"as it is": {func(*config.Source) {}, []sources.Filtered{
			{Filter: "exclude: *-06.*", Entries: 1, First: in(6)}, {Filter: "min_size: 10", Entries: 1, First: in(1)}, {Filter: "max_size: 1kB", Entries: 1, First: in(8)}, {Taken: true, Entries: 5, First: in(2)}}},
		"nothing": {func(s *config.Source) { s.MinSize, s.MaxSize, s.Filters = 0, 0, nil }, []sources.Filtered{{Taken: true, Entries: 8, First: in(1)}}},
		"all": {func(s *config.Source) {
			s.MinSize, s.MaxSize, s.MinAge, s.MaxAge = 20, 100, config.Duration(time.Hour), config.Duration(48*time.Hour)
			s.Filters = config.Filters{{Include: "*-0[1-5].*"}, {Exclude: "*-08.*"}}
		}, []sources.Filtered{
			{Filter: "include: *-0[1-5].*", Taken: true, Entries: 1, First: in(2)}, {Filter: "exclude: *-08.*", Entries: 1, First: in(8)},
			{Filter: "min_size: 20", Entries: 1, First: in(1)}, {Filter: "max_size: 100", Entries: 2, First: in(3)},
			{Filter: "max_age: 48h", Entries: 1, First: in(5)}, {Filter: "min_age: 1h", Entries: 1, First: in(4)}, {Taken: true, Entries: 1, First: in(7)}}},
	} {
		tried := src
		tc.change(&tried)
		got, err := b.tries(tried)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", about, d)
		}
	}
	// By the server's clock, which is two hours ahead, the youngest is older than an hour.
	b.exec(`UPDATE control.source SET clock = '{"server": "host:22", "told": {"least": 7200000000000, "most": 7200000000000}}'`)
	src = config.Source{ID: "src", MinAge: config.Duration(time.Hour)}
	got, err := b.tries(src)
	if d := cmp.Diff([]sources.Filtered{{Filter: "min_age: 1h"}, {Taken: true, Entries: 8, First: in(1)}}, got); err != nil || d != "" {
		t.Errorf("by its clock (- want, + got):\n%s%v", d, err)
	}
}

// TestFilteredEntriesAreNoSample holds that a check of a source reads no file that a
// filter excludes.
func TestFilteredEntriesAreNoSample(t *testing.T) {
	b := newBench(t)
	b.server.show(good, 10)
	b.server.unreadable = errors.New("permission denied")
	src := b.defined()
	src.Filters = config.Filters{{Exclude: good}}
	b.define(src)
	b.listing()
	if got := b.ended(); got != "complete " || len(b.server.opened) > 0 {
		t.Errorf("the poll ended %s, and opened %v", got, b.server.opened)
	}
}

// TestDoneFilesThatAreNotKnown holds that nothing is said to wait for its done-file where
// not all names are kept of what lies beside files, and that it is told.
func TestDoneFilesThatAreNotKnown(t *testing.T) {
	b := newBench(t)
	b.once = true
	for day := range 3 {
		b.server.show(named(day+1), 10)
	}
	b.server.show("H.2026-01-01.1.impc.ok", 0)
	b.server.show("H.2026-01-02.1.impc.ok", 0)
	src := b.defined()
	src.DoneFile = "*.ok"
	for _, tc := range []struct {
		keep int
		want []sources.Filtered
	}{
		{2, []sources.Filtered{{Filter: "done_file: *.ok", Entries: 1, First: "add/" + named(3), Beside: "H.2026-01-03.1.impc.ok"}, {Taken: true, Entries: 2, First: "add/" + named(1)}}},
		{1, []sources.Filtered{{Filter: "done_file: *.ok", Unknown: true}, {Taken: true, Entries: 3, First: "add/" + named(1)}}},
	} {
		b.cfg.MaxIgnored = tc.keep
		b.listing()
		got, err := b.tries(src)
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("with %d names that are kept (- want, + got):\n%s%v", tc.keep, d, err)
		}
	}
}

// TestWhatWasTakenAwayIsTheLatest holds that what we took away at a source keeps older files
// from being the latest, also where it is only tried.
func TestWhatWasTakenAwayIsTheLatest(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(named(1), 10)
	b.server.show(named(3), 10)
	b.listing()
	b.exec("UPDATE control.hosting SET state = 'done_with' WHERE name = $1", named(3))
	got, err := b.tries(config.Source{ID: "src", LatestOnly: true})
	if d := cmp.Diff([]sources.Filtered{{Filter: "latest_only: true", Entries: 1, First: "add/" + named(1), Beside: named(3)}, {Taken: true}}, got); err != nil || d != "" {
		t.Errorf("what is tried (- want, + got):\n%s%v", d, err)
	}
}
