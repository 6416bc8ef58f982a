package poll

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// changed gives a directory another time, as when a file comes there.
func (s *server) changed(action string, at time.Time) {
	s.base = slices.DeleteFunc(s.base, func(e remote.Entry) bool { return e.Name == action })
	s.base = append(s.base, remote.Entry{Name: action, Kind: remote.Dir, Size: -1, ModTime: at, Precision: time.Second})
}

// minimally has the source polled minimally, with directories that have not changed
// lately.
func (b *bench) minimally(every time.Duration) {
	b.t.Helper()
	src := b.defined()
	src.CompleteEvery = config.Duration(every)
	b.define(src)
	b.server.dirs = map[string][]remote.Entry{"add": nil, "edit": nil, "delete": nil}
	for _, action := range schemas.Actions() {
		b.server.changed(action, noon.Add(-time.Hour))
	}
}

// polled lists the source and says how that ended, and which action directories were
// listed.
func (b *bench) polled() string {
	b.t.Helper()
	b.server.asked = nil
	out := b.listing()
	for _, dir := range b.server.asked {
		if dir != "" {
			out += " " + dir
		}
	}
	return out
}

const good3 = "H.2026-01-02.3.impc.zip"

const (
	whole = "complete add edit delete"
	none  = "minimal"
)

// Which directories a poll lists: all, where anything is not sure.
func TestWhichDirectoriesAPollLists(t *testing.T) {
	const pause = 10 * time.Minute
	steps := func(what ...any) []any { return what }
	later := func(d time.Duration) func(*bench) { return func(b *bench) { b.now = b.now.Add(d) } }
	change := func(action string) func(*bench) { return func(b *bench) { b.server.changed(action, b.now) } }
	for name, script := range map[string][]any{
		"nothing comes": steps(whole, whole, none, none),
		"a file comes": steps(whole, whole, none, func(b *bench) { b.server.show(good, 1); b.server.changed("add", b.now) }, "minimal add",
			// It may still grow, and the time may be that of two changes.
			"minimal add", none),
		"two directories change":        steps(whole, whole, change("edit"), change("delete"), "minimal edit delete", "minimal edit delete", none),
		"all directories change":        steps(whole, whole, change("add"), change("edit"), change("delete"), whole),
		"it is time for a complete one": steps(whole, whole, none, later(24*time.Hour), whole, none),
		"within a minute of it":         steps(whole, whole, later(24*time.Hour-2*pause-50*time.Second), none, whole),
		"our clock is set back":         steps(whole, whole, none, later(-3*time.Hour), whole),
		"a directory shows no time":     steps(func(b *bench) { b.server.changed("edit", time.Time{}) }, whole, whole, "minimal edit", "minimal edit"),
		"it is a link":                  steps(func(b *bench) { b.server.base[0].Kind = remote.Other }, whole, whole, "minimal add"),
		"a time is exact to the day":    steps(func(b *bench) { b.server.base[0].Precision = 24 * time.Hour }, whole, whole, "minimal add", later(23*time.Hour+30*time.Minute), "minimal add", whole, none),
		"a time was seen just before":   steps(whole, whole, change("add"), "minimal add", later(time.Second-pause), "minimal add", "minimal add", none),
		"the base can't be listed":      steps(whole, whole, func(b *bench) { b.server.bare = true }, whole),
		"a time goes back":              steps(whole, whole, func(b *bench) { b.server.changed("add", noon.Add(-2*time.Hour)) }, "minimal add"),
		"it is asked for with --once":   steps(whole, whole, func(b *bench) { b.once = true }, whole),
		"it is defined otherwise":       steps(whole, whole, func(b *bench) { s := b.defined(); s.MaxEntries = 100; b.define(s) }, whole, whole, none),
		"a centre is known newly":       steps(whole, whole, func(b *bench) { b.exec("INSERT INTO control.centre (short_name, revision) VALUES ('New', 7)") }, whole, whole, none),
		"a person asks":                 steps(whole, whole, none, func(b *bench) { b.forget() }, whole),
		"it is polled completely again": steps(whole, whole, none, func(b *bench) { s := b.defined(); s.CompleteEvery = 0; b.define(s) }, whole, whole),
		"a limit leaves files": steps(func(b *bench) {
			b.cfg.MaxNew = 1
			b.server.show(good, 1)
			b.server.show(good2, 1)
			b.server.show(good3, 1)
		}, whole, whole, whole, "minimal add", none),
		"a file may still grow":                    steps(func(b *bench) { b.cfg.Settle = config.Duration(4 * pause); b.server.show(good, 1) }, whole, whole, "minimal add", "minimal add", "minimal add", none),
		"a poll breaks off":                        steps(whole, whole, change("delete"), func(b *bench) { b.server.fail = errTooLong }, "failed delete", func(b *bench) { b.server.fail = nil }, whole, "minimal delete", none),
		"a directory is missing and back":          steps(func(b *bench) { b.server.show(good, 1) }, whole, whole, none, func(b *bench) { delete(b.server.dirs, "add"); b.server.base = b.server.base[1:] }, "broken_off add", func(b *bench) { b.server.dirs["add"] = nil; b.server.changed("add", noon.Add(-time.Hour)) }, none),
		"files come and the time stays":            steps(whole, whole, func(b *bench) { b.server.show(good, 1); b.now = b.now.Add(24 * time.Hour) }, whole, "minimal add", "minimal add", "minimal add", func(b *bench) { b.forget() }, whole, whole, none),
		"a file comes after the time is asked for": steps(whole, whole, later(24*time.Hour), func(b *bench) { b.server.show(good, 1) }, whole, change("add"), "minimal add", "minimal add", none),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.minimally(24 * time.Hour)
			b.cfg.Attempts = 1
			for i, step := range script {
				if happens, ok := step.(func(*bench)); ok {
					happens(b)
					continue
				}
				got := b.polled()
				if got != step {
					t.Fatalf("step %d: %q, want %q; it goes by %s", i, got, step, b.text("SELECT directories::text FROM control.source"))
				}
				passed := ""
				for _, e := range b.tasks() {
					passed = e.Attributes["passed_over"]
					if e.Note != strings.Fields(got)[0] || (e.Status == "failed") == (e.Note == "complete" || e.Note == "minimal") {
						t.Errorf("step %d: %q is told as %s %s", i, got, e.Status, e.Note)
					}
				}
				if all := len(strings.Fields(got)) - 1 + len(strings.Fields(passed)); all != 3 && !strings.HasPrefix(got, "failed") && got != "broken_off add" {
					t.Errorf("step %d: %q is told to have passed over %q", i, got, passed)
				}
				b.now = b.now.Add(pause)
			}
		})
	}
}

// forget has the next poll be complete, as where a person asks for one.
func (b *bench) forget() {
	b.t.Helper()
	if err := control.ForgetDirectories(b.t.Context(), b.deps.Pool, "src"); err != nil {
		b.t.Fatal(err)
	}
}

// tasks are the events of polls that ended.
func (b *bench) tasks() (all []*schemas.StatusChanged) {
	b.t.Helper()
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask {
			all = append(all, e)
		}
	}
	return all
}

// What minimal polls don't show is not gone, however many there are, and what they show
// brings nothing back that complete ones have counted. They end a row of failures, and
// count for nothing where polls without a change are counted.
func TestMinimalPollsConcludeNothing(t *testing.T) {
	b := newBench(t)
	b.minimally(24 * time.Hour)
	b.server.show(good, 1)
	b.server.show(good2, 1)
	b.server.show("notes.txt", 1)
	state := func() string {
		return b.text("SELECT h.state, h.misses, s.unchanged, s.failures, s.ignored FROM control.hosting h, control.source s WHERE h.name = $1", good)
	}
	for i, step := range []struct {
		happens func()
		ends    string
		want    string // of the file good
	}{
		{func() {}, whole, "present 0 0 0 1"},
		{func() {}, whole, "present 0 1 0 1"}, // it has settled
		{func() {}, "minimal", "present 0 1 0 1"},
		{func() { b.server.hide(good); b.server.hide("notes.txt"); b.server.changed("add", b.now) }, "minimal add", "present 0 1 0 1"},
		{func() {}, "minimal add", "present 0 1 0 1"},
		{func() { b.exec("UPDATE control.source SET failures = 2") }, "minimal", "present 0 1 0 1"},
		{func() { b.now = b.now.Add(24 * time.Hour) }, whole, "present 1 2 0 0"},
		{func() {}, "minimal", "present 1 2 0 0"},
		{func() { b.now = b.now.Add(24 * time.Hour) }, whole, "gone 2 0 0 0"},
		{func() { b.server.show(good, 1); b.server.changed("add", b.now) }, "minimal add", "present 0 0 0 0"},
	} {
		step.happens()
		if got := b.polled(); got != step.ends || state() != step.want {
			t.Errorf("step %d: the poll is %q, and the file %s; want %q, %s", i, got, state(), step.ends, step.want)
		}
		b.now = b.now.Add(10 * time.Minute)
	}
	if got := b.text("SELECT count(*) FROM control.session WHERE polls_ended_at IS NULL"); got != "0" {
		t.Errorf("%s sessions wait for polls that have ended", got)
	}
}

// A listing that is kept is that of a complete poll, and says how many minimal ones came
// after it.
func TestListingsOfMinimalPollsAreNotKept(t *testing.T) {
	k := newKeeper(t)
	k.once = false
	k.minimally(24 * time.Hour)
	k.server.show(good, 1)
	was := k.shown()
	for i, want := range []string{"complete", "complete", "minimal", "minimal", "minimal"} {
		if i == 3 {
			k.server.show(good2, 1)
			k.server.changed("add", k.now)
		}
		e := k.polls()
		if e.Note != want || (e.Attributes["listing"] != "") != (want == "complete") {
			t.Fatalf("poll %d is told as %s with %v", i, e.Note, e.Attributes)
		}
		k.now = k.now.Add(10 * time.Minute)
	}
	if d := cmp.Diff(was, k.at(k.now, true)); d != "" {
		t.Errorf("the current listing differs (- want, + got):\n%s", d)
	}
	for back, want := range map[time.Duration]int64{0: 3, 15 * time.Minute: 2, 45 * time.Minute: 0} {
		if p := k.polledBy(k.now.Add(-back), false); p.Minimal != want || !p.Complete {
			t.Errorf("%s ago %d minimal polls had come after the listing, want %d", back, p.Minimal, want)
		}
	}
}
