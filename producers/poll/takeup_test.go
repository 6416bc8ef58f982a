//go:build !race

package poll

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/sql/control"
)

// limited defines src with limits.
func (b *bench) limited(limits config.Source) {
	b.t.Helper()
	limits.ID, limits.Centre, limits.URL = "src", "H", "file:///nowhere"
	b.define(limits)
}

// takenUp is what the last poll's event says of limits: taken files and bytes, how many
// are left, and by which limit.
func (b *bench) takenUp() string {
	b.t.Helper()
	a := b.task().Attributes
	return strings.TrimSpace(strings.Join([]string{a["taken"], a["taken_bytes"], a["postponed"], a["stopped_by"]}, " "))
}

// sized shows files of these sizes, the oldest first.
func sized(sizes ...int64) (entries []remote.Entry) {
	for i, size := range sizes {
		entries = append(entries, remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", 100+i), Size: size, ModTime: noon.Add(time.Duration(i-1000) * time.Minute), Precision: time.Second})
	}
	return entries
}

// Each limit ends what a poll takes up, says so by its name, and lets the rest have its
// turn later: after poll.settle, or when the day is over.
func TestLimitsOfASource(t *testing.T) {
	type step struct {
		after time.Duration
		want  string // taken files and bytes, how many are left, by which limit
		soon  bool   // it is polled again at once
	}
	ten := []int64{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		limits config.Source
		sizes  []int64
		steps  []step
	}{
		"none": {config.Source{}, ten, []step{{0, "10 100", false}, {time.Hour, "0 0", false}}},
		"files of a poll": {config.Source{MaxNew: 4}, ten, []step{
			{0, "4 40 6 files_per_poll", true}, {time.Hour, "4 40 2 files_per_poll", true}, {time.Hour, "2 20", false}}},
		"more files of a poll than the member's default": {config.Source{MaxNew: 9}, append(ten, ten...), []step{{0, "9 90 11 files_per_poll", true}}},
		"bytes of a poll": {config.Source{MaxNewBytes: 39}, ten, []step{
			{0, "3 30 7 bytes_per_poll", true}, {time.Hour, "3 30 4 bytes_per_poll", true}, {time.Hour, "3 30 1 bytes_per_poll", true}, {time.Hour, "1 10", false}}},
		"bytes of a poll that fit exactly": {config.Source{MaxNewBytes: 100}, ten, []step{{0, "10 100", false}}},
		"a file larger than a poll's bytes": {config.Source{MaxNewBytes: 20}, []int64{10, 50, 0, 10, 10}, []step{
			{0, "1 10 4 bytes_per_poll", true}, {time.Hour, "1 50 3 bytes_per_poll", true}, {time.Hour, "3 20", false}}},
		"files of a day": {config.Source{MaxFilesPerDay: 4}, ten, []step{
			{0, "4 40 6 files_per_day", false}, {11 * time.Hour, "0 0 6 files_per_day", false}, {time.Hour, "4 40 2 files_per_day", false}, {day, "2 20", false}}},
		"bytes of a day": {config.Source{MaxBytesPerDay: 45}, ten, []step{
			{0, "4 40 6 bytes_per_day", false}, {time.Hour, "0 0 6 bytes_per_day", false}, {day, "4 40 2 bytes_per_day", false}, {day, "2 20", false}}},
		"a file larger than a day's bytes": {config.Source{MaxBytesPerDay: 45}, []int64{0, 100, 0, 10}, []step{
			{0, "2 100 2 bytes_per_day", false}, {time.Hour, "0 0 2 bytes_per_day", false}, {day, "2 10", false}}},
		"a day in another zone": {config.Source{MaxFilesPerDay: 4, TimeZone: "Asia/Tokyo"}, ten, []step{
			{0, "4 40 6 files_per_day", false}, {2 * time.Hour, "0 0 6 files_per_day", false}, {time.Hour, "4 40 2 files_per_day", false}}},
		"polls within a day": {config.Source{MaxNew: 2, MaxFilesPerDay: 5}, ten, []step{
			{0, "2 20 8 files_per_poll", true}, {time.Hour, "2 20 6 files_per_poll", true}, {time.Hour, "1 10 5 files_per_day", false},
			{time.Hour, "0 0 5 files_per_day", false}, {day, "2 20 3 files_per_poll", true}}},
		"both end at the same file": {config.Source{MaxNew: 2, MaxFilesPerDay: 2}, ten, []step{{0, "2 20 8 files_per_day", false}}},
		"more bytes than there are numbers": {config.Source{MaxNewBytes: 1 << 62, MaxBytesPerDay: 1 << 62}, []int64{1<<63 - 1, 1<<63 - 1, 1<<63 - 1}, []step{
			{0, "1 9223372036854775807 2 bytes_per_day", false}, {time.Hour, "0 0 2 bytes_per_day", false}, {day, "1 9223372036854775807 1 bytes_per_day", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.once, b.cfg.MaxNew = true, 8
			if c.limits.MaxNew == 0 {
				b.cfg.MaxNew = 1000
			}
			b.limited(c.limits)
			b.server.dirs["add"] = sized(c.sizes...)
			for i, s := range c.steps {
				b.now = b.now.Add(s.after)
				b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Hour))
				if got := b.listing(); got != "complete" {
					t.Fatalf("poll %d ended %s", i+1, got)
				}
				if got := b.takenUp(); got != s.want {
					t.Errorf("poll %d took up %q, want %q", i+1, got, s.want)
				}
				if got := b.text("SELECT next_due = $1 FROM control.source", b.now.Add(b.cfg.Settle.D())) == "true"; got != s.soon {
					t.Errorf("after poll %d the source is due at once: %v, want %v", i+1, got, s.soon)
				}
				limit := strings.Join(strings.Fields(s.want)[min(3, len(strings.Fields(s.want))):], "")
				if got := b.text("SELECT stopped_by FROM control.poll ORDER BY started_at DESC, id LIMIT 1"); got != limit && i == 0 {
					t.Errorf("poll %d is stored as stopped by %q, want %q", i+1, got, limit)
				}
			}
		})
	}
}

// A file that still grows counts once, by its last size, however often it is seen
// growing; and it does not count anew on the day after.
func TestAGrowingFileCountsOnce(t *testing.T) {
	b := newBench(t)
	b.limited(config.Source{MaxFilesPerDay: 10, MaxBytesPerDay: 1000})
	for _, size := range []int64{10, 30, 20, 60} {
		b.server.show(good, size)
		b.listing()
		b.now = b.now.Add(time.Second)
	}
	b.is("what was taken up", "SELECT files, bytes FROM control.source_day", "1 70") // 10, 20 more, none more, 40 more
	b.now = b.now.Add(24 * time.Hour)
	b.server.show(good, 100)
	b.listing()
	b.is("what grows on the next day", "SELECT files, bytes FROM control.source_day ORDER BY day DESC LIMIT 1", "0 40")
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.is("it has settled", "SELECT settled FROM control.hosting", "true")
	b.server.show(good, 101)
	b.listing()
	b.is("a change after that", "SELECT files, bytes FROM control.source_day ORDER BY day DESC LIMIT 1", "1 141")
}

// What a source shows again and again and may not show has no turn beyond its first,
// and keeps nothing from having its own.
func TestWhatIsRefusedKeepsNoTurns(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.limited(config.Source{MaxNew: 3, MaxFilesPerDay: 8})
	b.server.show(good, 10)
	for i := range 4 {
		b.server.showIn("delete", strings.Replace(foreign, "2024", fmt.Sprint(2020+i), 1), 9)
	}
	b.server.dirs["delete"][3].Invalid, b.server.dirs["delete"][3].Message = "entry_invalid", "no size"
	for i, want := range []string{"3 29 2 files_per_poll", "2 18", "0 0"} {
		b.listing()
		if got := b.takenUp(); i == 0 && !strings.HasSuffix(got, " 2 files_per_poll") || i > 0 && got != want {
			t.Errorf("poll %d took up %q, want %q", i+1, got, want)
		}
		b.now = b.now.Add(time.Minute)
	}
	for i := range 3 {
		b.server.show(good, int64(20+i))
		b.listing()
		if got, want := b.takenUp(), fmt.Sprintf("1 %d", 20+i); got != want {
			t.Errorf("a change was taken up as %q, want %q", got, want)
		}
		if got := b.task().Attributes["rejected"]; got != "4" {
			t.Errorf("%s are counted as rejected, want all four", got)
		}
		b.now = b.now.Add(time.Minute)
	}
}

// What a source may no longer show is refused at once, though the day's limit is
// reached, and counts for nothing: it shows no new look.
func TestWhatIsRefusedFromNowOnCountsNothing(t *testing.T) {
	b := newBench(t)
	b.once = true
	mirror := config.Source{Hosts: config.Hosts{{Centre: "J"}}, MaxFilesPerDay: 1}
	b.limited(mirror)
	b.server.showIn("delete", foreign, 9)
	b.listing()
	mirror.Hosts = nil
	b.limited(mirror)
	b.now = b.now.Add(time.Minute)
	b.listing()
	if got := b.takenUp(); got != "0 0" {
		t.Errorf("it is taken up as %q", got)
	}
	b.is("the file and the day", "SELECT state, (SELECT files FROM control.source_day) FROM control.hosting", "gone 1")
}

// What others announce counts for the day, and is not refused because of it.
func TestAnnouncedFilesCount(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.limited(config.Source{MaxFilesPerDay: 2})
	n := b.announcer()
	for i := range 3 {
		v, _ := b.announce(n, func(a *control.Announcement) { a.Name = fmt.Sprintf("H.2026-01-02.%d.impc.zip", 500+i) })
		if !v.TakenUp {
			t.Errorf("announcement %d became %+v", i+1, v)
		}
		b.announce(n, func(a *control.Announcement) { a.Name = fmt.Sprintf("H.2026-01-02.%d.impc.zip", 500+i) })
	}
	b.is("what was taken up", "SELECT files FROM control.source_day", "3")
	b.server.dirs["add"] = sized(10)
	b.listing()
	if got, want := b.takenUp(), "0 0 1 files_per_day"; got != want {
		t.Errorf("the poll after that took up %q, want %q", got, want)
	}
}

// A poll that is taken again, since its member was lost between two chunks, goes on with
// what is left of its limits: what was recorded before counts once.
func TestAPollThatIsTakenAgainCountsOnce(t *testing.T) {
	for name, limits := range map[string]config.Source{
		"files of a poll": {MaxNew: 2500},
		"bytes of a poll": {MaxNewBytes: 25_000},
		"files of a day":  {MaxFilesPerDay: 2500},
		"bytes of a day":  {MaxBytesPerDay: 25_000},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.once = true
			b.limited(limits)
			b.server.dirs["add"], _ = flood(3000)
			b.session()
			p, _ := b.take()
			lost, clock := false, b.deps.Now
			b.deps.Now = func() time.Time {
				if !lost && b.text("SELECT count(*) FROM control.look") == fmt.Sprint(chunk) {
					lost = true
					b.exec("UPDATE control.poll SET epoch = epoch + 1, lease_until = clock_timestamp() - interval '1 s'")
				}
				return clock()
			}
			b.one(t.Context(), p)
			b.deps.Now = clock
			b.is("what the first member recorded", "SELECT count(*), (SELECT files FROM control.source_day) FROM control.look", fmt.Sprint(chunk, chunk))
			p, ok := b.take()
			if !ok {
				t.Fatal("the poll can't be taken again")
			}
			b.clear()
			b.one(t.Context(), p)
			b.is("looks, what is counted of them, and the day", "SELECT count(*), (SELECT taken FROM control.poll), (SELECT taken_bytes FROM control.poll), (SELECT files FROM control.source_day), (SELECT bytes FROM control.source_day) FROM control.look", "2500 2500 25000 2500 25000")
			if got := b.takenUp(); !strings.HasPrefix(got, "2500 25000 500 ") {
				t.Errorf("the event says %q", got)
			}
		})
	}
}

// The event of a poll says of which revision of its source it was.
func TestAPollSaysOfWhichRevision(t *testing.T) {
	b := newBench(t)
	b.exec("UPDATE control.source SET revision = 47")
	b.listing()
	if d := cmp.Diff("47", b.task().Attributes["revision"]); d != "" {
		t.Errorf("revision (- want, + got):\n%s", d)
	}
}
