package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"tributary/internal/engine"
	"tributary/test/rig"
)

// A file that comes into a local directory is found though its source is due in an hour,
// also where the directory was removed meanwhile and made anew.
func TestLocalFilesAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	s := &system{t: t, binary: program(t), dir: dir, rig: &rig.Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml")}}
	base := filepath.Join(dir, "jax")
	put := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(base, "add"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, "add", name), []byte("no archive"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := func(name string) {
		t.Helper()
		s.waits(name+" is not found", "SELECT count(*) = 1 AS so FROM control.hosting WHERE source = 'jax' AND name = '"+name+"'", nil)
	}
	config := "data_dir: ./data\nschedule: {interval: 1h, tick: 200ms, jitter: 0}\npoll: {settle: 0s}\nsources:\n"
	for _, id := range []string{"jax", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, id, "add"), 0o755); err != nil {
			t.Fatal(err)
		}
		config += "  - {id: " + id + ", centre: J, url: 'file://" + filepath.Join(dir, id) + "'}\n"
	}
	s.rewrite(config)
	s.engines(func(engine.Endpoints) {
		s.members("schedule poll plan publish")
		s.waits("not both are polled", "SELECT count(DISTINCT source) = 2 AS so FROM control.poll WHERE state = 'complete'", nil)
		put("J.2030-01-01.1.impc.zip")
		found("J.2030-01-01.1.impc.zip")
		if err := os.RemoveAll(base); err != nil {
			t.Fatal(err)
		}
		s.waits("its poll does not fail", "SELECT count(*) > 0 AS so FROM control.poll WHERE source = 'jax' AND exception = 'base_missing'", nil)
		put("J.2030-01-01.2.impc.zip")
		found("J.2030-01-01.2.impc.zip")
		s.waits("a file is gone, or a poll an overrun", "SELECT (SELECT count(*) FROM control.hosting WHERE state = 'gone') + (SELECT sum(overruns) FROM control.source) = 0 AS so", nil)
	})
}
