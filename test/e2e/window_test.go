package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// Nothing is listed nor fetched at a source whose window is closed, while the others
// are worked on; an edit opens it, and its files arrive. A round passes it over once
// it is closed again, says so, and is whole all the same.
func TestASourceOutsideOfItsWindow(t *testing.T) {
	t.Parallel()
	long(t, "TestPollsOutsideOfAWindow", "TestJobsKeepToWindows")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: "poll: {settle: 0s}\nsequence: {late_limit: 1s}\n"})
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	head, sources, _ := strings.Cut(string(text), "\nsources:\n")
	s.rewrite(head)
	id := s.corpus.Sources[0].ID
	window := fmt.Sprintf(`[{cron: "0 %d * * *", for: 1h}]`, (time.Now().UTC().Hour()+12)%24)
	all := filepath.Join(s.dir, "sources.yaml")
	begins := "  - id: " + id + "\n"
	if !strings.Contains(sources, begins) {
		t.Fatalf("%s is not in\n%s", id, sources)
	}
	if err := os.WriteFile(all, []byte("sources:\n"+strings.Replace(sources, begins, begins+"    windows: "+window+"\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule poll plan publish download unzip validate sequence insert tracker history")
		s.ask("sources", "apply", "-f", all)
		s.control(func(c *pgx.Conn) string {
			var others, own int
			err := c.QueryRow(t.Context(), `SELECT count(DISTINCT source) FILTER (WHERE source <> $1 AND state = 'complete'), count(*) FILTER (WHERE source = $1) FROM control.poll`, id).Scan(&others, &own)
			if own > 0 {
				t.Fatalf("%s is polled outside of its window", id)
			}
			if want := len(s.corpus.Sources) - 1; err != nil || others < want {
				return fmt.Sprintf("%d of %d sources are listed, %v", others, want, err)
			}
			return ""
		})
		if shown := s.ask("sources", "show", id); !strings.Contains(shown, "its window is closed until ") {
			t.Errorf("it is shown as\n%s", shown)
		}
		s.ask("sources", "edit", id, "windows=", "--reason", "at once, please")
		s.settled(members...)
		s.ask("sources", "edit", id, "windows="+window)
		for _, m := range members {
			m.stop()
		}
	})
	p := s.start("up", "--once")
	if code := p.code(wait.Patience()); code != 0 || !strings.Contains(p.tail(), "source "+id+" was not listed: it is outside of its window, which opens at ") {
		t.Errorf("a round ends with %d:\n%s", code, p.tail())
	}
	s.expect(false)
}
