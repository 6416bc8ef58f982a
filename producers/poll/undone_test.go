//go:build !race

package poll

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
)

// A file waits for its done-file, whichever of the two comes first, and so does another
// version of it. Meanwhile nothing of it is taken, nor does it count as gone, and its name
// is said with that of what it waits for. What was taken stays when the done-file goes.
func TestFilesWaitForTheirDoneFiles(t *testing.T) {
	b := newBench(t)
	b.once, b.cfg.GoneAfter = true, 1
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", DoneFile: "*.zip.ok"})
	ok := good + ".ok"
	for _, step := range []struct {
		about   string
		happens func()
		want    string // what is told of it
		waits   bool
	}{
		{"it is being written", func() { b.server.show(good, 10) }, "", true},
		{"it grows", func() { b.server.show(good, 20) }, "", true},
		{"its done-file comes", func() { b.server.show(ok, 0) }, "discovered " + good + " look 1 new", false},
		{"nothing", func() {}, "", false},
		{"its done-file is taken away", func() { b.server.hide(ok) }, "", false},
		{"it is overwritten", func() { b.server.show(good, 15) }, "", true},
		{"it is there again as it was", func() { b.server.show(good, 20) }, "", false},
		{"it is overwritten once more", func() { b.server.show(good, 30) }, "", true},
		{"its done-file comes again", func() { b.server.show(ok, 0) }, "discovered " + good + " look 2 changed", false},
		{"both are taken away", func() { b.server.hide(ok); b.server.hide(good) }, "hosting " + good + " look 2 gone", false},
		{"a done-file comes before its file", func() { b.server.show(good2+".ok", 0) }, "", false},
		{"and the file after it", func() { b.server.show(good2, 10) }, "discovered " + good2 + " look 1 new", false},
	} {
		step.happens()
		b.now = b.now.Add(time.Hour)
		if got := b.listing(); got != "complete" {
			t.Fatalf("%s: the poll is %s", step.about, got)
		}
		told := ""
		for _, line := range b.said() {
			if strings.HasPrefix(line, "discovered") || strings.HasSuffix(line, " gone") && strings.HasPrefix(line, "hosting") {
				told = line
			}
		}
		if told != step.want {
			t.Errorf("%s: told is %q, want %q", step.about, told, step.want)
		}
		waits := b.text("SELECT name, rule FROM control.ignored WHERE reason = 'no_done_file'")
		if want := map[bool]string{true: good + " " + ok}[step.waits]; waits != want {
			t.Errorf("%s: %q waits, want %q", step.about, waits, want)
		}
	}
}

// However many files wait, they are counted, and their names come before those of what is
// no file of ours.
func TestManyFilesWaitForTheirDoneFiles(t *testing.T) {
	b := newBench(t)
	b.once, b.cfg.MaxIgnored = true, 4
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", DoneFile: "done-*"})
	for i := range 10 {
		b.server.show(fmt.Sprintf("readme%d.txt", i), 1)
		b.server.show(fmt.Sprintf("H.2026-01-02.%d.impc.zip", i+1), 10)
	}
	b.server.show("done-H.2026-01-02.7.impc", 0)
	b.server.dirs["edit"] = append(b.server.dirs["edit"], remote.Entry{Name: "done-H.2026-01-02.8.impc", Kind: remote.File}) // in another directory
	b.listing()
	if got := b.text("SELECT name FROM control.hosting"); got != "H.2026-01-02.7.impc.zip" {
		t.Errorf("hostings: %q", got)
	}
	if got := b.text("SELECT count(*), count(*) FILTER (WHERE reason = 'no_done_file') FROM control.ignored"); got != "4 4" {
		t.Errorf("kept are %s names of what was ignored", got)
	}
	var said map[string]string
	for _, m := range b.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityTask {
			said = e.Attributes
		}
	}
	want := map[string]string{"listed": "1", "ignored": "21", "ignored_no_done_file": "9", "ignored_not_zip": "12", "new": "1"}
	for key := range want {
		if d := cmp.Diff(want[key], said[key]); d != "" {
			t.Errorf("%s (- want, + got):\n%s", key, d)
		}
	}
}
