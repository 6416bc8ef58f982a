package poll

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
)

// clockTold are the events that tell of the server's clock: by how much it is wrong.
func (b *bench) clockTold() (told []string) {
	b.t.Helper()
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Note == schemas.NoteClockSkewed {
			told = append(told, fmt.Sprintf("%s %s %s", e.Entity, e.Source, e.Attributes["clock_skew"]))
		}
	}
	return told
}

// A server's clock is measured by files that come between two looks. That it is wrong is
// told once, by its name, and so is that it was set; what is recorded of files is as ever.
func TestAWrongClockIsToldOnce(t *testing.T) {
	b := newBench(t)
	b.once = true
	day := 0
	deliver := func(ahead time.Duration) []string {
		t.Helper()
		day++
		b.now = b.now.Add(time.Hour)
		name := fmt.Sprintf("H.2026-02-01.%d.impc.zip", day)
		b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: name, Size: 5, ModTime: b.now.Add(ahead - 10*time.Minute), Precision: time.Second})
		if got := b.listing(); got != "complete" {
			t.Fatalf("the poll ended %s", got)
		}
		if !strings.Contains(strings.Join(b.said(), "\n"), "discovered "+name+" look 1 new") {
			t.Errorf("%s is not discovered: %s", name, b.said())
		}
		return b.clockTold()
	}
	for i, step := range []struct {
		ahead time.Duration
		want  []string
	}{
		// The first poll looked for the first time: nothing is known of its files.
		{3 * time.Hour, nil}, {3 * time.Hour, nil}, {3 * time.Hour, nil}, {3 * time.Hour, []string{"source src 2h50m0s"}}, {3 * time.Hour, nil},
		{0, nil}, {0, nil}, {0, []string{"source src 0s"}}, {0, nil},
		{-24 * time.Hour, nil}, {-24 * time.Hour, nil}, {-24 * time.Hour, nil}, // which may be times that files brought along
	} {
		if d := cmp.Diff(step.want, deliver(step.ahead)); d != "" {
			t.Errorf("poll %d (- want, + got):\n%s", i+1, d)
		}
	}
	if got := b.text("SELECT count(*), max(look) FROM control.look"); got != "12 1" {
		t.Errorf("there are %s looks", got)
	}
}

// A file that grows between two looks is written by the server's clock, so it tells that
// this is behind.
func TestAGrowingFileTellsThatAClockIsBehind(t *testing.T) {
	b := newBench(t)
	var told []string
	for i := range 5 {
		b.now = b.now.Add(10 * time.Second)
		b.server.dirs["add"] = []remote.Entry{{Name: good, Size: int64(100 * (i + 1)), ModTime: b.now.Add(-2*time.Hour - 3*time.Second), Precision: time.Second}}
		b.listing()
		told = append(told, b.clockTold()...)
	}
	if d := cmp.Diff([]string{"source src -1h59m52s"}, told); d != "" {
		t.Errorf("- want, + got:\n%s", d)
	}
}

// An HTTP server tells its time with every answer: one poll is enough.
func TestAServerThatTellsItsTime(t *testing.T) {
	var w *web
	ahead := time.Duration(0)
	w = newWeb(t, config.Source{}, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Date", w.now.Add(ahead).Format(http.TimeFormat))
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<html><title>Index of "+r.URL.Path+"</title></html>")
	})
	w.once = true
	for _, step := range []struct {
		ahead time.Duration
		want  []string
		text  string
	}{
		{0, nil, "its clock is right, by what it tells"}, {-time.Hour, []string{"source src -59m59s"}, "its clock is behind ours by 59m59s to 1h0m0s, by what it tells"},
		{-time.Hour, nil, ""}, {48 * time.Hour, []string{"source src 48h0m0s"}, ""}, {time.Minute, []string{"source src 0s"}, "its clock is ahead of ours by 1m0s to 1m1s, by what it tells"},
	} {
		ahead = step.ahead
		if got := w.listing(); got != "complete" {
			t.Fatalf("the poll ended %s: %s", got, w.text("SELECT message FROM control.poll"))
		}
		if d := cmp.Diff(step.want, w.clockTold()); d != "" {
			t.Errorf("ahead by %s (- want, + got):\n%s", step.ahead, d)
		}
		for _, m := range w.events() {
			if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask && step.text != "" && e.Attributes["clock"] != step.text {
				t.Errorf("ahead by %s: the poll says %q", step.ahead, e.Attributes["clock"])
			}
		}
	}
}

// What is shown more exactly than before is no other look, and counts as exact from then
// on: as where a source is reached by another protocol.
func TestExacterTimesMakeNoLook(t *testing.T) {
	b := newBench(t)
	b.once = true
	at := noon.Add(-72 * time.Hour).Add(23 * time.Second)
	for i, step := range []struct {
		at        time.Time
		precision time.Duration
		look      string
		known     time.Time
	}{
		{at.Truncate(24 * time.Hour), 24 * time.Hour, "1", at.Truncate(24 * time.Hour)},
		{at.Truncate(time.Minute), time.Minute, "1", at.Truncate(time.Minute)},
		{at, time.Second, "1", at},
		{at.Truncate(time.Minute), time.Minute, "1", at},
		{at.Add(123 * time.Millisecond), time.Nanosecond, "1", at.Add(123 * time.Millisecond)},
		{at.Add(9 * time.Second), time.Second, "2", at.Add(9 * time.Second)},
	} {
		b.server.dirs["add"] = []remote.Entry{{Name: good, Size: 10, ModTime: step.at, Precision: step.precision}}
		b.listing()
		if got, want := b.text("SELECT look, mtime FROM control.hosting"), step.look+" "+step.known.String(); got != want {
			t.Errorf("step %d: look and time are %s, want %s", i+1, got, want)
		}
	}
}
