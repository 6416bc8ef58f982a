package main

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/config"
)

// status only looks at the disk of the blobs: it makes no store, and what it
// cannot look at is no error.
func TestWhoAsksForTheDiskMakesNoStore(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Blobs.MinFree, cfg.Blobs.MinFreeShare = math.MaxInt64, 1 // the whole disk is to stay free
	if got := dormant(cfg); got != "" {
		t.Errorf("without a store: %q", got)
	}
	dir := filepath.Join(cfg.DataDir, "blobs")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	if got := dormant(cfg); !strings.Contains(got, "low disk") {
		t.Errorf("a disk of which all is to stay free: %q", got)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil || len(entries) > 0 {
		t.Errorf("the store was opened: %v, %v", entries, err)
	}
}

// The disk of the embedded engines is watched by itself where the blobs lie elsewhere; that
// of engines which are somebody else's is not ours to watch.
func TestTheDiskOfEmbeddedEngines(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Blobs.MinFree, cfg.Blobs.MinFreeShare = math.MaxInt64, 1 // the whole disk is to stay free
	if got := dataDisk(cfg); got != "" {
		t.Errorf("beside the blobs: %q", got)
	}
	cfg.Blobs.Dir = t.TempDir()
	if got := dataDisk(cfg); !strings.Contains(got, "The disk of data_dir is low") || !strings.Contains(got, cfg.DataDir) {
		t.Errorf("a disk of which all is to stay free: %q", got)
	}
	enough := cfg
	if enough.Blobs.MinFree = 1; dataDisk(enough) != "" {
		t.Errorf("a disk with room: %q", dataDisk(enough))
	}
	cfg.Kafka.BootstrapServers, cfg.Postgres.URL, cfg.ClickHouse.URL = []string{"k:9092"}, "postgres://h/db", "clickhouse://h"
	if got := dataDisk(cfg); got != "" {
		t.Errorf("where all engines are elsewhere: %q", got)
	}
}
