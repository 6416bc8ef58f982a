package poll

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

// taken are the names that the last poll took up, those changed longest ago first.
func (b *bench) taken() (names []string) {
	b.t.Helper()
	return strings.Fields(b.text("SELECT name FROM control.hosting h JOIN control.look k USING (source, file, look) WHERE k.session = (SELECT id FROM control.session ORDER BY number DESC LIMIT 1) ORDER BY h.mtime, name"))
}

// counted is what the last poll's event counted.
func (b *bench) counted() map[string]string {
	b.t.Helper()
	got := map[string]string{}
	for _, name := range []string{"new", "changed", "postponed", "gone"} {
		got[name] = b.task().Attributes[name]
	}
	return got
}

// flood shows n files, the first of them the newest.
func flood(n int) (entries []remote.Entry, names []string) {
	for i := range n {
		e := remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", 100+i), Size: 10, ModTime: noon.Add(-time.Duration(i) * time.Minute), Precision: time.Second}
		entries = append(entries, e)
		names = append([]string{e.Name}, names...) // the oldest first
	}
	return entries, names
}

// A source that shows very many files at once has them taken up in turns: the
// oldest first, as many by each poll as poll.max_new says. Each poll says how many
// are left, and none of them is gone meanwhile, though a poll is complete.
func TestAFloodIsTakenUpInTurns(t *testing.T) {
	b := newBench(t)
	b.cfg.MaxNew, b.cfg.GoneAfter, b.once = 10, 1, true
	var names []string
	b.server.dirs["add"], names = flood(25)
	for i, want := range []map[string]string{
		{"new": "10", "changed": "0", "postponed": "15", "gone": "0"},
		{"new": "10", "changed": "0", "postponed": "5", "gone": "0"},
		{"new": "5", "changed": "0", "postponed": "", "gone": "0"},
		{"new": "0", "changed": "0", "postponed": "", "gone": "0"},
	} {
		b.now = noon.Add(time.Duration(i) * time.Hour)
		b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Hour))
		if got := b.listing(); got != "complete" {
			t.Fatalf("poll %d ended %s", i+1, got)
		}
		if d := cmp.Diff(want, b.counted()); d != "" {
			t.Errorf("poll %d counts otherwise (- want, + got):\n%s", i+1, d)
		}
		first, last := min(10*i, 25), min(10*i+10, 25)
		if d := cmp.Diff(names[first:last], b.taken(), equateEmpty); d != "" {
			t.Errorf("poll %d took up others (- want, + got):\n%s", i+1, d)
		}
		if got, want := b.text("SELECT next_due FROM control.source"), b.now.Add(time.Hour); want.String() == got && last < 25 {
			t.Errorf("poll %d leaves files for its next time only, which is %s", i+1, got)
		}
		b.clear()
	}
	if got := b.text("SELECT count(*), count(*) FILTER (WHERE state = 'present') FROM control.hosting"); got != "25 25" {
		t.Errorf("hostings, and those present: %s", got)
	}
}

var equateEmpty = cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })

// What is known and changes at once waits for its turn too, in the order in which
// it was taken up last, is not gone while it waits, and new files come before it.
func TestAFloodOfChangesIsTakenUpInTurns(t *testing.T) {
	b := newBench(t)
	b.cfg.MaxNew, b.cfg.GoneAfter, b.once = 10, 1, true
	entries, _ := flood(20)
	b.server.dirs["add"] = entries[:10]
	b.listing()
	b.now = noon.Add(time.Hour)
	b.server.dirs["add"] = entries
	b.listing()
	for i := range entries {
		entries[i].Size++
	}
	added := remote.Entry{Name: "H.2026-01-02.99.impc.zip", Size: 1, ModTime: noon.Add(time.Hour), Precision: time.Second}
	b.server.dirs["add"] = append(entries, added)
	for i, want := range []map[string]string{
		{"new": "1", "changed": "9", "postponed": "11", "gone": "0"},
		{"new": "0", "changed": "10", "postponed": "1", "gone": "0"},
		{"new": "0", "changed": "1", "postponed": "", "gone": "0"},
	} {
		b.now = b.now.Add(time.Hour)
		b.listing()
		if d := cmp.Diff(want, b.counted()); d != "" {
			t.Errorf("poll %d counts otherwise (- want, + got):\n%s", i+1, d)
		}
		if i == 0 {
			// Those taken up first, at noon, come before those taken up an hour later.
			if got := b.text("SELECT count(*) FROM control.look WHERE look = 2 AND file IN (SELECT file FROM control.look WHERE look = 1 AND listed_at = $1)", noon); got != "9" {
				t.Errorf("%s of the files that were taken up longest ago", got)
			}
		}
		b.clear()
	}
	if got := b.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"); got != "21" {
		t.Errorf("files present: %s", got)
	}
}
