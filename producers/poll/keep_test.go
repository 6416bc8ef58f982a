package poll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/consumers/tracker"
	"tributary/internal/blob"
	"tributary/internal/listing"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	trackersql "tributary/sql/tracker"
)

// keeper is a bench whose poller keeps listings, with a tracker that reads how the
// polls ended.
type keeper struct {
	*bench
	blobs   *blob.Dir
	tracker *tracker.Writer
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	b := newBenchOn(t, controltest.Guarded(t, 8, "and tracker", trackersql.Migrate))
	b.once, b.cfg.Attempts = true, 1
	blobs, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	b.deps.Blobs = blobs
	return &keeper{b, blobs, tracker.NewWriter("tracker")}
}

// polls lists the source, and has the tracker read how that ended.
func (k *keeper) polls() *schemas.StatusChanged {
	k.t.Helper()
	k.listing()
	e := k.task()
	err := pg.InTx(k.t.Context(), k.deps.Pool, func(tx pgx.Tx) error {
		_, err := k.tracker.Write(k.t.Context(), tx, []tracker.Event{{StatusChanged: *e, At: k.now}})
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return e
}

// polledBy is the poll whose listing was current at a moment.
func (k *keeper) polledBy(at time.Time, brokenOff bool) *report.Polled {
	k.t.Helper()
	p, err := report.PolledBy(k.t.Context(), k.deps.Pool, "src", at, brokenOff)
	if err != nil {
		k.t.Fatal(err)
	}
	return p
}

// at is what the source showed, by the listing that was current at a moment.
func (k *keeper) at(at time.Time, brokenOff bool) []listing.Entry {
	k.t.Helper()
	p := k.polledBy(at, brokenOff)
	if p == nil {
		return nil
	}
	r, err := listing.Open(k.t.Context(), k.blobs, p.Listing)
	if err != nil {
		k.t.Fatalf("the listing of %s: %v", p.At, err)
	}
	defer r.Close()
	var all []listing.Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			k.t.Fatal(err)
		}
		all = append(all, e)
	}
}

// shown are the server's entries as a listing has them.
func (k *keeper) shown() []listing.Entry {
	all := []listing.Entry{}
	for dir, entries := range k.server.dirs {
		for _, e := range entries {
			x := listing.Entry{Directory: dir, Name: KeptName(e.Name), Size: e.Size}
			if !e.ModTime.IsZero() {
				x.ModTime = &e.ModTime
			}
			switch {
			case e.Kind == remote.Dir:
				x.Size, x.ModTime, x.Note = -1, nil, "directory"
			case !strings.HasSuffix(e.Name, ".zip"):
				x.Note = "not_zip"
			}
			all = append(all, x)
		}
	}
	slices.SortFunc(all, listing.Compare)
	return all
}

// fill shows so many files that one more is less than a quarter of them.
func (k *keeper) fill() {
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range 300 {
		k.server.show(fmt.Sprintf("H.2026-01-03.%d.impc.zip", i+1), rng.Int64())
	}
}

// change does something to the directories at random.
func (k *keeper) change(rng *rand.Rand) {
	dir := []string{"add", "edit", "delete"}[rng.IntN(3)]
	at := noon.Add(-time.Duration(rng.IntN(1e6)) * time.Second)
	entries := k.server.dirs[dir]
	one := -1
	if len(entries) > 0 {
		one = rng.IntN(len(entries))
	}
	switch op := rng.IntN(10); {
	case op < 5:
		e := remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", rng.IntN(100)), Size: rng.Int64N(4), ModTime: at, Precision: time.Second}
		switch rng.IntN(12) {
		case 0:
			e.Name = []string{"readme.txt", "two\nlines.zip", "\xff\xfe.zip", "100%.zip", "a\tb", "ü\u202e.zip", strings.Repeat("x", 3000) + ".zip", "\x1b[31m"}[rng.IntN(8)]
		case 1:
			e.Name, e.Kind, e.ModTime = fmt.Sprint("old", rng.IntN(3)), remote.Dir, k.now
		}
		if i := slices.IndexFunc(entries, func(o remote.Entry) bool { return o.Name == e.Name }); i >= 0 {
			entries[i] = e // uploaded again
			return
		}
		k.server.dirs[dir] = append(entries, e)
	case one < 0:
	case op < 7:
		k.server.dirs[dir] = slices.Delete(entries, one, one+1)
	case op < 8 && entries[one].Kind != remote.Dir:
		entries[one].Size++
	case entries[one].Kind != remote.Dir:
		entries[one].ModTime = at
	}
}

var equateNone = cmp.Transformer("nil", func(s []listing.Entry) []listing.Entry { return append([]listing.Entry{}, s...) })

// knowsItsBlobs holds that the blobs are those that control knows.
func (k *keeper) knowsItsBlobs() {
	k.t.Helper()
	var names []string
	if err := k.blobs.List(k.t.Context(), func(name string, _ int64) error { names = append(names, name); return nil }); err != nil {
		k.t.Fatal(err)
	}
	slices.Sort(names)
	known, err := control.KnownBlobs(k.t.Context(), k.deps.Pool, "")
	if err != nil {
		k.t.Fatal(err)
	}
	if d := cmp.Diff(strings.Join(known, "\n"), strings.Join(names, "\n")); d != "" {
		k.t.Errorf("blobs (- known, + there):\n%s", d)
	}
}

// What shows the same as before costs nothing: its event names the blob that is there.
func TestAnUnchangedListingIsKeptOnce(t *testing.T) {
	k := newKeeper(t)
	k.server.show(good, 10)
	first := k.polls().Attributes["listing"]
	k.now = k.now.Add(time.Hour)
	if again := k.polls().Attributes["listing"]; again != first || first == "" {
		t.Errorf("the second listing is kept as %s, the first as %s", again, first)
	}
	if got := k.text("SELECT count(*), max(listed_at) FROM control.listing"); got != fmt.Sprint("1 ", k.now) {
		t.Errorf("control knows: %s", got)
	}
}

// A listing that can't be written is no fault of its source: the poll is complete and
// says so, and the next one is kept.
func TestAListingThatCantBeKeptIsStillAPoll(t *testing.T) {
	k := newKeeper(t)
	k.server.show(good, 10)
	k.deps.Blobs = fullStore{k.blobs}
	e := k.polls()
	if e.Note != "complete" || e.Attributes["listing"] != "" || !strings.Contains(e.Attributes["listing_not_kept"], "blob store is full") || e.Attributes["new"] != "1" {
		t.Errorf("the poll ended %s: %v", e.Note, e.Attributes)
	}
	k.deps.Blobs = k.blobs
	k.deps.Space = blob.NewSpace(func() (blob.Usage, error) { return blob.Usage{Free: 1, Total: 1 << 40}, nil }, 1<<30, 0.05, "/blobs", k.deps.Log)
	if e = k.polls(); e.Note != "complete" || !strings.Contains(e.Attributes["listing_not_kept"], "low disk") {
		t.Errorf("on a low disk the poll ended %s: %v", e.Note, e.Attributes)
	}
	k.deps.Space = nil
	if e = k.polls(); e.Attributes["listing"] == "" {
		t.Errorf("the next one is not kept: %v", e.Attributes)
	}
	k.knowsItsBlobs()
}

type fullStore struct{ *blob.Dir }

func (s fullStore) Create(ctx context.Context) (blob.Writer, error) {
	w, err := s.Dir.Create(ctx)
	return fullWriter{w}, err
}

type fullWriter struct{ blob.Writer }

func (fullWriter) Write([]byte) (int, error) { return 0, blob.ErrFull }

// What shows the same is compared with what control knows of the last listing: its blob
// is neither read nor written, but once a minute, and always by who never read it.
func TestAnUnchangedListingIsSeldomRead(t *testing.T) {
	k := newKeeper(t)
	blobs := &countingStore{Dir: k.blobs}
	k.deps.Blobs = blobs
	k.server.dirs["add"] = append(k.server.dirs["add"], remote.Entry{Name: "readme.txt", Size: 3})
	k.server.show(good, 10)
	first := k.polls().Attributes["listing"]
	for i, tc := range []struct {
		name   string
		after  time.Duration
		change func()
		reads  bool
	}{
		{name: "soon", after: time.Second},
		{name: "just before a minute is over", after: 58 * time.Second},
		{name: "a minute after it was written", after: time.Second, reads: true},
		{name: "soon after it was read", after: time.Second},
		{name: "our clock goes back", after: -time.Hour, reads: true},
		{name: "another member", after: time.Second, change: func() { k.Poller = New(k.cfg, k.deps) }, reads: true},
		{name: "another listing", after: time.Second, change: func() { k.server.show(good, 11) }, reads: true},
		{name: "the first again", after: time.Second, change: func() { k.server.show(good, 10) }, reads: true},
		{name: "the first once more", after: time.Second},
	} {
		if tc.change != nil {
			tc.change()
		}
		k.now = k.now.Add(tc.after)
		before := blobs.used
		e := k.polls()
		if e.Attributes["listing"] == "" || tc.change == nil && i < 4 && e.Attributes["listing"] != first {
			t.Errorf("%s: the event says %v, the first listing was %s", tc.name, e.Attributes, first)
		}
		if got := blobs.used > before; got != tc.reads {
			t.Errorf("%s: blobs were used: %t", tc.name, got)
		}
		if got := k.text("SELECT max(listed_at) FROM control.listing WHERE sha256 = $1", e.Attributes["listing"]); tc.after > 0 && i < 4 && got != fmt.Sprint(k.now) {
			t.Errorf("%s: it was shown last at %s", tc.name, got)
		}
		if d := cmp.Diff(k.shown(), k.at(k.now, false)); tc.after > 0 && d != "" {
			t.Errorf("%s (- shown, + kept):\n%s", tc.name, d)
		}
	}
}

// countingStore counts how often blobs are made or opened.
type countingStore struct {
	*blob.Dir
	used int
}

func (s *countingStore) Create(ctx context.Context) (blob.Writer, error) {
	s.used++
	return s.Dir.Create(ctx)
}

func (s *countingStore) Open(ctx context.Context, name string) (blob.Blob, error) {
	s.used++
	return s.Dir.Open(ctx, name)
}

// Where the last listing is damaged, the next is kept whole, though it shows the same.
func TestADamagedListingIsNoBase(t *testing.T) {
	k := newKeeper(t)
	k.fill()
	k.polls()
	k.server.show(good, 11)
	k.now = k.now.Add(time.Hour)
	second := k.polls().Attributes["listing"]
	if got := k.text("SELECT count(base) FROM control.listing WHERE sha256 = $1", second); got != "1" {
		t.Fatal("the second listing is kept whole")
	}
	path := filepath.Join(k.blobs.Path(), second[:2], second)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.now = k.now.Add(time.Hour)
	k.polls()
	if d := cmp.Diff(k.shown(), k.at(k.now, false)); d != "" {
		t.Errorf("after the damage (- want, + got):\n%s", d)
	}
	if _, err := listing.Open(t.Context(), k.blobs, second); !errors.Is(err, blob.ErrDamaged) || !strings.Contains(err.Error(), second) {
		t.Errorf("the damaged one: %v", err)
	}
}

// Old listings are deleted with their blobs, of whatever source, but for one from which
// a younger one differs; so are the oldest of a source that has too many bytes.
func TestOldListingsAreDeleted(t *testing.T) {
	k := newKeeper(t)
	k.cfg.KeepListings = 24 * 3600e9
	k.fill()
	begun := k.now
	k.polls()
	k.exec("INSERT INTO control.listing VALUES (repeat('0', 64), 'other', NULL, '', 1, 1, $1), (repeat('1', 64), 'other', NULL, '', 1, 1, $1 + interval '25 hours')", k.now)
	for i := range 3 {
		k.now = k.now.Add(12 * time.Hour)
		k.server.show(good, int64(i+1))
		k.polls()
	}
	// The first is the base of the younger ones; the second was shown exactly a day ago.
	if got := k.text("SELECT count(*), count(base), count(*) FILTER (WHERE source <> 'src') FROM control.listing"); got != "5 3 1" {
		t.Errorf("listings, differences, and of the other source: %s", got)
	}
	k.now = k.now.Add(12 * time.Hour)
	k.polls()
	if got := k.text("SELECT count(*), count(base), min(listed_at) FROM control.listing WHERE source = 'src'"); got != fmt.Sprint("3 2 ", begun) {
		t.Errorf("listings and differences a day after the second: %s", got)
	}
	k.exec("DELETE FROM control.listing WHERE source = 'other'")
	k.knowsItsBlobs()

	k.now = k.now.Add(time.Hour)
	k.exec("UPDATE control.listing SET bytes = $1 WHERE base IS NULL", mostKept/2)
	k.server.show(good2, 1)
	k.exec("UPDATE control.listing SET bytes = $1 WHERE base IS NOT NULL AND listed_at = (SELECT max(listed_at) FROM control.listing)", mostKept)
	k.polls()
	if got := k.text("SELECT count(*), count(base) FROM control.listing"); got != "2 1" {
		t.Errorf("listings and differences of one source with too many bytes: %s", got)
	}
	k.knowsItsBlobs()

	k.cfg.KeepListings = 0
	k.now = k.now.Add(time.Hour)
	e := k.polls()
	k.polls()
	if got := k.text("SELECT count(*) FROM control.listing"); got != "0" || e.Attributes["listing"]+e.Attributes["listing_not_kept"] != "" {
		t.Errorf("with poll.keep_listings 0 there are %s listings, and the event says %v", got, e.Attributes)
	}
	k.knowsItsBlobs()
}

// A listing that is deleted while a poll means it is not told as kept.
func TestAListingThatIsDeletedMeanwhile(t *testing.T) {
	k := newKeeper(t)
	k.fill()
	k.polls()
	k.deps.Blobs = deletingStore{k.blobs, k}
	for _, size := range []int64{11, 11} { // as a difference, and the same again
		k.server.show(good, size)
		k.now = k.now.Add(time.Hour)
		if e := k.polls(); e.Note != "complete" || e.Attributes["listing"] != "" || e.Attributes["listing_not_kept"] == "" {
			t.Errorf("the poll ended %s: %v", e.Note, e.Attributes)
		}
		k.deps.Blobs = k.blobs
		k.now = k.now.Add(time.Hour)
		if e := k.polls(); e.Attributes["listing"] == "" {
			t.Errorf("the next one is not kept: %v", e.Attributes)
		}
		k.deps.Blobs = deletingStore{k.blobs, k}
	}
}

// deletingStore has all listings deleted by another member as one is written.
type deletingStore struct {
	*blob.Dir
	k *keeper
}

func (s deletingStore) Create(ctx context.Context) (blob.Writer, error) {
	s.k.exec("DELETE FROM control.listing")
	return s.Dir.Create(ctx)
}
