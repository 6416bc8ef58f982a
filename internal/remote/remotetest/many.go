package remotetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"tributary/internal/remote"
)

// Long is when the files of [Many] changed last.
func Long() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

// Nth is the name of one of them.
func Nth(i int) string { return fmt.Sprintf("CENTRE.2024-02-29.%07d.impc.zip", i) }

// HowMany is how many entries TestListsAnyNumber of each connector lists: a few, and
// under make listing-scale a million, for which the whole process, servers of generated
// answers included, takes less than 200 MB.
func HowMany() int {
	if many, err := strconv.Atoi(os.Getenv("TRIBUTARY_SCALE_ENTRIES")); err == nil {
		return many
	}
	return 5000
}

// Many makes a directory add of n empty zips that changed long ago, and returns the one
// above.
func Many(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "served")
	if err := os.MkdirAll(filepath.Join(dir, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	Open(t, dir)
	for i := range n {
		name := filepath.Join(dir, "add", Nth(i))
		f, err := os.Create(name)
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = os.Chtimes(name, Long(), Long())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Lists lists n entries of that size in the directory add of a source, however many
// there are, and looks how much is held meanwhile. A listing that shows no exact times
// is one of files that are known, as it is at each poll but the first: new ones are
// asked for one by one.
func Lists(t *testing.T, c remote.Config, n int, size int64) {
	t.Helper()
	c.IdleTimeout = 10 * time.Minute // a busy machine's server may sort for long
	c.Known = func(_ string, shown []remote.Entry) ([]remote.Entry, error) {
		known := make([]remote.Entry, len(shown))
		for i, e := range shown {
			known[i] = remote.Entry{Name: e.Name, Size: size, ModTime: Long()}
		}
		return known, nil
	}
	lists(t, Dial(t, c), n, size)
}

func lists(t *testing.T, session remote.Session, n int, size int64) {
	t.Helper()
	var m runtime.MemStats
	held := func() uint64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, count := held(), uint64(0), 0
	err := session.List(t.Context(), "add", func(e remote.Entry) error {
		if e.Size != size || !e.ModTime.Equal(Long()) {
			t.Fatalf("%+v", e)
		}
		if count++; count%(n/5) == 0 {
			most = max(most, held())
		}
		return nil
	})
	if err != nil || count != n {
		t.Fatalf("%d entries, %v", count, err)
	}
	if most > before+8<<20 {
		t.Errorf("%d KiB were held", (most-before)>>10)
	}
	if t.Logf("%d entries: %d MiB in all", n, m.Sys>>20); n >= 1_000_000 && m.Sys > 200_000_000 {
		t.Error("that is too much")
	}
}
