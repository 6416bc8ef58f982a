package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
	"tributary/test/wait"
)

// system is one installation: a corpus, what serves it, a configuration and the
// data that becomes of it.
type system struct {
	t       testing.TB
	binary  string
	dir     string
	rig     *rig.Rig
	corpus  *corpus.Corpus
	started int
	answers bool      // queries have been answered since the data was begun
	conn    *pgx.Conn // see connected

	fromNothing bool // it makes its databases by itself in each life
	whole       bool // its profile releases batches whole

	on       *apache  // see brokers
	embedded bool     // the embedded broker, whatever the environment names
	more     []string // variables of the environment of what is started
}

// onceWithin only ends a run of up --once that hangs: on a machine that is busy
// with much else all takes many times as long as it should.
const onceWithin = 10 * time.Minute

// setUp generates a corpus and serves it.
func setUp(t testing.TB, of corpus.Options, o rig.Options) *system {
	t.Helper()
	s := &system{t: t, binary: program(t), dir: openDir(t)}
	var err error
	if s.corpus, err = corpus.Generate(of); err != nil {
		t.Fatal(err)
	}
	s.rig, err = rig.Start(t.Context(), s.dir, s.corpus, o)
	servers.Need(t, err)
	t.Cleanup(s.rig.Stop)
	return s
}

// openDir is a directory that another user can enter, since an embedded
// Postgres is one when the tests run as root. Its path is short, as paths of
// sockets must be.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "trib-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("TRIBUTARY_KEEP") != "" {
			t.Logf("what the test left is in %s", dir)
			return
		}
		// Engines that were killed may still be going down.
		eventually(t, wait.Patience(), func() string {
			if err := os.RemoveAll(dir); err != nil {
				return err.Error()
			}
			return ""
		})
	})
	return dir
}

func (s *system) data() string { return filepath.Join(s.dir, "data") }

// forget removes all data, so that the next run begins anew.
func (s *system) forget() {
	s.t.Helper()
	s.answers = false
	s.otherTopics()
	eventually(s.t, wait.Patience(), func() string {
		if err := os.RemoveAll(s.data()); err != nil {
			return err.Error()
		}
		return ""
	})
}

// once runs up --once and expects that it ends well.
func (s *system) once() {
	s.t.Helper()
	p := s.start("up", "--once")
	if code := p.code(onceWithin); code != 0 {
		s.t.Fatalf("tributary up --once: exit code %d\n%s", code, p.tail())
	}
}

// engines serves the engines while do asks them; queries then need not start
// them each time.
func (s *system) engines(do func(engine.Endpoints)) {
	s.t.Helper()
	p := s.start("engines")
	var at engine.Endpoints
	eventually(s.t, wait.Patience(), func() string {
		select {
		case <-p.done:
			s.t.Fatalf("tributary engines ended: %v\n%s", p.err, p.tail())
		default:
		}
		ep, running, err := engine.Attach(s.data())
		if err != nil {
			return err.Error()
		}
		if !running {
			return "the engines don't run"
		}
		at = ep
		return ""
	})
	do(at)
	p.stop()
}

// ask runs a command and returns what it wrote.
func (s *system) ask(args ...string) string {
	s.t.Helper()
	p := s.start(args...)
	if code := p.code(wait.Patience()); code != 0 {
		s.t.Fatalf("tributary %s: exit code %d\n%s", strings.Join(args, " "), code, p.tail())
	}
	out := p.output()
	if err := errors.Join(os.Remove(p.log), os.Remove(p.out)); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// begun tells whether the schemas are there, so that they can be asked.
func (s *system) begun() bool {
	s.t.Helper()
	if !s.answers {
		s.answers = s.start("files").code(wait.Patience()) == 0
	}
	return s.answers
}

// list runs a command with -o json and returns its rows.
func list[T any](s *system, args ...string) []T {
	s.t.Helper()
	rows, err := decoded[T](strings.NewReader(s.ask(append(args, "-o", "json")...)))
	if err != nil {
		s.t.Fatalf("tributary %s -o json: %v", strings.Join(args, " "), err)
	}
	return rows
}

// decoded are the rows that a command with -o json writes.
func decoded[T any](from io.Reader) (rows []T, err error) {
	for d := json.NewDecoder(from); ; {
		var row T
		switch err := d.Decode(&row); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		}
		rows = append(rows, row)
	}
}

// sql asks a store as the command of this name does: through what it calls while the
// engines run, as a process for each of a thousand questions takes the processor for
// longer than its answer does, and with the command otherwise.
func sql[T any](s *system, store, query string) []T {
	s.t.Helper()
	at, running, err := engine.Attach(s.data())
	if err != nil {
		s.t.Fatal(err)
	}
	if !running {
		return list[T](s, "sql", "--store", store, query)
	}
	var out bytes.Buffer
	if err := answer(s.t.Context(), at, store, query, &out); err != nil {
		s.t.Fatalf("%s: %v\n%s", store, err, query)
	}
	rows, err := decoded[T](&out)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", store, err, query)
	}
	return rows
}

// answer writes what a store of running engines answers.
func answer(ctx context.Context, at engine.Endpoints, store, query string, out io.Writer) error {
	if store == "history" {
		c := config.Default().ClickHouse
		conn, err := engine.OpenClickHouse(at.ClickHouse, c.Database)
		if err != nil {
			return err
		}
		asked := report.ClickHouse{Conn: conn, Timeout: wait.Patience(), MaxMemory: int64(c.MaxMemory)}
		return errors.Join(report.SQL(ctx, asked, query, out, report.JSON), conn.Close())
	}
	pool, err := pg.Open(ctx, at.Postgres, "", 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	return report.SQL(ctx, report.Postgres{Pool: pool, Schema: store, Timeout: wait.Patience()}, query, out, report.JSON)
}

// hungUp waits until servers have noticed that nobody is connected to them any more.
func hungUp(t testing.TB, all map[string]*servers.FaultySFTP) {
	t.Helper()
	eventually(t, wait.Patience(), func() string {
		for id, server := range all {
			if open, _, _ := server.Sessions(); open > 0 {
				return fmt.Sprintf("%d sessions at the server of %s are still open", open, id)
			}
		}
		return ""
	})
}

func (s *system) hash() string {
	s.t.Helper()
	return strings.TrimSpace(s.ask("warehouse", "hash"))
}
