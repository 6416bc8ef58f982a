package blob

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// disk is a file system of which the test says how full it is.
type disk struct {
	free, total int64
	err         error
	asked       int
	at          time.Time
}

func (d *disk) usage() (Usage, error) {
	d.asked++
	return Usage{Free: d.free, Total: d.total}, d.err
}

func (d *disk) space(minFree int64, share float64) *Space {
	s := NewSpace(d.usage, minFree, share, "/blobs", slog.New(slog.DiscardHandler))
	s.now = func() time.Time { d.at = d.at.Add(2 * usageFor); return d.at }
	return s
}

func TestTheFloorIsTheLesser(t *testing.T) {
	for name, tc := range map[string]struct {
		minFree int64
		share   float64
		want    int64
	}{
		"bytes":             {100, 0.5, 100},
		"share":             {1000, 0.05, 50},
		"no bytes":          {0, 0.05, 0},
		"no share":          {1000, 0, 0},
		"all of a big disk": {1000, 1, 1000},
	} {
		d := &disk{free: 700, total: 1000}
		if got := d.space(tc.minFree, tc.share).State().Floor; got != tc.want {
			t.Errorf("%s: floor %d, want %d", name, got, tc.want)
		}
	}
}

// Below the floor there is no room, and it takes a quarter more than the floor
// to open again.
func TestLowUntilAQuarterMoreIsFree(t *testing.T) {
	d := &disk{total: 10_000}
	s := d.space(100, 1)
	for _, step := range []struct {
		free int64
		low  bool
	}{{100, false}, {99, true}, {100, true}, {124, true}, {125, false}, {101, false}, {0, true}} {
		d.free = step.free
		err := s.Low()
		if (err != nil) != step.low || err != nil && !errors.Is(err, ErrLow) {
			t.Errorf("with %d free: %v, want low %v", step.free, err, step.low)
		}
		if err != nil && !strings.Contains(err.Error(), "/blobs") {
			t.Errorf("the error doesn't say where: %v", err)
		}
		if s.State().Low != step.low {
			t.Errorf("with %d free: state %+v", step.free, s.State())
		}
	}
}

// A floor that is most of the disk can still be left behind.
func TestALowDiskCanBeFreed(t *testing.T) {
	d := &disk{free: 800, total: 1000}
	s := d.space(900, 1)
	if s.Low() == nil {
		t.Fatal("800 of 1000 with a floor of 900 is not low")
	}
	d.free = 950
	if err := s.Low(); err != nil {
		t.Errorf("950 of 1000 with a floor of 900: %v", err)
	}
}

// A file that would leave too little has no room, and others have.
func TestRoomForAFile(t *testing.T) {
	d := &disk{free: 150, total: 10_000}
	s := d.space(100, 1)
	if _, err := s.Reserve("host", 51); !errors.Is(err, ErrNoRoom) || errors.Is(err, ErrLow) {
		t.Errorf("51 of 150 with a floor of 100: %v", err)
	}
	if err := s.Low(); err != nil {
		t.Errorf("one file too large made the store low: %v", err)
	}
	if _, err := s.Reserve("host", 50); err != nil {
		t.Errorf("50 of 150 with a floor of 100: %v", err)
	}
}

// Blobs that are written at once share the room: what one will still take is
// not there for another, whatever has come of it and been looked at meanwhile.
func TestRoomForSeveralFiles(t *testing.T) {
	d := &disk{free: 200, total: 10_000}
	s := d.space(100, 1)
	fits := func(when string, n int64) {
		t.Helper()
		r, err := s.Reserve("host", n)
		if err != nil {
			t.Errorf("%s: %d bytes: %v", when, n, err)
		}
		r.Release()
		if _, err := s.Reserve("host", n+1); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: %d bytes: %v", when, n+1, err)
		}
	}
	first, err := s.Reserve("host", 60)
	if err != nil {
		t.Fatal(err)
	}
	fits("beside a blob of 60", 40)
	first.Wrote(50)
	d.free -= 50
	fits("once 50 of them have come", 40)
	first.Wrote(30) // it is longer than was said
	d.free -= 30
	fits("once 80 have", 20)
	first.Release()
	d.free += 80
	fits("once it is aborted", 100)
	d.free = 50
	if _, err := s.Reserve("host", 0); !errors.Is(err, ErrLow) {
		t.Errorf("below the floor: %v", err)
	}
}

// What was written counts until the file system has been asked again.
func TestWrittenBytesCountUntilTheNextLook(t *testing.T) {
	d := &disk{free: 200, total: 10_000}
	s := d.space(100, 1)
	at := time.Unix(0, 0)
	s.now = func() time.Time { return at }
	r, err := s.Reserve("host", 60)
	if err != nil {
		t.Fatal(err)
	}
	r.Wrote(60)
	r.Release()
	d.free -= 60
	if _, err := s.Reserve("host", 41); !errors.Is(err, ErrNoRoom) {
		t.Errorf("41 bytes beside 60 that have come since the last look: %v", err)
	}
	at = at.Add(usageFor)
	if _, err := s.Reserve("host", 40); err != nil {
		t.Errorf("40 bytes after the next look: %v", err)
	}
}

func TestWithoutAnAnswerThereIsRoom(t *testing.T) {
	d := &disk{total: 10_000}
	s := d.space(100, 1)
	if s.Low() == nil {
		t.Fatal("an empty disk is not low")
	}
	d.err = errors.New("stale handle")
	if _, err := s.Reserve("host", 1000); err != nil {
		t.Errorf("a file system that doesn't answer: %v", err)
	}
	var none *Space
	r, err := none.Reserve("host", 1<<50)
	r.Wrote(1)
	r.Release()
	if err != nil || none.Low() != nil || none.State() != (State{}) {
		t.Errorf("no space: %v, %v, %+v", err, none.Low(), none.State())
	}
	off := (&disk{}).space(0, 1)
	if _, err := off.Reserve("host", 1<<50); err != nil {
		t.Errorf("switched off: %v", err)
	}
}

// The file system is asked once a second, not for every block that is written.
func TestTheFileSystemIsAskedOnceASecond(t *testing.T) {
	d := &disk{free: 1000, total: 10_000}
	s := d.space(100, 1)
	at := time.Unix(0, 0)
	s.now = func() time.Time { return at }
	for range 1000 {
		if err := s.Low(); err != nil {
			t.Fatal(err)
		}
	}
	if d.asked != 1 {
		t.Errorf("asked %d times within a second", d.asked)
	}
	at = at.Add(usageFor)
	s.State()
	if d.asked != 2 {
		t.Errorf("asked %d times after a second", d.asked)
	}
}

func TestUsageOfADirectory(t *testing.T) {
	d, err := NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	u, err := d.Usage()
	if err != nil || u.Total <= 0 || u.Free < 0 || u.Free > u.Total {
		t.Errorf("Usage = %+v, %v", u, err)
	}
}

// Who has just begun to look doubts where a store may still wait for more room.
func TestDoubtBetweenTheFloorAndWhereFetchingResumes(t *testing.T) {
	for free, want := range map[int64]string{99: "low disk", 100: "below where fetching resumes", 124: "below where fetching resumes", 125: ""} {
		d := &disk{free: free, total: 10_000}
		if got := d.space(100, 1).Doubt(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("with %d free: %q, want %q", free, got, want)
		}
	}
	if got := (&disk{err: errors.New("stale handle")}).space(100, 1).Doubt(); got != "" {
		t.Errorf("without an answer: %q", got)
	}
}
