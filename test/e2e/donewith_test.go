package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// Sources that define done_with: delete are only shown what would be deleted until a
// person orders it. Then exactly the files go that are inserted to the last document,
// each told with who ordered it; that listings lack them withdraws nothing, of however
// much of a directory, and the warehouse stays as it was.
func TestFilesThatAreInsertedAreDeletedWhenOrdered(t *testing.T) {
	t.Parallel()
	long(t, "TestNothingIsDoneBeforeAllIsInserted", "TestLawOfDoneWith")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: "schedule: {interval: 2s, tick: 200ms, jitter: 0}\npoll: {settle: 0s}\nsequence: {late_limit: 1s}\n"})
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	var lines, ids []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "- id: "); ok && !strings.Contains(id, " ") {
			ids = append(ids, strings.TrimSpace(id))
		}
		if strings.HasPrefix(strings.TrimSpace(line), "url: file://") {
			lines = append(lines, "    done_with: delete\n")
		}
	}
	s.rewrite(strings.Join(lines, ""))
	before := s.zips()
	s.once()
	hash := s.hash()
	if d := slices.Compare(before, s.zips()); d != 0 {
		t.Fatalf("without an order the sources' files are others: %d, were %d", len(s.zips()), len(before))
	}
	s.engines(func(engine.Endpoints) {
		s.members("schedule poll plan publish", "download unzip validate", "sequence insert tracker history")
		s.control(func(c *pgx.Conn) string {
			var shown, done int
			err := c.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE state = 'shown'), count(*) FILTER (WHERE state NOT IN ('shown','due')) FROM control.done_with").Scan(&shown, &done)
			if err != nil || done > 0 {
				t.Fatalf("%d are done with, %v", done, err)
			}
			if shown == 0 {
				return "nothing is shown yet"
			}
			return ""
		})
		s.ask(append([]string{"sources", "act", "--reason", "agreed"}, ids...)...)
		s.control(func(c *pgx.Conn) string {
			var open, done int
			err := c.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE state IN ('shown','due','acting')), count(*) FILTER (WHERE state = 'done') FROM control.done_with").Scan(&open, &done)
			if err != nil || open > 0 || done == 0 {
				return fmt.Sprintf("%d are done with and %d are not yet, %v", done, open, err)
			}
			return ""
		})
		var last int64
		s.control(func(c *pgx.Conn) string {
			if err := c.QueryRow(t.Context(), "SELECT max(number) FROM control.session").Scan(&last); err != nil {
				return err.Error()
			}
			return ""
		})
		// Two sessions later the absence would have counted.
		s.control(func(c *pgx.Conn) string {
			var lacking string
			err := c.QueryRow(t.Context(), `SELECT coalesce(string_agg(s.id, ' '), '') FROM control.source s WHERE s.state = 'available'
				AND (SELECT count(*) FROM control.poll p JOIN control.session n ON n.id = p.session WHERE p.source = s.id AND n.number > $1 AND p.state = 'complete') < 3`, last).Scan(&lacking)
			if err != nil || lacking != "" {
				return fmt.Sprintf("no three complete polls of %s, %v", lacking, err)
			}
			var gone int
			if err := c.QueryRow(t.Context(), "SELECT count(*) FROM control.hosting WHERE state = 'gone' OR misses > 0").Scan(&gone); err != nil || gone > 0 {
				t.Errorf("%d count as gone or lacking, %v", gone, err)
			}
			return ""
		})
		after := s.zips()
		kept := map[string]bool{}
		for _, f := range after {
			kept[filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f)] = true
		}
		type row struct{ Action, Name, State, Message string }
		eventually(t, wait.Patience(), func() string {
			rows := sql[row](s, "tracker", `SELECT f.action, f.file AS name, h.state, coalesce(h.message, '') AS message FROM file_source_has_zip h JOIN file f ON f.id = h.za_id WHERE h.state = 'done_with'`)
			if len(rows) != len(before)-len(after) {
				return fmt.Sprintf("%d files are gone from the sources, and %d are told", len(before)-len(after), len(rows))
			}
			for _, r := range rows {
				if !strings.Contains(r.Message, "deleted at the source") || !strings.Contains(r.Message, "agreed") {
					t.Errorf("%s/%s: %s", r.Action, r.Name, r.Message)
				}
			}
			return ""
		})
		type stand struct{ Action, Name, Status string }
		for _, f := range sql[stand](s, "tracker", "SELECT action, file AS name, status FROM file") {
			if !kept[f.Action+"/"+f.Name] && f.Status != "done" {
				t.Errorf("%s/%s is gone from its source, and stands %s", f.Action, f.Name, f.Status)
			}
		}
	})
	if got := s.hash(); got != hash {
		t.Error("the warehouse is another than before the deletions")
	}
}

// zips are the paths of all zips that the sources show.
func (s *system) zips() (all []string) {
	s.t.Helper()
	if err := filepath.WalkDir(s.sources(), func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(p, ".zip") {
			all = append(all, p)
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return all
}
