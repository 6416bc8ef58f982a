package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// B4: a source whose polls keep failing is suspended, which status says with the
// way on; once it is mended a person resumes it, and its files are taken up, no
// more of them by one poll than poll.max_new says. A poll that has not ended when
// the next is due is counted.
func TestSourcesThatRest(t *testing.T) {
	t.Parallel()
	const shown, atOnce = 12, 5
	w := setUp(t, 1, strings.Replace(settings(), "poll: {", fmt.Sprintf("poll: {suspend_after: 2, probe_interval: 5s, max_new: %d, ", atOnce), 1))
	base := filepath.Join(w.dir, "late")
	w.good += "  - id: late\n    centre: J\n    interval: 1s\n    url: file://" + base + "\n"
	drip := func(w *wire, well []byte) error { return w.drip(well, 250*time.Millisecond) }
	slow := w.source(w.add("ftp", kind{name: "drip", strike: drip}, "listing", 1))
	w.configure(true)
	text, err := os.ReadFile(w.rig.Config)
	if err == nil {
		err = os.WriteFile(w.rig.Config, []byte(strings.ReplaceAll(string(text), "interval: 30s", "interval: 1s")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := w.up()
	state := func(want string) func() string {
		return func() string {
			rows, err := w.rows(`SELECT r.short_name FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id WHERE s.short_name = 'late'`)
			if err != nil || len(rows) != 1 || rows[0] != want {
				return fmt.Sprintf("the source is %v %v, want %s", rows, err, want)
			}
			return ""
		}
	}
	w.must(state("suspended"))
	said, err := w.ask("status")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"source late is suspended since ", " polls in a row failed, the last of them: base_missing", "tributary sources resume late"} {
		if !strings.Contains(said, part) {
			t.Errorf("status doesn't say %q:\n%s", part, said)
		}
	}

	if err := os.MkdirAll(filepath.Join(base, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range shown {
		if err := os.WriteFile(filepath.Join(base, "add", fmt.Sprintf("J.2024-05-06.%02d.impc.zip", i+1)), archive(1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A probe may have been quicker.
	if out, err := w.ask("sources", "resume", "late", "--reason", "mounted"); err != nil || !strings.Contains(out, "true") && !strings.Contains(out, "it is available") {
		t.Fatalf("it can't be resumed: %v\n%s", err, out)
	}
	w.must(state("available"))
	w.must(func() string {
		rows, err := w.rows(`SELECT count(*) FROM tracker.file WHERE file LIKE 'J.2024-05-06.%' AND ended`)
		if err != nil || rows[0] != fmt.Sprint(shown) {
			return fmt.Sprintf("%v of %d files have ended: %v", rows, shown, err)
		}
		return ""
	})
	w.must(w.none("polls that took up more than poll.max_new", `SELECT k.session, count(*) FROM control.look k WHERE k.source = 'late' AND k.look = 1 GROUP BY 1 HAVING count(*) > $1`, atOnce))
	w.must(w.none("files taken for gone", `SELECT name FROM control.hosting WHERE source = 'late' AND state = 'gone'`))
	w.must(func() string {
		rows, err := w.rows(`SELECT overruns FROM tracker.file_source WHERE short_name = $1 AND overruns > 0`, slow)
		if err != nil || len(rows) != 1 {
			return fmt.Sprintf("the source %s, whose polls take longer than its interval, has no overruns: %v", slow, err)
		}
		return ""
	})
	w.must(w.goodInserted)
	if p.ended() {
		t.Errorf("the process has ended\n%s", p.tail())
	}
}
