//go:build !race

package poll

import (
	"errors"
	"testing"

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
	got, err := sources.TestFilters(t.Context(), b.deps.Pool, "src", config.Filters{{Exclude: "edit/*"}, {Exclude: "*2031*"}})
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
