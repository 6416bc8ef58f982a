//go:build !race

package poll

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/sql/control"
)

// check is the source's last check, a line for each step: name, ok or FAILED, and
// what was found or went wrong.
func (b *bench) check() (passed bool, lines []string) {
	b.t.Helper()
	all, err := control.Standings(b.t.Context(), b.deps.Pool, "src")
	if err != nil || len(all) != 1 || all[0].Checked == nil {
		b.t.Fatalf("no check is kept: %+v %v", all, err)
	}
	c := all[0].Checked
	var steps []remote.Step
	if err := json.Unmarshal(c.Steps, &steps); err != nil {
		b.t.Fatal(err)
	}
	for _, s := range steps {
		word := "ok"
		if !s.OK {
			word = "FAILED"
		}
		if s.OK != (s.Remedy == "") {
			b.t.Errorf("the step %+v has the wrong remedy", s)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", s.Name, word, s.Detail))
	}
	if c.Session != b.number || !c.At.Equal(b.now) {
		b.t.Errorf("the check is of session %d at %s", c.Session, c.At)
	}
	return c.Passed, lines
}

// Nothing of a new source is taken where none of several files of it can be read.
// Once one could be, no poll reads one again, until the source is reached in another
// way or has failed.
func TestTheFirstPollIsACheck(t *testing.T) {
	b := newBench(t)
	b.server.show("H.2026-01-02.1.impc.zip", 500)
	b.server.show("H.2026-01-03.1.impc.zip", 7)
	b.server.show("H.2026-01-04.1.impc.zip", 70)
	b.server.show("H.2026-01-05.1.impc.zip", 7)
	b.server.unreadable = fmt.Errorf("open: %w", fs.ErrPermission)
	if state := b.listing(); state != "failed" {
		t.Errorf("the poll has ended as %s", state)
	}
	const lists = "list ok: add: 4 entries\nlist ok: edit: not there, counts as empty\nlist ok: delete: not there, counts as empty\n"
	passed, lines := b.check()
	want := "configuration ok: file:///nowhere\n" + lists +
		"sample FAILED: 3 files that the source lists were tried and none can be read, so none is taken: add/H.2026-01-03.1.impc.zip: open: permission denied"
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); passed || diff != "" {
		t.Errorf("passed %v\n%s", passed, diff)
	}
	if diff := cmp.Diff([]string{"add/H.2026-01-03.1.impc.zip", "add/H.2026-01-05.1.impc.zip", "add/H.2026-01-04.1.impc.zip"}, b.server.opened); diff != "" {
		t.Errorf("tried (- wanted, + were):\n%s", diff)
	}
	if got := b.text("SELECT count(*) FROM control.hosting"); got != "0" {
		t.Errorf("%s files were taken", got)
	}

	b.server.unreadable = nil
	if state := b.listing(); state != "complete" {
		t.Errorf("the poll has ended as %s", state)
	}
	passed, lines = b.check()
	want = "configuration ok: file:///nowhere\n" + lists + "sample ok: add/H.2026-01-03.1.impc.zip could be read"
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); !passed || diff != "" {
		t.Errorf("passed %v\n%s", passed, diff)
	}
	if got := b.text("SELECT count(*) FROM control.hosting"); got != "4" {
		t.Errorf("%s files were taken", got)
	}

	opened := func(why string, want int, do func()) {
		t.Helper()
		b.server.opened = nil
		do()
		b.listing()
		if got := len(b.server.opened); got != want {
			t.Errorf("%s: %d files were read, not %d", why, got, want)
		}
	}
	opened("as before", 0, func() {})
	opened("reached in another way", 1, func() { b.define(config.Source{ID: "src", Centre: "H", URL: "file:///elsewhere"}) })
	opened("as that has passed", 0, func() {})
	b.server.dial = fmt.Errorf("dial: %w", fs.ErrPermission)
	b.listing()
	if passed, _ := b.check(); passed {
		t.Error("a poll that failed has passed")
	}
	b.server.dial = nil
	opened("after a failure", 1, func() {})
}

// One file that can't be read is its own trouble, and is taken as ever.
func TestOneUnreadableFileIsItsOwn(t *testing.T) {
	b := newBench(t)
	b.server.show("H.2026-01-02.1.impc.zip", 500)
	b.server.unreadable = fmt.Errorf("open: %w", fs.ErrPermission)
	if state := b.listing(); state != "complete" {
		t.Errorf("the poll has ended as %s", state)
	}
	if passed, lines := b.check(); !passed || lines[len(lines)-1] != "sample ok: no file could be read, of 1 tried: add/H.2026-01-02.1.impc.zip: open: permission denied" {
		t.Errorf("passed %v: %q", passed, lines)
	}
	if got := b.text("SELECT count(*) FROM control.hosting"); got != "1" {
		t.Errorf("%s files were taken", got)
	}
}

// Where the connection is lost at the sample, what was listed is taken, as of any
// listing that breaks off, and the next poll checks again.
func TestAConnectionLostAtTheSample(t *testing.T) {
	b := newBench(t)
	b.cfg.Attempts = 1
	b.server.show("H.2026-01-02.1.impc.zip", 500)
	b.server.unreadable = fmt.Errorf("open: %w", io.ErrUnexpectedEOF)
	if state := b.listing(); state != "broken_off" {
		t.Errorf("the poll has ended as %s", state)
	}
	if passed, lines := b.check(); passed || !strings.HasPrefix(lines[len(lines)-1], "sample FAILED: open: ") {
		t.Errorf("passed %v: %q", passed, lines)
	}
	if got := b.text("SELECT count(*) FROM control.hosting"); got != "1" {
		t.Errorf("%s files were taken", got)
	}
}

// A directory that is still empty passes, and the steps are those of the session
// itself.
func TestACheckNotesTheSession(t *testing.T) {
	b := newBench(t)
	base := t.TempDir()
	b.deps.Dial = connectors.All().Dial
	b.define(config.Source{ID: "src", Centre: "H", URL: "file://" + base})
	if err := os.Mkdir(filepath.Join(base, "add"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.listing()
	passed, lines := b.check()
	want := "configuration ok: file://" + base + "\nconnect ok: " + base +
		"\nlist ok: add: 0 entries\nlist ok: edit: not there, counts as empty\nlist ok: delete: not there, counts as empty\nsample ok: there is no file yet that could be read"
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); !passed || diff != "" {
		t.Errorf("passed %v\n%s", passed, diff)
	}

	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	b.listing()
	passed, lines = b.check()
	if len(lines) != 2 || passed || !strings.HasPrefix(lines[1], "connect FAILED: ") {
		t.Errorf("passed %v: %q", passed, lines)
	}
}
