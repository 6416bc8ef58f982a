package poll

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

const (
	good  = "H.2026-01-02.1.impc.zip"
	good2 = "H.2026-01-02.2.impc.zip"
	bad   = "H-2026-01-02.zip"
)

// says compares what a listing told with what it must tell.
func (b *bench) says(want ...string) {
	b.t.Helper()
	if d := cmp.Diff(want, b.said()); d != "" {
		b.t.Errorf("events differ (- want, + got):\n%s", d)
	}
}

// A file is announced when it has looked the same for long enough by our own
// clock; what changes is a new look that settles anew.
func TestAFileSettlesBeforeItIsAnnounced(t *testing.T) {
	b := newBench(t)
	settle := b.cfg.Settle.D()
	b.server.show(good, 10)
	if got := b.listing(); got != "complete" {
		t.Fatalf("the poll ended %s", got)
	}
	b.says("file "+good+" zip_name done", "hosting "+good+" look 1 present unsettled", "task done")
	if due := b.text("SELECT next_due FROM control.source"); due != b.now.Add(settle).String() {
		t.Errorf("the source is due %s, though a file settles before", due)
	}

	b.now = b.now.Add(settle - time.Second)
	b.listing()
	b.says("task done")

	b.server.show(good, 20)
	b.listing()
	b.says("hosting "+good+" look 2 present unsettled", "task done")

	b.now = b.now.Add(settle - time.Second)
	b.listing()
	b.says("task done")

	b.now = b.now.Add(time.Second)
	b.listing()
	b.says("hosting "+good+" look 2 present", "discovered "+good+" look 2 new", "task done")
	if got := b.text("SELECT look, class FROM control.look ORDER BY look"); got != "1 superseded\n2 announced" {
		t.Errorf("looks are:\n%s", got)
	}

	b.now = b.now.Add(time.Hour)
	b.listing()
	b.says("task done")

	b.server.show(good, 30)
	b.once = true
	b.listing()
	b.says("hosting "+good+" look 3 present", "discovered "+good+" look 3 changed", "task done")
	if got := b.text("SELECT look, class FROM control.look ORDER BY look"); got != "1 superseded\n2 announced\n3 announced" {
		t.Errorf("looks are:\n%s", got)
	}
}

func TestAnAnnouncementSaysWhatPlanNeeds(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.listing()
	var d *schemas.FileDiscovered
	for _, m := range b.events() {
		if body, ok := m.Body.(*schemas.FileDiscovered); ok {
			d = body
			if m.Key != body.File || m.Subject != "add/"+good {
				t.Errorf("key %q, subject %q", m.Key, m.Subject)
			}
		}
	}
	want := b.text("SELECT id FROM control.session")
	if d == nil || d.File != schemas.FileID("add", good) || d.Session == "" || d.Centre != "H" || d.Source != "src" || d.Size != 10 || d.ListedAt == nil || !d.ListedAt.Equal(noon) ||
		d.ModTime == nil || !d.ModTime.Equal(noon.Add(-time.Hour)) {
		t.Errorf("announcement is %+v in session %s", d, want)
	}
	if got := b.text("SELECT centre, file_date::text, file_inc, exception FROM control.file"); got != "H 2026-01-02 1 " {
		t.Errorf("file is %q", got)
	}
}

// The same time by another precision or zone is the same look; another time is
// another look, and so is a time where there was none.
func TestATimeOfItsOwnMakesALook(t *testing.T) {
	b := newBench(t)
	b.once = true
	set := func(at time.Time) {
		b.server.dirs["add"] = []remote.Entry{{Name: good, Size: 10, ModTime: at}}
	}
	at := noon.Add(-time.Hour)
	for _, step := range []struct {
		at   time.Time
		look string
	}{{at, "1"}, {at.In(time.FixedZone("x", 3600)), "1"}, {at.Add(100 * time.Nanosecond), "1"}, {at.Add(time.Second), "2"}, {time.Time{}, "3"}, {time.Time{}, "3"}, {at, "4"}} {
		set(step.at)
		b.listing()
		if got := b.text("SELECT look FROM control.hosting"); got != step.look {
			t.Fatalf("at %v the look is %s, want %s", step.at, got, step.look)
		}
	}
}

func TestNamesAreJudgedAgainWhenCentresChange(t *testing.T) {
	b := newBench(t)
	b.hosts(config.Hosts{{Centre: "Xyz"}})
	const strange = "Xyz.2026-01-02.1.impc.zip"
	b.server.show(bad, 10)
	b.server.show(strange, 10)
	b.listing()
	got := strings.Join(b.said(), "\n")
	for _, want := range []string{"file " + bad + " zip_name failed zip_name_pattern", "file " + strange + " zip_name failed zip_name_centre", "hosting " + bad + " look 1 present", "task done"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "discovered") {
		t.Errorf("a file that breaks the convention is announced:\n%s", got)
	}
	if got := b.text("SELECT class, count(*) FROM control.look GROUP BY 1"); got != "rejected 2" {
		t.Errorf("looks: %s", got)
	}
	b.listing()
	b.says("task done")

	b.centres([]config.Centre{{ShortName: "Xyz"}})
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.says("file "+strange+" zip_name done", "hosting "+strange+" look 1 present", "discovered "+strange+" look 1 new", "task done")
	if got := b.text("SELECT centre, exception FROM control.file WHERE name = $1", strange); got != "Xyz " {
		t.Errorf("file is %q", got)
	}
	b.listing()
	b.says("task done")
}

func TestGoneAfterCompleteListingsOnly(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.server.show(good2, 10)
	b.listing()
	b.server.hide(good)

	// Listings that broke off or failed conclude nothing, however many (L10).
	for range 2 * b.cfg.GoneAfter {
		b.server.fail = &remote.Error{Op: "list", Err: errors.New("lost")}
		b.cfg.Attempts = 1
		if got := b.listing(); got != "broken_off" {
			t.Fatalf("the poll ended %s", got)
		}
		b.says("task failed transfer_failed")
		b.server.fail, b.server.dial = nil, &remote.Error{Op: "connect", Err: errors.New("refused")}
		if got := b.listing(); got != "failed" {
			t.Fatalf("the poll ended %s", got)
		}
		b.server.dial = nil
	}
	if got := b.text("SELECT DISTINCT state, misses FROM control.hosting"); got != "present 0" {
		t.Fatalf("hostings are %q", got)
	}
	// A grace count of complete ones, in a row.
	b.listing()
	b.says("task done")
	b.server.show(good, 10)
	b.listing()
	b.says("task done")
	b.server.hide(good)
	for range b.cfg.GoneAfter - 1 {
		b.listing()
		b.says("task done")
	}
	b.listing()
	b.says("discovered "+good+" look 1 gone", "hosting "+good+" look 1 gone", "task done")
	b.listing()
	b.says("task done")
	if got := b.text("SELECT state FROM control.hosting WHERE name = $1", good2); got != "present" {
		t.Errorf("the other file is %s", got)
	}
	// It is there again: a new look.
	b.server.show(good, 10)
	b.listing()
	b.says("hosting "+good+" look 2 present", "discovered "+good+" look 2 new", "task done")
}

// However many files vanish at once, they are taken chunk by chunk, and each is
// told of once.
func TestManyFilesGoneAreTakenInChunks(t *testing.T) {
	b := newBench(t)
	b.cfg.GoneAfter = 1
	const many = 2*chunk + 1
	b.exec(`INSERT INTO control.file (id, name, action, centre) SELECT md5(n::text)::uuid, n || '.zip', 'add', 'H' FROM generate_series(1, $1) n`, many)
	b.exec(`INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state, misses)
		SELECT 'src', id, action, name, 1, 1, now(), true, 'present', 0 FROM control.file`)
	b.session()
	p, ok := b.take()
	if !ok {
		t.Fatal("no poll is due")
	}
	tx, err := b.deps.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := zero
	for _, want := range []int{chunk, chunk, 1, 0} {
		files, err := control.MarkGone(t.Context(), tx, p, 0, after, chunk)
		if err != nil || len(files) != want {
			t.Fatalf("%d files at once, want %d: %v", len(files), want, err)
		}
		if want > 0 {
			after = files[want-1].File
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.cfg.MaxMissingShare = 1
	b.one(t.Context(), p)
	told := map[string]int{}
	for _, m := range b.events() {
		told[m.Topic+m.Key]++
	}
	if want := 2*many + 1; len(told) != want { // the task's end beside
		t.Errorf("%d events, want %d", len(told), want)
	}
	if got := b.text("SELECT DISTINCT state FROM control.hosting"); got != "gone" {
		t.Errorf("the files are %q", got)
	}
}

func TestAnUnsettledFileThatGoesIsGone(t *testing.T) {
	b := newBench(t)
	b.server.show(good, 10)
	b.listing()
	b.server.hide(good)
	for range b.cfg.GoneAfter {
		b.listing()
	}
	if got := b.text("SELECT class FROM control.look"); got != "gone" {
		t.Errorf("the look is %s", got)
	}
}

// What a listing showed before it broke off is recorded.
func TestABrokenOffListingRecordsWhatItShowed(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.server.fail = &remote.Error{Op: "list", Err: errors.New("lost")}
	b.cfg.Attempts = 1
	if got := b.listing(); got != "broken_off" {
		t.Fatalf("the poll ended %s", got)
	}
	b.says("file "+good+" zip_name done", "hosting "+good+" look 1 present", "discovered "+good+" look 1 new", "task failed transfer_failed")
}

func TestMissingDirectoriesAreEmptyOnes(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.dirs = map[string][]remote.Entry{"edit": {{Name: good, Size: 1}}}
	if got := b.listing(); got != "complete" {
		t.Fatalf("the poll ended %s", got)
	}
	if got := b.text("SELECT action, name FROM control.file"); got != "edit "+good {
		t.Errorf("files: %q", got)
	}
}

// A poll ends always, within a budget.
func TestAPollWhoseTimeIsUpIsBrokenOff(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shown bool
		want  string
	}{{"after some entries", true, "broken_off"}, {"before any", false, "failed"}} {
		t.Run(tt.name, func(t *testing.T) {
			var b *bench
			wait.Longer(t, 700*time.Millisecond, func(limit time.Duration) error {
				b = newBench(t)
				b.once = true
				b.cfg.Timeout = config.Duration(limit)
				if tt.shown {
					b.server.show(good, 10)
				}
				b.server.hang = true
				if got := b.listing(); got != tt.want {
					return fmt.Errorf("the poll is %s", got)
				}
				return nil
			})
			if got := b.text("SELECT exception FROM control.poll"); got != "poll_timed_out" {
				t.Errorf("because of %q", got)
			}
			if tt.shown && b.text("SELECT count(*) FROM control.look WHERE class = 'announced'") != "1" {
				t.Error("what it showed is lost")
			}
			if b.text("SELECT polls_ended_at IS NOT NULL FROM control.session") != "true" {
				t.Error("its session waits for it")
			}
		})
	}
}

func TestAListingIsTriedAgainWithinItsSession(t *testing.T) {
	b := newBench(t)
	b.server.dial = &remote.Error{Op: "connect", Err: errors.New("refused")}
	b.session()
	for n := 1; n <= b.cfg.Attempts; n++ {
		p, ok := b.take()
		if !ok {
			t.Fatalf("attempt %d can't be taken", n)
		}
		b.clear()
		b.one(t.Context(), p)
		state := b.text("SELECT state, attempts FROM control.poll")
		if n < b.cfg.Attempts {
			if state != "due "+string(rune('0'+n)) {
				t.Fatalf("after attempt %d: %s", n, state)
			}
			if _, ok := b.take(); ok {
				t.Fatal("the next attempt does not wait")
			}
			b.says()
			b.now = b.now.Add(time.Minute)
			continue
		}
		if !strings.HasPrefix(state, "failed") {
			t.Fatalf("after the last attempt: %s", state)
		}
	}
	b.says("task failed transfer_failed")
	if got := b.text("SELECT failures, next_due > $1 FROM control.source", b.now); got != "1 true" {
		t.Errorf("source is %s", got)
	}
}

func TestServersMayAnswerInAnyEncoding(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts = 1
	b.server.dial = &remote.Error{Op: "login", Err: errors.New("acc\xe8s refus\xe9\x00")}
	if got := b.listing(); got != "failed" {
		t.Fatalf("the poll is %s", got)
	}
	b.server.dial, b.once = nil, true
	for _, name := range []string{"H\xff.zip", "a\x01\x00b.zip", "ü\u202e.zip", noise(9000) + ".zip", "%FF.zip", "A.ZIP", "\"\\\n.zip"} {
		b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: name, Size: 1})
	}
	if got := b.listing(); got != "complete" {
		t.Fatalf("the poll is %s", got)
	}
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityFile && e.Status != "failed" {
			t.Errorf("%q is accepted", e.FileName)
		}
	}
}

// noise is a long text that does not compress.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + rng.IntN(90))
	}
	return string(b)
}

func TestOnlyZipsAreOurs(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.dirs["add"] = []remote.Entry{
		{Name: good, Size: 1}, {Name: good + ".md5", Size: 1}, {Name: good2, Kind: remote.Dir}, {Name: "H.2026-01-02.3.impc.zip", Kind: remote.Other}, {Name: "readme.txt"}, {Name: "zip"}, {Name: good, Size: 2},
		{Name: "-rw-r--r-- 1 a b what " + good2, Size: -1, Kind: remote.Other, Unreadable: true},
	}
	b.listing()
	if got := b.text("SELECT name, size FROM control.hosting"); got != good+" 1" {
		t.Errorf("hostings: %q", got)
	}
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask {
			want := map[string]string{"listed": "1", "ignored": "7", "new": "1", "changed": "0", "unsettled": "0", "rejected": "0", "gone": "0", "largest": "1",
				"taken": "1", "taken_bytes": "1", "revision": "1",
				"ignored_not_zip": "3", "ignored_directory": "1", "ignored_not_a_regular_file": "1", "ignored_line_unreadable": "1", "ignored_repeated": "1",
				"ignored_names": `"add/` + good + `.md5" "add/` + good2 + `" "add/H.2026-01-02.3.impc.zip" "add/readme.txt" "add/zip" "add/-rw-r--r-- 1 a b what ` + good2 + `" "add/` + good + `"`}
			if d := cmp.Diff(want, e.Attributes); d != "" {
				t.Errorf("counts differ (- want, + got):\n%s", d)
			}
		}
	}
}

func TestADirectoryOfTooManyEntries(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.cfg.MaxEntries = 1
	b.server.show(good, 10)
	b.server.show(good2, 10)
	if got := b.listing(); got != "broken_off" {
		t.Fatalf("the poll is %s", got)
	}
	if got := b.text("SELECT exception FROM control.poll"); got != "listing_too_long" {
		t.Errorf("because of %q", got)
	}
}

// A poll that another member took over writes nothing more.
func TestAPollTakenOverIsSilent(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.session()
	p, _ := b.take()
	b.server.after = func() { b.exec("UPDATE control.poll SET lease_until = '-infinity'") }
	var q control.Poll
	taken := b.server.after
	b.server.after = func() {
		taken()
		q, _ = b.take()
	}
	b.one(t.Context(), p)
	if q.Epoch != p.Epoch+1 {
		t.Fatalf("epochs %d and %d", p.Epoch, q.Epoch)
	}
	if b.text("SELECT count(*) FROM control.outbox") != "0" || b.text("SELECT count(*) FROM control.file") != "0" || b.text("SELECT state FROM control.poll") != "running" {
		t.Error("the member that lost the poll went on")
	}
	b.server.after = nil
	b.one(t.Context(), q)
	b.says("file "+good+" zip_name done", "hosting "+good+" look 1 present", "discovered "+good+" look 1 new", "task done")
}

// Stopping gives the poll back at once.
func TestStoppingGivesThePollBack(t *testing.T) {
	b := newBench(t)
	b.session()
	p, _ := b.take()
	ctx, cancel := context.WithCancel(t.Context())
	b.server.hang = true
	b.server.after = cancel
	b.one(ctx, p)
	if got := b.text("SELECT state FROM control.poll"); got != "due" {
		t.Fatalf("the poll is %s", got)
	}
	if _, ok := b.take(); !ok {
		t.Error("another member has to wait for it")
	}
}

// A crash between chunks repeats them: the same events again, with the same
// ids, and no other rows.
func TestARepeatedPollTellsTheSame(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.server.show(bad, 10)
	b.listing()
	ids := func() map[string]bool {
		out := map[string]bool{}
		for _, m := range b.events() {
			if e, ok := m.Body.(*schemas.StatusChanged); !ok || e.Entity != schemas.EntityTask {
				out[m.ID] = true
			}
		}
		return out
	}
	first := ids()
	b.exec("TRUNCATE control.file, control.hosting, control.look CASCADE")
	b.listing()
	if d := cmp.Diff(first, ids()); d != "" {
		t.Errorf("ids differ:\n%s", d)
	}
}

func TestRunListsWhatIsDue(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.session()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	deadline, stop := context.WithTimeout(t.Context(), wait.Patience())
	defer stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.text("SELECT state FROM control.poll") != "complete" {
		select {
		case <-deadline.Done():
			t.Fatal("the poll never ends")
		case <-tick.C:
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server that must be asked for each file's time is asked for those that are
// known once in a while, and always for what is new or has gone.
func TestWhatIsKnownOfAListing(t *testing.T) {
	b := newBench(t)
	const files = 500
	for i := range files {
		b.server.show(fmt.Sprintf("H.2026-02-01.%d.impc.zip", i+1), int64(i))
	}
	ask := func() (known int) {
		b.server.after = func() {
			entries := append(slices.Clone(b.server.dirs["add"]), remote.Entry{Name: "new.zip", Size: 7})
			got, err := b.server.known("add", entries)
			if err != nil {
				t.Error(err)
				return
			}
			for i, k := range got {
				if k.Name == "" {
					continue
				}
				known++
				if e := entries[i]; k.Name != e.Name || k.Size != e.Size || !k.ModTime.Equal(e.ModTime) {
					t.Errorf("of %+v is known %+v", e, k)
				}
			}
		}
		if got := b.listing(); got != "complete" {
			t.Fatalf("the poll ended %s", got)
		}
		b.server.after = nil
		return known
	}
	if n := ask(); n != 0 {
		t.Errorf("%d are known before they were listed", n)
	}
	// One in 24 is forgotten, by chance: of 500, neither none nor more than 60.
	if n := ask(); n < files-60 || n >= files {
		t.Errorf("%d of %d are known", n, files)
	}
	b.exec("UPDATE control.hosting SET state = 'gone'")
	if n := ask(); n != 0 {
		t.Errorf("%d that were gone are known", n)
	}
}
