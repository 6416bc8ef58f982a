//go:build !race

package poll

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
)

// named is a file of the centre H, of a day in January.
func named(day int) string { return fmt.Sprintf("H.2026-01-%02d.1.impc.zip", day) }

// showAt puts a file into the directory add that was changed at a time.
func (b *bench) showAt(name string, size int64, changed time.Time) {
	b.server.hide(name)
	b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: name, Size: size, ModTime: changed, Precision: time.Second})
}

// announced is what the last poll announced to plan, also as gone.
func (b *bench) announced() []string {
	out := []string{}
	for _, line := range b.said() {
		if strings.HasPrefix(line, "discovered") {
			out = append(out, strings.TrimPrefix(line, "discovered "))
		}
	}
	return out
}

// left is what the source leaves, and why.
func (b *bench) left() []string {
	return strings.Split(b.text("SELECT name, reason, rule FROM control.ignored ORDER BY directory, name"), "\n")
}

// A source's bounds leave new and changed files, with their reason. What comes to be
// within them is taken, and what was taken and no longer is stays.
func TestBoundsOfSizeAndAge(t *testing.T) {
	b := newBench(t)
	b.once, b.cfg.GoneAfter = true, 1
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", MinSize: 10, MaxSize: 100, MinAge: config.Duration(time.Hour), MaxAge: config.Duration(48 * time.Hour)})
	at := func(age time.Duration) time.Time { return b.now.Add(-age) }
	a := named(1)
	for _, step := range []struct {
		about   string
		happens func()
		taken   string
		left    string
	}{
		{"too small", func() { b.showAt(a, 9, at(3*time.Hour)) }, "", a + " too_small min_size: 10"},
		{"as small as may be", func() { b.showAt(a, 10, at(3*time.Hour)) }, a + " look 1 new", ""},
		{"too large by now", func() { b.showAt(a, 101, at(3*time.Hour)) }, "", a + " too_large max_size: 100"},
		{"as large as may be", func() { b.showAt(a, 100, at(3*time.Hour)) }, a + " look 2 changed", ""},
		{"too young by now", func() { b.showAt(a, 50, at(time.Hour-time.Second)) }, "", a + " too_young min_age: 1h"},
		{"nothing, but time goes by", func() { b.now = b.now.Add(2 * time.Second) }, a + " look 3 changed", ""},
		{"too old by now", func() { b.now = b.now.Add(72 * time.Hour) }, "", ""},
		{"another is too old", func() { b.showAt(named(2), 50, at(48*time.Hour+2*time.Second)) }, "", named(2) + " too_old max_age: 48h"},
		{"of a second that is not over", func() { b.showAt(named(2), 50, at(48*time.Hour+time.Second)) }, named(2) + " look 1 new", ""},
		{"one says nothing of itself", func() { b.showAt(named(3), -1, time.Time{}) }, named(3) + " look 1 new", ""},
		{"of the future", func() { b.showAt(named(4), 50, at(-time.Hour)) }, "", named(4) + " too_young min_age: 1h"},
		{"one is taken away", func() { b.server.hide(a) }, a + " look 3 gone", named(4) + " too_young min_age: 1h"},
	} {
		step.happens()
		if got := b.listing(); got != "complete" {
			t.Fatalf("%s: the poll is %s", step.about, got)
		}
		if d := cmp.Diff(step.taken, strings.Join(b.announced(), ", ")); d != "" {
			t.Errorf("%s: what is taken (- want, + got):\n%s", step.about, d)
		}
		if d := cmp.Diff(step.left, strings.Join(b.left(), ", ")); d != "" {
			t.Errorf("%s: what is left (- want, + got):\n%s", step.about, d)
		}
	}
}

// How old a file is its server's clock says, as far as that is known, whatever ours is.
func TestAgeByTheServersClock(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", MinAge: config.Duration(time.Hour)})
	b.exec(`UPDATE control.source SET clock = '{"server": "host:22", "told": {"least": 7200000000000, "most": 7200000000000}}'`) // two hours ahead
	b.showAt(named(1), 10, b.now.Add(30*time.Minute))
	b.showAt(named(2), 10, b.now.Add(90*time.Minute))
	b.listing()
	if d := cmp.Diff([]string{named(1) + " look 1 new"}, b.announced()); d != "" {
		t.Error(d)
	}
}

// A file that was too young is taken by a minimal poll, though the time of its directory
// says that nothing came since.
func TestMinimalPollsTakeWhatHasRipened(t *testing.T) {
	b := newBench(t)
	b.cfg.Settle = 0
	b.server.base = []remote.Entry{{Name: "add", Kind: remote.Dir, ModTime: noon.Add(-time.Hour), Precision: time.Second}}
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", MinAge: config.Duration(time.Hour), CompleteEvery: config.Duration(240 * time.Hour)})
	b.showAt(named(1), 10, noon.Add(-10*time.Minute))
	for i, want := range []string{"complete: ", "complete: ", "complete: " + named(1) + " look 1 new", "minimal: ", "minimal: "} {
		if got := b.listing() + ": " + strings.Join(b.announced(), ", "); got != want {
			t.Errorf("poll %d: %q, want %q", i, got, want)
		}
		b.now = b.now.Add(27 * time.Minute)
	}
}

// A source that is polled once is polled until no file is too young any more.
func TestPolledOnceUntilAllIsOldEnough(t *testing.T) {
	b := newBench(t)
	b.cfg.Settle = 0
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Cron: "@once", MinAge: config.Duration(time.Hour)})
	b.showAt(named(1), 10, noon.Add(-10*time.Minute))
	for i, want := range []string{"false", "true"} {
		b.listing()
		if got := b.text("SELECT next_due = 'infinity' FROM control.source"); got != want {
			t.Errorf("after poll %d it rests: %s, want %s", i, got, want)
		}
		b.now = b.now.Add(time.Hour)
	}
}

// Of a centre's files in a directory the latest is taken. An older one is taken only once
// no later one is there, which complete listings alone say.
func TestLatestOnly(t *testing.T) {
	b := newBench(t)
	b.cfg.Settle, b.cfg.GoneAfter, b.cfg.Attempts = 0, 2, 1
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", LatestOnly: true, MinSize: 5, DoneFile: "*.ok", Hosts: config.Hosts{{Centre: "J"}}})
	file := func(name string, size int64) {
		b.server.show(name, size)
		b.server.show(strings.TrimSuffix(name, ".zip")+".ok", 0)
	}
	left := func(day int, by string) string { return named(day) + " not_latest " + by }
	for _, step := range []struct {
		about   string
		happens func()
		state   string
		taken   []string
		left    []string
	}{
		{"the listing breaks off", func() { file(named(3), 10); b.server.fail = errors.New("cut off") }, "broken_off", nil, nil},
		{"it is whole", func() { b.server.fail = nil; file(named(2), 10); file(named(5), 10) }, "complete", []string{named(5) + " look 1 new"}, []string{left(2, named(5)), left(3, named(5))}},
		{"a later one comes, and one of another centre", func() { file(named(7), 10); file("J.2026-01-01.1.impc.zip", 10) }, "complete",
			[]string{named(7) + " look 1 new", "J.2026-01-01.1.impc.zip look 1 new"}, []string{left(2, named(7)), left(3, named(7))}},
		{"one is overwritten that is no longer the latest", func() { file(named(5), 11) }, "complete", nil, []string{left(2, named(7)), left(3, named(7)), left(5, named(7))}},
		{"a later increment of the day is half written", func() { b.server.show("H.2026-01-07.10.impc.zip", 10) }, "complete", nil,
			[]string{left(2, "H.2026-01-07.10.impc.zip"), left(3, "H.2026-01-07.10.impc.zip"), left(5, "H.2026-01-07.10.impc.zip"), "H.2026-01-07.10.impc.zip no_done_file H.2026-01-07.10.impc.ok"}},
		{"it is empty", func() { file("H.2026-01-07.10.impc.zip", 0) }, "complete", nil,
			[]string{left(2, named(7)), left(3, named(7)), left(5, named(7)), "H.2026-01-07.10.impc.zip too_small min_size: 5"}},
		{"the listing lacks the latest", func() { b.server.hide("H.2026-01-07.10.impc.zip"); b.server.hide(named(7)) }, "complete", nil, []string{left(2, named(7)), left(3, named(7)), left(5, named(7))}},
		{"and breaks off", func() { b.server.fail = errors.New("cut off") }, "broken_off", nil, []string{left(2, named(7)), left(3, named(7)), left(5, named(7))}},
		{"and lacks it again", func() { b.server.fail = nil }, "complete", []string{named(7) + " look 1 gone"}, []string{left(2, named(7)), left(3, named(7)), left(5, named(7))}},
		{"so it is gone", func() {}, "complete", []string{named(5) + " look 2 changed"}, []string{left(2, named(5)), left(3, named(5))}},
		{"we take the latest away", func() {
			b.server.hide(named(5))
			b.exec("UPDATE control.hosting SET state = 'done_with' WHERE name = $1", named(5))
		}, "complete", nil, []string{left(2, named(5)), left(3, named(5))}},
	} {
		step.happens()
		b.now = b.now.Add(time.Hour)
		if got := b.listing(); got != step.state {
			t.Fatalf("%s: the poll is %s, want %s", step.about, got, step.state)
		}
		took := b.announced()
		slices.Sort(took)
		slices.Sort(step.taken)
		if d := cmp.Diff(strings.Join(step.taken, "\n"), strings.Join(took, "\n")); d != "" {
			t.Errorf("%s: what is taken (- want, + got):\n%s", step.about, d)
		}
		got := slices.DeleteFunc(b.left(), func(line string) bool { return strings.HasSuffix(line, " not_zip ") })
		slices.Sort(step.left)
		slices.Sort(got)
		if d := cmp.Diff(strings.Join(step.left, "\n"), strings.Join(got, "\n")); d != "" {
			t.Errorf("%s: what is left (- want, + got):\n%s", step.about, d)
		}
	}
}
