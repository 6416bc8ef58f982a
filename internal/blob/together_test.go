package blob

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// crowd is a store in which many blobs are committed at once.
type crowd struct {
	*Dir
	syncs int // of the whole file system
}

func newCrowd(t *testing.T, whole func(n int) error, dirty int64) *crowd {
	t.Helper()
	d := opened(t, t.TempDir())
	c := &crowd{Dir: d}
	d.together.apart.Store(false)
	d.together.whole = func(*os.File) error {
		c.syncs++
		return whole(c.syncs)
	}
	d.together.dirty = func() int64 { return dirty }
	return c
}

func opened(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := NewDir(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// store stores so many blobs, none of which is on its way before all are waiting.
func (c *crowd) store(t *testing.T, blobs int) {
	t.Helper()
	var waiting []*arrival
	for range blobs {
		created, err := c.Create(t.Context())
		if err == nil {
			_, err = created.Write([]byte(rand.Text()))
		}
		w, ok := created.(*writer)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		waiting = append(waiting, c.together.join(w, w.Ref()))
	}
	var all sync.WaitGroup
	for _, a := range waiting {
		all.Go(func() {
			if err := errors.Join(c.together.await(a), Verify(t.Context(), c.Dir, a.ref.SHA256)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(filepath.Join(c.Path(), tmpDir))
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left in tmp, %v", len(left), err)
	}
}

func TestSmallBlobsAreStoredTogether(t *testing.T) {
	well := func(int) error { return nil }
	failing := func(at int) func(int) error {
		return func(n int) error {
			if n == at {
				return errors.New("input/output error")
			}
			return nil
		}
	}
	for about, tt := range map[string]struct {
		whole func(int) error
		dirty int64
		blobs int
		syncs int
		apart bool // from then on
	}{
		"many take two syncs":                   {well, mostDirty, 40, 2, false},
		"one takes none":                        {well, 0, 1, 0, false},
		"nor do many while others write much":   {well, mostDirty + 1, 40, 0, false},
		"unsynced content is synced one by one": {failing(1), 0, 40, 1, true},
		"and so are names that were not synced": {failing(2), 0, 40, 2, true},
	} {
		t.Run(about, func(t *testing.T) {
			c := newCrowd(t, tt.whole, tt.dirty)
			c.store(t, tt.blobs)
			if got := c.together.apart.Load(); c.syncs != tt.syncs || got != tt.apart {
				t.Errorf("%d syncs, apart from then on: %v; want %d, %v", c.syncs, got, tt.syncs, tt.apart)
			}
			if c.together.work(); c.syncs != tt.syncs {
				t.Errorf("%d syncs when nothing waits any more, want %d", c.syncs, tt.syncs)
			}
			c.store(t, 2)
			if tt.apart && c.syncs != tt.syncs {
				t.Error("the file system is synced again after it could not be")
			}
		})
	}
}
