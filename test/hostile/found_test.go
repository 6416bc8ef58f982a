package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tributary/test/wait"
)

// The tests of this file are what was found from outside, one each, and named
// so. They fail with a program from before it was mended, which
// TRIBUTARY_BINARY may name.

// struck is a condition: every hostile server has struck.
func (w *world) struck() string {
	for _, s := range w.hostile {
		if s.struck.Load() == 0 {
			return s.name + " at " + s.step + " has not struck"
		}
	}
	return ""
}

// peaceful waits until the good files are inserted and what hostile sources
// showed has ended, and expects that the process lives and took little memory.
func (w *world) peaceful(p *process) {
	w.t.Helper()
	for _, check := range []func() string{w.struck, w.goodInserted, w.allEnded} {
		if last := await(wait.Patience(), func() string {
			if p.ended() {
				return ""
			}
			return check()
		}); last != "" {
			w.t.Errorf("%s\n%s", last, p.tail())
		}
	}
	if p.ended() {
		w.t.Errorf("the process has ended\n%s", p.tail())
	}
	if peak := p.peak(); peak > maxMemory {
		w.t.Errorf("the process took %d MiB", peak>>20)
	}
}

// hold takes the good sources' files away, and returns what brings them back.
func (w *world) hold() (release func()) {
	w.t.Helper()
	move := func(from, to string) {
		dirs, err := filepath.Glob(filepath.Join(w.rig.Dir, "sources", "*", from))
		if err != nil || len(dirs) == 0 {
			w.t.Fatalf("no sources to hold: %v", err)
		}
		for _, d := range dirs {
			if err := os.Rename(d, filepath.Join(filepath.Dir(d), to)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	move("add", "held")
	return func() { w.t.Helper(); move("held", "add") }
}

// A1: a text of megabytes, wherever a server can put one, is cut before it
// reaches an event; nothing is held up, and nothing published again and again.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	long := strings.Repeat("A", 5<<20)
	for i, step := range []string{"greeting", "USER", "PASS", "CWD", "MLSD", "listed", "MLST", "RETR", "sent"} {
		w.add("ftp", kind{name: "long text", strike: func(w *wire, _ []byte) error {
			_, err := fmt.Fprintf(w, "553 denied %s\r\n", long)
			return err
		}}, step, uint64(i))
	}
	for i, step := range []string{"OPENDIR", "READDIR", "OPEN", "READ", "FSTAT"} {
		w.add("sftp", kind{name: "long text", strike: func(w *wire, well []byte) error {
			_, err := w.Write(status(idOf(well), fxFailure, long[:1<<20-100]))
			return err
		}}, step, uint64(i))
	}
	w.configure(true)
	p := w.up()
	w.peaceful(p)
	w.must(w.none("long texts", `SELECT source, length(message) FROM control.poll WHERE length(message) > $1
		UNION ALL SELECT file, length(message) FROM tracker.file WHERE length(message) > $1
		UNION ALL SELECT source, length(message) FROM tracker.source WHERE length(message) > $1`, longest))
	if p.said("publishing is held up") {
		t.Error("the log says that publishing is held up")
	}
	w.publishedOnce()
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}

// publishedOnce expects that document.ordered has no more records than there are
// positions.
func (w *world) publishedOnce() {
	w.t.Helper()
	type topic struct {
		Name    string `json:"topic"`
		Records int64
	}
	topics, err := list[topic](w, "topics", "list")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, at := range topics {
		if !strings.Contains(at.Name, "document.ordered") || strings.HasSuffix(at.Name, ".dlq") {
			continue
		}
		w.must(w.none("positions, fewer than the records of "+at.Name, `SELECT next - 1, $1::bigint FROM control.position WHERE next - 1 < $1`, at.Records))
	}
}

// A3: files that come a byte at a time end as too_slow, and others' files flow
// meanwhile.
func TestSlowServersDelayNobody(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	release := w.hold()
	drip := func(w *wire, well []byte) error { return w.drip(well, 250*time.Millisecond) }
	for i := range 12 {
		w.add("ftp", kind{name: "drip", size: 4 << 20, strike: drip}, "transfer", uint64(i))
	}
	w.add("sftp", kind{name: "drip", size: 1 << 20, strike: func(w *wire, well []byte) error {
		select {
		case <-w.s.stopped:
			return errEnough
		case <-time.After(250 * time.Millisecond):
		}
		_, err := w.Write(frame(fxpData, idOf(well), str("P")))
		return err
	}}, "READ", 1)
	w.configure(true)
	p := w.up()
	// As many as there are workers are slow before others are there.
	w.must(func() string {
		n := 0
		for _, s := range w.hostile {
			if s.struck.Load() > 0 {
				n++
			}
		}
		if n < 8 {
			return fmt.Sprintf("%d transfers have begun", n)
		}
		return ""
	})
	release()
	w.peaceful(p)
	w.must(w.none("slow files that have not ended as too_slow, or by SFTP as timed_out", `SELECT file, phase, status, exception, message FROM tracker.file WHERE file LIKE 'J.%' AND coalesce(exception, '') NOT IN ('too_slow', $1)`, "timed_out"))
}

// A4: replies, listings and names without an end are ended by a name, within a
// bound of memory that is the same whatever the server sends.
func TestEndlessTalk(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, unbounded())
	named := map[string][]string{
		"reply-without-end": {"greeting", "PASS", "CWD"}, "reply-endless-line": {"USER", "MLSD"}, "feat-endless": {"FEAT"},
		"listing-huge-names": {"listing"}, "listing-endless-line": {"listing"}, "listing-endless-ignored": {"listing"},
		"sftp-listing-endless-one-channel": {"READDIR"}, "sftp-listing-huge-names": {"READDIR"}, "ssh-banner-endless": {"version"},
	}
	for i, k := range append(ftpKinds(), sftpKinds()...) {
		protocol := "ftp"
		if i >= len(ftpKinds()) {
			protocol = "sftp"
		}
		for _, step := range named[k.name] {
			w.add(protocol, k, step, uint64(i))
		}
	}
	w.configure(true)
	p := w.up()
	w.peaceful(p)
	if wrong := w.judge(make([]uint64, len(w.hostile))); len(wrong) > 0 {
		t.Error(wrong)
	}
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
}

// A7: what servers only say that they will send takes no room away from others.
// The claims of three of them are together all that there is.
func TestClaimsTakeNoRoom(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("skipped: a small disk takes root")
	}
	yaml := strings.Replace(settings(), "download: {", "download: {max_file_size: 9000000000000000000, ", 1)
	w := setUp(t, 4, yaml+"blobs: {dir: ./disk, min_free: 1MiB}\n")
	release := w.hold()
	disk := filepath.Join(w.dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("skipped: no small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	room := int64(63 << 20)
	for i, claim := range []int64{room * 45 / 100, room * 45 / 100, room - 2*(room*45/100) - 64<<10} {
		w.add("ftp", kind{name: "claim", claim: claim, strike: func(w *wire, well []byte) error { return w.drip(well, 250*time.Millisecond) }}, "transfer", uint64(i))
	}
	w.configure(true)
	p := w.up()
	w.must(w.struck)
	release()
	w.must(w.goodInserted)
	w.must(w.none("files that had no room, or needed a second attempt",
		`SELECT file, exception, attempts FROM tracker.file WHERE file NOT LIKE 'J.%' AND (attempts > 1 OR exception = 'no_room')`))
	if p.ended() {
		t.Error(p.tail())
	}
}

// A8: dates, sizes and names that no store takes end by name, each alone, and
// up --once ends.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	for i, k := range append(ftpKinds(), sftpKinds()...) {
		protocol := "ftp"
		if i >= len(ftpKinds()) {
			protocol = "sftp"
		}
		switch k.name {
		case "listing-bad-dates", "listing-bad-sizes", "listing-traversal-names", "listing-old-odd":
			w.add(protocol, k, "listing", uint64(i))
		case "sftp-listing-attrs", "sftp-listing-names":
			w.add(protocol, k, "READDIR", uint64(i))
		}
	}
	w.configure(true)
	once := w.start("up", "--once")
	if _, ok := once.code(); !ok {
		t.Fatalf("up --once does not end\n%s", once.tail())
	}
	engines := w.start("engines")
	w.must(func() string {
		if engines.ended() {
			t.Fatal(engines.tail())
		}
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	w.must(w.goodInserted)
	w.must(w.none("sources whose listing was not recorded", `SELECT source, state, exception FROM control.poll WHERE source LIKE 'x%' AND state <> 'complete'`))
	for _, s := range w.hostile {
		if s.sftp() || s.name == "listing-traversal-names" {
			continue // these sizes and times may all be stored, and these names say nothing about either
		}
		// The good entry beside the others is recorded as any.
		w.must(func() string {
			rows, err := w.rows(`SELECT file FROM tracker.file WHERE file = $1`, s.file)
			if err != nil || len(rows) != 1 {
				return fmt.Sprintf("%s: the entry beside them is not recorded: %v %v", s.name, rows, err)
			}
			return ""
		})
	}
	for _, name := range []string{"J.2023-02-01.", "J.2023-03-01.", "J.2023-03-05."} { // year 0; -1; beyond 64 bits
		w.must(func() string {
			rows, err := w.rows(`SELECT exception FROM tracker.file WHERE file LIKE $1 || '%' AND ended`, name)
			if err != nil || len(rows) != 1 || rows[0] != "listing_entry_invalid" {
				return fmt.Sprintf("%s… ended as %v %v, expected is listing_entry_invalid", name, rows, err)
			}
			return ""
		})
	}
	w.must(w.none("entries without a name of what is wrong", `SELECT file FROM tracker.file WHERE status = 'failed' AND coalesce(exception, '') = ''`))
}

// B3: names that a poll passes over can be seen.
func TestIgnoredNamesAreVisible(t *testing.T) {
	t.Parallel()
	w := setUp(t, 1, "")
	var names []string
	for i := range 3000 {
		names = append(names, facts("10", "20240101000000", fmt.Sprintf("notes-%04d.txt", i)))
	}
	w.add("ftp", kind{name: "ignored", strike: lines(append(names, facts("1", "20240101000000", "readme\x1b[31m\u202e.txt"))...)}, "listing", 1)
	w.configure(true)
	once := w.start("up", "--once")
	if _, ok := once.code(); !ok {
		t.Fatal(once.tail())
	}
	shown := w.start("sources", "ignored")
	if !shown.endsWell() {
		t.Fatal(shown.tail())
	}
	text := shown.output()
	if !strings.Contains(text, "notes-0000.txt") || !shown.said("2001 more") {
		t.Errorf("sources ignored shows neither the names nor how many more there are:\n%.600s", text)
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("sources ignored writes control characters to the terminal")
	}
}

// B5: directories that held files and are suddenly not there conclude nothing,
// however often.
func TestEmptiedBase(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	w.configure(false)
	if once := w.start("up", "--once"); !once.endsWell() {
		t.Fatal(once.tail())
	}
	w.hold()
	for range 3 {
		once := w.start("up", "--once")
		if _, ok := once.code(); !ok {
			t.Fatal(once.tail())
		}
	}
	engines := w.start("engines")
	w.must(func() string {
		if engines.ended() {
			t.Fatal(engines.tail())
		}
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	w.must(w.none("files taken for gone", `SELECT source, name FROM control.hosting WHERE state = 'gone'`))
	w.must(w.none("sources whose last poll is not base_emptied", `SELECT source, exception FROM tracker.source WHERE exception IS DISTINCT FROM 'base_emptied'`))
}

func (p *process) endsWell() bool {
	code, ok := p.code()
	return ok && code == 0
}

// C3: a scheme that is not known is refused, and opens nothing.
func TestUnknownSchemes(t *testing.T) {
	t.Parallel()
	w := setUp(t, 1, "")
	for _, url := range []string{"gopher:///etc", "scp://127.0.0.1/etc", "dir:///etc", "gs://etc", "://etc", "/etc", "fil://%2fetc", "sftp+file:///etc", "FILE2:///etc"} {
		text := w.good + "  - id: odd\n    centre: J\n    url: '" + url + "'\n"
		if err := os.WriteFile(w.rig.Config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"config", "check"}, {"sources", "check", "odd"}} {
			p := w.start(args...)
			code, ok := p.code()
			if !ok || code == 0 {
				t.Errorf("tributary %s takes %s\n%s", strings.Join(args, " "), url, p.output())
			}
			if strings.Contains(p.output(), "passwd") {
				t.Errorf("tributary %s lists %s", strings.Join(args, " "), url)
			}
		}
	}
}
