//go:build !race

package poll

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote"
)

// many is a source that shows very many entries, half of which are no files of ours,
// without holding them.
type many struct {
	server
	n       int
	changed int // the entry that has another size
	peak    *peak
}

func (m *many) List(_ context.Context, dir string, yield func(remote.Entry) error) error {
	if dir != "add" {
		return nil
	}
	for i := range m.n {
		h := fnv.New64a()
		fmt.Fprint(h, i)
		x := h.Sum64()
		e := remote.Entry{Name: fmt.Sprintf("H.2026-01-02.%d.impc.zip", i), Size: int64(x % 1e8), ModTime: noon.Add(-time.Duration(x%1e7) * time.Second), Precision: time.Second}
		if i%2 == 1 {
			e.Name = fmt.Sprintf("%d-%x.xml", i, x)
		}
		if i == m.changed {
			e.Size++
		}
		if err := yield(e); err != nil {
			return err
		}
		if i%20_000 == 0 {
			m.peak.look()
		}
	}
	return nil
}

// peak is the most memory that was seen in use, in bytes.
type peak struct{ bytes uint64 }

func (p *peak) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.bytes = max(p.bytes, m.HeapInuse+m.StackInuse)
}

// peakStore looks at the memory whenever a blob is written.
type peakStore struct {
	*blob.Dir
	peak *peak
}

func (s peakStore) Create(ctx context.Context) (blob.Writer, error) {
	w, err := s.Dir.Create(ctx)
	return peakWriter{w, s.peak}, err
}

type peakWriter struct {
	blob.Writer
	peak *peak
}

func (w peakWriter) Write(b []byte) (int, error) { w.peak.look(); return w.Writer.Write(b) }

// entries is how many entries are shown: fallback, or with TRIBUTARY_SCALE_ENTRIES, as by
// make control-scale, as many as that.
func entries(t *testing.T, fallback int) int {
	t.Helper()
	text := os.Getenv("TRIBUTARY_SCALE_ENTRIES")
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TRIBUTARY_SCALE_ENTRIES=%s: want a positive number", text)
	}
	return n
}

// stored is how many bytes all blobs have.
func (k *keeper) stored() (bytes int64) {
	k.t.Helper()
	if err := k.blobs.List(k.t.Context(), func(_ string, size int64) error { bytes += size; return nil }); err != nil {
		k.t.Fatal(err)
	}
	return bytes
}

// anyTime is how long a poll of very many entries may take: what it keeps and holds is
// asked here, on a busy machine too.
const anyTime = config.Duration(time.Hour)

// Where very many entries are all taken up, the same shown again tells nothing but that
// it was listed, keeps nothing, and is compared in bounded memory.
func TestVeryManyUnchangedEntriesTellNothing(t *testing.T) {
	n := entries(t, 4_000)
	k := newKeeper(t)
	k.cfg.MaxNew, k.cfg.MaxIgnored, k.cfg.Timeout = n, 10, anyTime
	runtime.GC() // what other tests left is none of it
	most := &peak{}
	source := &many{n: n, changed: -1, peak: most}
	k.deps.Blobs = peakStore{k.blobs, most}
	k.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return source, nil }
	var kept int64
	for _, want := range []struct{ discovered, told string }{{fmt.Sprint(n / 2), "true"}, {"0", "false"}} {
		if state := k.listing(); state != "complete" {
			t.Fatalf("the poll ended %s", state)
		}
		if got := k.text("SELECT sum(events) > 1 FROM control.outbox"); got != want.told {
			t.Errorf("more than its end is told of a poll: %s, want %s", got, want.told)
		}
		if got := k.text("SELECT count(*) FROM control.look WHERE listed_at = $1", k.now); got != want.discovered {
			t.Errorf("%s files are taken up, want %s", got, want.discovered)
		}
		if now := k.stored(); kept != 0 && now != kept {
			t.Errorf("the same listing keeps %d bytes more", now-kept)
		} else {
			kept = now
		}
		k.now = k.now.Add(time.Hour)
	}
	if most.bytes > 200<<20 {
		t.Errorf("%d bytes of memory were in use", most.bytes)
	}
}

// TestVeryManyEntriesAreKept holds that listings of very many entries are kept in bounded
// memory, that the same shown again takes nothing, and one change less than a kilobyte.
func TestVeryManyEntriesAreKept(t *testing.T) {
	n := entries(t, 20_000)
	k := newKeeper(t)
	k.cfg.MaxNew, k.cfg.MaxIgnored, k.cfg.Timeout = 10, 10, anyTime
	most := &peak{}
	source := &many{n: n, changed: -1, peak: most}
	k.deps.Blobs = peakStore{k.blobs, most}
	k.deps.Dial = func(context.Context, remote.Config) (remote.Session, error) { return source, nil }
	var kept int64
	for i, want := range []int64{int64(n) * 100, 0, 1000} {
		source.changed = -1 + i/2*(n/2)
		began := time.Now()
		if e := k.polls(); e.Note != "complete" || e.Attributes["listing"] == "" {
			t.Fatalf("poll %d ended %s: %s %v", i+1, e.Note, e.Message, e.Attributes)
		}
		before := kept
		kept = k.stored()
		t.Logf("poll %d of %d entries took %s and keeps %d bytes more; at most %d MB in use", i+1, n, time.Since(began).Round(time.Millisecond), kept-before, most.bytes>>20)
		if kept-before > want {
			t.Errorf("poll %d keeps %d bytes more, want at most %d", i+1, kept-before, want)
		}
		k.now = k.now.Add(time.Hour)
	}
	if most.bytes > 200<<20 {
		t.Errorf("%d bytes of memory were in use", most.bytes)
	}
	if got := k.text("SELECT count(*), min(entries), max(entries) FROM control.listing"); got != fmt.Sprint("2 ", n, " ", n) {
		t.Errorf("listings and their entries: %s", got)
	}
}
