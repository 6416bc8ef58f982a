package poll

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/test/servers"
)

// vsftpd shows all times, those of MDTM too, by its zone's difference from UTC of now:
// both changes of it move them by an hour, and make no file new.
func TestDaylightSavingOnVSFTPD(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{good, good2, "H.2026-01-02.3.impc.zip"} {
		path := filepath.Join(root, "add", name)
		if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Two are of these days, shown to the minute; the last is shown to the day.
		written := time.Now().Add(-time.Duration(i+3)*24*time.Hour - time.Duration(i)*time.Hour)
		if i == 2 {
			written = written.AddDate(-1, 0, 0)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	b.once, b.now = true, time.Now()
	b.deps.Dial = remote.Dial
	for _, zone := range []string{"CET-1", "CEST-2", "CET-1"} {
		t.Setenv("TZ", zone)
		s, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: root, Extra: []string{"use_localtime=YES"}})
		if err != nil {
			servers.Need(t, err)
		}
		b.define(config.Source{ID: "src", Centre: "H", URL: s.URL("")})
		got := b.listing()
		s.Stop()
		if got != "complete" {
			t.Fatalf("in %s the poll ended %s: %s", zone, got, b.text("SELECT message FROM control.poll"))
		}
		if looks := b.text("SELECT count(*), max(look) FROM control.look"); looks != "3 1" {
			t.Errorf("in %s there are %s looks of 3 files", zone, looks)
		}
	}
	if moved := b.text("SELECT clock->>'moved' FROM control.source"); moved != "-3600000000000" {
		t.Errorf("the times have moved by %s at last, so this server is not one of which the test tells", moved)
	}
}
