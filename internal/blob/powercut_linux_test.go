package blob

import (
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// mounted mounts the file system in an image.
func mounted(t *testing.T, image string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "mnt")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		t.Skipf("no image can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, out)
		}
	})
	return at
}

// What is acknowledged is on the disk: the image of a file system, as the disk has it at
// that moment, is taken away, and mounted as after a power cut.
func TestAcknowledgedBlobsOutliveAPowerCut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	for about, features := range map[string]string{"with a journal": "has_journal", "without": "^has_journal"} {
		t.Run(about, func(t *testing.T) {
			dir := t.TempDir()
			image, cut := filepath.Join(dir, "disk"), filepath.Join(dir, "cut")
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, 128<<20); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-O", features, image).CombinedOutput(); err != nil {
				t.Skipf("no file system can be made: %v: %s", err, out)
			}
			d := opened(t, mounted(t, image))
			syncs := 0
			d.together.dirty = func() int64 { return 0 }
			d.together.whole = func(f *os.File) error { syncs++; return syncWhole(f) }
			acknowledged := putMany(t, d, 300)
			snapshot(t, image, cut)
			if syncsWhole(d.together.top) && (syncs == 0 || d.together.apart.Load()) {
				t.Errorf("they were not stored together, after %d syncs", syncs)
			}
			after := opened(t, mounted(t, cut))
			for _, ref := range acknowledged {
				if err := Verify(t.Context(), after, ref.SHA256); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// putMany stores so many blobs, some at once.
func putMany(t *testing.T, d *Dir, n int) []Ref {
	t.Helper()
	refs, errs := make([]Ref, n), make([]error, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, 20)
	for i := range refs {
		slots <- struct{}{}
		all.Go(func() {
			refs[i], errs[i] = Put(t.Context(), d, io.LimitReader(rand.Reader, 20_000))
			<-slots
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return refs
}

func snapshot(t *testing.T, image, as string) {
	t.Helper()
	content, err := os.ReadFile(image)
	if err == nil {
		err = os.WriteFile(as, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
