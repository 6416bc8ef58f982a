//go:build !race

package poll

import (
	"testing"
	"time"

	"tributary/internal/config"
)

// Polls that find nothing new, changed or gone are counted, in a row; one that finds
// something has the next one due an interval later, if the interval had grown.
func TestPollsWithoutAChangeAreCounted(t *testing.T) {
	b := newBench(t)
	b.once = true // so that what is new has settled
	b.cfg.GoneAfter = 1
	grows := config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Interval: config.Duration(time.Hour), MaxInterval: config.Duration(9 * time.Hour)}
	b.define(grows)
	b.server.show(good, 10)
	for _, step := range []struct {
		what    string
		happens func()
		want    string // polls in a row, and whether it is due within the interval
	}{
		{"a new file", func() {}, "0 false"},
		{"nothing", func() {}, "1 false"},
		{"nothing again", func() {}, "2 false"},
		{"it breaks off", func() { b.server.fail = errTooLong }, "2 false"},
		{"it breaks off, and shows a change", func() { b.server.show(good, 11) }, "0 true"},
		{"nothing, once it answers", func() { b.server.fail = nil }, "1 false"},
		{"it fails", func() { b.server.dial = errBaseMissing }, "1 false"},
		{"a changed file", func() { b.server.dial = nil; b.server.show(good, 12) }, "0 true"},
		{"a change after a change", func() { b.server.show(good, 13) }, "0 false"},
		{"nothing after that", func() {}, "1 false"},
		{"the file is gone", func() { b.server.dirs["add"] = nil }, "0 true"},
		{"nothing, and nothing there", func() {}, "1 false"},
		{"without a bound nothing is due sooner", func() {
			grows.MaxInterval = 0
			b.define(grows)
			b.server.show(good, 14)
		}, "0 false"},
	} {
		b.exec("UPDATE control.source SET next_due = $1", b.now.Add(9*time.Hour))
		step.happens()
		b.listing()
		if got := b.text("SELECT unchanged, next_due = $1 FROM control.source", b.now.Add(time.Hour)); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
		b.now = b.now.Add(time.Minute)
	}
}

// A source that fails is polled more rarely where it is polled by interval, and at
// the times of its cron expression else.
func TestAFailedPollLeavesCronsTimes(t *testing.T) {
	for cron, want := range map[string]string{"": "false", "0 12 * * *": "true"} {
		b := newBench(t)
		b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Cron: cron})
		b.server.dial = errBaseMissing
		b.exec("UPDATE control.source SET failures = 5, next_due = $1", noon.Add(time.Hour))
		if got := b.listing(); got != "failed" {
			t.Fatalf("it ends %s", got)
		}
		if got := b.text("SELECT next_due = $1 FROM control.source", noon.Add(time.Hour)); got != want {
			t.Errorf("with cron %q it is due as before: %s, want %s", cron, got, want)
		}
	}
}

// Outside of its window no poll of a source begins. One that is under way goes on to
// its end; the others end, so that no session waits, and the source is due when the
// window opens.
func TestPollsOutsideOfAWindow(t *testing.T) {
	const ended, running = "complete \nfailed source_unavailable", "complete \nrunning "
	for name, c := range map[string]struct {
		state   func(b *bench)
		polls   string
		waiting string // sessions
	}{
		"it is due": {func(*bench) {}, ended, "0"},
		"it is to be tried again": {func(b *bench) {
			b.exec("UPDATE control.poll SET attempts = 2, not_before = 'infinity' WHERE state = 'due'")
		}, ended, "0"},
		"it is under way": {func(b *bench) { b.take() }, running, "1"},
		"nobody is at it any more": {func(b *bench) {
			b.take()
			b.exec("UPDATE control.poll SET lease_until = clock_timestamp() - interval '1 s' WHERE state = 'running'")
		}, ended, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.server.show(good, 10)
			b.listing()
			b.session()
			c.state(b)
			b.clear()
			b.exec("UPDATE control.source SET next_due = 'infinity', opens = $1, closes = $2", b.now.Add(-time.Hour), b.now.Add(time.Second))
			if err := b.leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.says()
			b.now = b.now.Add(time.Second)
			if _, ok := b.take(); ok {
				t.Error("a poll is begun")
			}
			for range 2 {
				if err := b.leave(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.text("SELECT state, exception FROM control.poll ORDER BY ended_at, id"); got != c.polls {
				t.Errorf("polls are\n%s\nwant\n%s", got, c.polls)
			}
			if got := b.text("SELECT count(*) FROM control.session WHERE polls_ended_at IS NULL"); got != c.waiting {
				t.Errorf("%s sessions wait for polls, want %s", got, c.waiting)
			}
			if c.polls == running {
				return
			}
			b.says("task failed " + sourceUnavailable)
			if got := b.text("SELECT next_due = $1 FROM control.source", b.now); got != "true" {
				t.Error("it is not due when its window opens")
			}
			if got := b.text("SELECT state FROM control.hosting"); got != present {
				t.Errorf("what it showed is %s", got)
			}
		})
	}
}

// A source for which once is enough rests as soon as a complete poll has left nothing
// to take up: until then it is polled by interval, also where it fails.
func TestPolledUntilAPollIsComplete(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts, b.cfg.MaxNew = 1, 1
	once := config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Cron: "@once"}
	b.define(once)
	b.server.show(good, 1)
	due := func() string {
		return b.text("SELECT CASE WHEN isfinite(next_due) THEN to_char(next_due AT TIME ZONE 'UTC', 'HH24:MI:SS') ELSE next_due::text END FROM control.source")
	}
	for _, step := range []struct {
		what    string
		happens func()
		ends    string
		due     string // -infinity: as the role schedule says
	}{
		{"it does not answer", func() { b.server.dial = errBaseMissing }, "failed", "13:00:00"},
		{"it breaks off", func() { b.server.dial, b.server.fail = nil, errTooLong }, "broken_off", "14:00:00"},
		{"what it shows has not settled", func() { b.server.fail = nil }, "complete", "12:00:30"},
		{"one poll does not take up all", func() { b.once = true; b.server.show(good2, 1); b.server.show("H.2026-01-02.3.impc.zip", 1) }, "complete", "12:00:30"},
		{"a day does not", func() { once.MaxFilesPerDay = 2; b.define(once) }, "complete", "-infinity"},
		{"all is taken up", func() { once.MaxFilesPerDay = 0; b.define(once) }, "complete", "infinity"},
		{"nothing is new when somebody asks", func() {}, "complete", "infinity"},
		{"it is to be polled by interval", func() { once.Cron = ""; b.define(once) }, "complete", "-infinity"},
	} {
		b.exec("UPDATE control.source SET next_due = '-infinity'")
		step.happens()
		if got := b.listing(); got != step.ends || due() != step.due {
			t.Errorf("%s: the poll is %s, and the source due %s; want %s, %s", step.what, got, due(), step.ends, step.due)
		}
	}
}

// What is defined otherwise while it is polled does not rest by the end of that poll.
func TestDefinedOtherwiseItDoesNotRest(t *testing.T) {
	b := newBench(t)
	once := config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Cron: "@once"}
	b.define(once)
	b.session()
	p, _ := b.take()
	once.URL = "file:///elsewhere"
	b.define(once)
	b.exec("UPDATE control.source SET next_due = $1", b.now)
	b.one(t.Context(), p)
	if got := b.text("SELECT next_due FROM control.source"); got != b.now.String() {
		t.Errorf("it is due %s", got)
	}
}
