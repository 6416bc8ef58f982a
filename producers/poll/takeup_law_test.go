//go:build !race

package poll

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/sql/control"
)

// known is what the model knows of a file.
type known struct {
	size     int64
	mtime    time.Time
	listed   time.Time // when it was taken up last
	settled  bool
	refused  bool
	recorded bool
}

// takeUpModel takes up files as the docs say, one after the other.
type takeUpModel struct {
	limits  config.Source
	files   map[string]*known
	days    map[string]control.Taken
	over    map[string]bool // days whose first bytes alone are more than their limit
	polled  control.Taken
	settled time.Duration
}

// poll is what a poll at that time takes up, in the order of turns, and the limit by
// which the first that is left has none.
func (m *takeUpModel) poll(shown map[string]remote.Entry, once bool, now time.Time) (taken []string, left int, limit string) {
	var turns []string
	for path, e := range shown {
		k := m.files[path]
		if k == nil {
			k = &known{refused: strings.Contains(path, "/J."), settled: strings.Contains(path, "/x")}
			m.files[path] = k
		}
		switch {
		case !k.recorded || k.size != e.Size || !k.mtime.Equal(e.ModTime):
			turns = append(turns, path)
		case once || !now.Before(k.listed.Add(m.settled)):
			k.settled = true
		}
	}
	slices.SortFunc(turns, func(a, b string) int {
		x, y := m.files[a], m.files[b]
		return cmp.Or(x.listed.Compare(y.listed), shown[a].ModTime.Compare(shown[b].ModTime), cmp.Compare(a, b))
	})
	m.polled = control.Taken{}
	day, _ := m.limits.Day(now)
	for i, path := range turns {
		k, e, today := m.files[path], shown[path], m.days[day]
		add := control.Taken{Looks: 1, Files: 1, Bytes: e.Size}
		if k.recorded && !k.settled && !k.refused {
			add.Files, add.Bytes = 0, max(0, e.Size-k.size)
		}
		over := func(most, used, add int64) bool { return most > 0 && used+add > most }
		switch {
		case over(m.limits.MaxFilesPerDay, today.Files, add.Files):
			limit = control.FilesPerDay
		case over(int64(m.limits.MaxBytesPerDay), today.Bytes, add.Bytes) && today.Bytes > 0:
			limit = control.BytesPerDay
		case over(int64(m.limits.MaxNew), m.polled.Looks, 1):
			limit = control.FilesPerPoll
		case over(int64(m.limits.MaxNewBytes), m.polled.Bytes, add.Bytes) && m.polled.Bytes > 0:
			limit = control.BytesPerPoll
		}
		if limit != "" {
			return taken, len(turns) - i, limit
		}
		m.over[day] = m.over[day] || today.Bytes == 0 && over(int64(m.limits.MaxBytesPerDay), 0, add.Bytes)
		m.polled, m.days[day] = m.polled.Plus(add), today.Plus(add)
		k.size, k.mtime, k.listed, k.recorded = e.Size, e.ModTime, now, true
		k.settled = once || k.refused || strings.Contains(path, "/x")
		taken = append(taken, path)
	}
	return taken, 0, ""
}

// Whatever a source shows and however it is limited, polls take up what the model says,
// in the order of turns: so never more than a limit but for the first bytes of a day or
// a poll, nothing twice, and in the end all.
func TestTakingUpKeepsToLimits(t *testing.T) {
	b := newBench(t)
	b.cfg.GoneAfter = 1000
	// Each takes a good part of a second; -rapid.checks asks for more.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	rapid.Check(t, func(r *rapid.T) {
		for _, table := range []string{"look", "hosting", "file", "poll", "session", "source_day", "outbox", "ignored"} {
			b.exec("DELETE FROM control." + table)
		}
		b.now = noon.Add(time.Duration(rapid.IntRange(0, 48).Draw(r, "hour")) * time.Hour)
		b.once = rapid.Bool().Draw(r, "once")
		most := func(name string, n int64) int64 {
			return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, n)).Draw(r, name)
		}
		m := &takeUpModel{files: map[string]*known{}, days: map[string]control.Taken{}, over: map[string]bool{}, settled: b.cfg.Settle.D(), limits: config.Source{
			MaxNew: rapid.IntRange(1, 13).Draw(r, "max_new"), MaxNewBytes: config.Bytes(most("max_new_bytes", 60)),
			MaxFilesPerDay: most("max_files_per_day", 12), MaxBytesPerDay: config.Bytes(most("max_bytes_per_day", 60)),
			TimeZone: rapid.SampledFrom([]string{"", "Asia/Tokyo", "America/New_York"}).Draw(r, "zone")}}
		b.limited(m.limits)
		shown := map[string]remote.Entry{}
		show := func(what string) {
			for range rapid.IntRange(0, 8).Draw(r, what) {
				action := rapid.SampledFrom([]string{"add", "edit"}).Draw(r, "action")
				name := rapid.SampledFrom([]string{"H.2026-01-02.%d.impc.zip", "H.2026-01-02.%d.impc.zip", "J.2026-01-02.%d.impc.zip", "x%d.zip"}).Draw(r, "name")
				name = fmt.Sprintf(name, rapid.IntRange(1, 9).Draw(r, "number"))
				shown[action+"/"+name] = remote.Entry{Name: name, Precision: time.Second, Size: rapid.Int64Range(0, 40).Draw(r, "size"),
					ModTime: noon.Add(-time.Duration(rapid.IntRange(1, 5).Draw(r, "age")) * time.Hour)}
			}
		}
		poll := func() (left int) {
			b.server.dirs = map[string][]remote.Entry{"add": nil, "edit": nil, "delete": nil}
			for path, e := range shown {
				action, _, _ := strings.Cut(path, "/")
				b.server.dirs[action] = append(b.server.dirs[action], e)
			}
			want, left, limit := m.poll(shown, b.once, b.now)
			slices.Sort(want)
			if got := b.listing(); got != "complete" {
				r.Fatalf("a poll ended %s", got)
			}
			taken := strings.Fields(b.text("SELECT h.action || '/' || h.name FROM control.hosting h WHERE listed_at = $1", b.now))
			slices.Sort(taken)
			if d := diff.Diff(want, taken, equateEmpty); d != "" {
				r.Fatalf("at %s others are taken up (- want, + got):\n%s", b.now, d)
			}
			told := fmt.Sprintf("%d %d", m.polled.Looks, m.polled.Bytes)
			if left > 0 {
				told = fmt.Sprintf("%s %d %s", told, left, limit)
			}
			if got := b.takenUp(); got != told {
				r.Fatalf("the poll says %q, want %q", got, told)
			}
			return left
		}
		for range rapid.IntRange(1, 6).Draw(r, "polls") {
			show("files")
			poll()
			b.now = b.now.Add(rapid.SampledFrom([]time.Duration{10 * time.Second, time.Minute, 5 * time.Hour, 24 * time.Hour}).Draw(r, "later"))
		}
		for n := 0; poll() > 0; n++ {
			if b.now = b.now.Add(8 * time.Hour); n > 1000 {
				r.Fatal("what the source shows is never taken up whole")
			}
		}
		for day, got := range m.days {
			if m.limits.MaxFilesPerDay > 0 && got.Files > m.limits.MaxFilesPerDay || m.limits.MaxBytesPerDay > 0 && got.Bytes > int64(m.limits.MaxBytesPerDay) && !m.over[day] {
				r.Fatalf("on %s %+v is taken up", day, got)
			}
			if now, _ := m.limits.Day(b.now); day != now {
				continue
			}
			stored, err := control.TakenOn(t.Context(), b.deps.Pool, "src", day)
			if err != nil || stored.Files != got.Files || stored.Bytes != got.Bytes {
				r.Fatalf("control counts %+v on %s (%v), want %+v", stored, day, err, got)
			}
		}
		if got := b.text("SELECT count(*) FROM control.hosting"); got != fmt.Sprint(len(shown)) {
			r.Fatalf("%s of %d files were taken up in the end", got, len(shown))
		}
	})
}
