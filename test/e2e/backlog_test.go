package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// While very many files of one source wait, a single one comes to another source of the
// same server, which allows one session, with a lower priority: its rows are in the
// warehouse before the second job of the many has ended. TRIBUTARY_SCALE_BACKLOG is how
// many they are.
func TestABacklogKeepsNothingFromTheWarehouse(t *testing.T) {
	t.Parallel()
	long(t, "TestABacklogDelaysASingleFileByOneJob")
	many := number(t, "TRIBUTARY_SCALE_BACKLOG", 200)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true})
	one := s.loads()
	content, err := os.ReadFile(filepath.Join(s.sources(), one.Sources[0], one.Action, one.File))
	if err != nil {
		t.Fatal(err)
	}
	server := newBacklog(t, many, content)
	s.rewrite(fmt.Sprintf(`data_dir: ./data
profile: impc
schedule: {interval: 24h, jitter: 0}
poll: {settle: 0s, max_new: %d}
plan: {max_sessions: 1, job_files: 50}
sequence: {late_limit: 1s}
download: {idle_timeout: 1h, rate_grace: 1h, stall: 1h, job_budget: 1h}
sources:
  - {id: many, centre: Ics, url: '%[2]s/many'}
  - {id: one, centre: %[3]s, url: '%[2]s/one', priority: 0}
`, many, server.url, *one.Centre))
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish poll", "download unzip validate", "sequence insert tracker history")
		s.waits("not all of the many are known, or none is fetched", fmt.Sprintf("SELECT count(*) = %d AS so FROM control.hosting WHERE source = 'many'", many), func() bool { return len(server.order()) > 0 })
		// Their first job is under way until the single file waits, too.
		s.ask("files", "announce", "one", one.Action+"/"+one.File)
		s.waits("the single file is not wanted", "SELECT count(*) = 1 AS so FROM control.acquisition WHERE source = 'one' AND state = 'wanted'", nil)
		close(server.found)
		s.waits("its documents are not in the warehouse", fmt.Sprintf(`SELECT count(*) FILTER (WHERE state = 'loaded') = %d AS so FROM warehouse.document WHERE file_name = '%s'`, one.Documents, one.File), nil)
		// The second has begun, and can't end.
		s.waits("the second job of the many has not begun", "SELECT true AS so", func() bool { return len(server.order()) == 3 })
		if got := strings.Join(server.order(), " "); got != "many one many" {
			t.Errorf("jobs of %s", got)
		}
		for _, m := range members {
			m.kill(true)
		}
	})
}

// loads is a file whose documents are all loaded, of another centre than Ics.
func (s *system) loads() corpus.FileEnd {
	s.t.Helper()
	bad := map[string]bool{}
	for _, d := range s.corpus.Oracle.Documents {
		bad[d.Action+"/"+d.File] = bad[d.Action+"/"+d.File] || d.Status != "done"
	}
	for _, f := range s.corpus.Oracle.Files {
		if f.Action == "add" && f.Status == "done" && f.Documents > 0 && len(f.Sources) > 0 && f.Centre != nil && *f.Centre != "Ics" && !bad[f.Action+"/"+f.File] {
			return f
		}
	}
	s.t.Fatal("no file of the corpus is loaded whole")
	return corpus.FileEnd{}
}

// waits waits until a statement says that it is so, and also says so.
func (s *system) waits(what, statement string, also func() bool) {
	s.t.Helper()
	type row struct{ So bool }
	eventually(s.t, wait.Patience(), func() string {
		rows, err := queried[row](s, statement)
		if err != nil {
			return err.Error()
		}
		if len(rows) != 1 || !rows[0].So || also != nil && !also() {
			return what
		}
		return ""
	})
}

// backlog is a web server of two sources. It notes of which source a connection fetches
// that has listed nothing: that is a job. The first of the many goes on once the single
// file is found, the others never do.
type backlog struct {
	url   string
	found chan struct{}

	many    uint64
	content []byte // of every file

	mu   sync.Mutex
	jobs []string
}

// connection is what a connection has asked for so far.
type connection struct {
	lists bool
	job   int // from 1
}

type connectionKey struct{}

func newBacklog(t *testing.T, many uint64, content []byte) *backlog {
	b := &backlog{found: make(chan struct{}), many: many, content: content}
	server := httptest.NewUnstartedServer(b)
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, &connection{})
	}
	server.Start()
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// order is which source each job was of.
func (b *backlog) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.jobs)
}

func (b *backlog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	switch {
	case source == "robots.txt":
		http.NotFound(w, r)
	case path == "":
		c.lists = true
		b.index(w, "directory", "add", "edit", "delete")
	case strings.HasSuffix(path, "/"):
		c.lists = true
		b.index(w, "file", b.names(source, path)...)
	case !strings.HasSuffix(path, ".zip"):
		http.NotFound(w, r)
	default:
		if !c.lists && r.Method == http.MethodGet {
			b.fetched(r.Context(), c, source)
		}
		w.Header().Set("Last-Modified", shownAt.Format(http.TimeFormat))
		http.ServeContent(w, r, "", shownAt, strings.NewReader(string(b.content)))
	}
}

// shownAt is when all files were changed last.
var shownAt = time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)

// fetched notes of which source a job is, and keeps those of the many waiting.
func (b *backlog) fetched(ctx context.Context, c *connection, source string) {
	number := b.job(c, source)
	if source != "many" {
		return
	}
	found := b.found
	if number > 1 {
		found = nil
	}
	select {
	case <-found:
	case <-ctx.Done():
	}
}

// job is the number of a connection's job among those of its source.
func (b *backlog) job(c *connection, source string) (number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.job == 0 {
		b.jobs = append(b.jobs, source)
		c.job = len(b.jobs)
	}
	for _, s := range b.jobs[:c.job] {
		if s == source {
			number++
		}
	}
	return number
}

// names are the files of a source's directory. The single one comes after its poll.
func (b *backlog) names(source, dir string) (names []string) {
	if source == "one" || dir != "add/" {
		return nil
	}
	for i := range b.many {
		names = append(names, fmt.Sprintf("Ics.2020-01-01.%d.impc.zip", i+1))
	}
	return names
}

// index is a directory as nginx lists it.
func (b *backlog) index(w http.ResponseWriter, kind string, names ...string) {
	type entry struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		MTime string `json:"mtime"`
		Size  int    `json:"size"`
	}
	entries := []entry{}
	for _, n := range names {
		entries = append(entries, entry{n, kind, shownAt.Format(http.TimeFormat), len(b.content)})
	}
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(entries)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text) // whoever asks may be gone
}
