package poll

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// server is a source in memory.
type server struct {
	dial  error
	dirs  map[string][]remote.Entry
	fail  error // after the entries of a directory
	hang  bool  // after the entries of a directory, until the caller gives up
	bare  bool  // the base directory is not there
	after func()
	base  []remote.Entry                                                   // what the base directory shows
	mu    sync.Mutex                                                       // of asked: several polls may be at one server
	asked []string                                                         // the directories that were listed
	known func(dir string, entries []remote.Entry) ([]remote.Entry, error) // what the poller knows

	unreadable error    // of every file
	opened     []string // paths
}

func (s *server) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	s.mu.Lock()
	s.asked = append(s.asked, dir)
	s.mu.Unlock()
	entries, ok := s.dirs[dir]
	if dir == "" && !s.bare {
		for _, e := range s.base {
			if err := yield(e); err != nil {
				return err
			}
		}
		return yield(remote.Entry{Name: "readme.txt"})
	}
	if !ok {
		return fs.ErrNotExist
	}
	for _, e := range entries {
		if err := yield(e); err != nil {
			return err
		}
	}
	if s.after != nil {
		s.after()
	}
	if s.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.fail
}

func (s *server) Stat(_ context.Context, path string) (remote.Entry, error) {
	dir, name, _ := strings.Cut(path, "/")
	for _, e := range s.dirs[dir] {
		if e.Name == name {
			return e, s.fail
		}
	}
	return remote.Entry{}, fs.ErrNotExist
}
func (s *server) Open(_ context.Context, path string, _ int64) (io.ReadCloser, error) {
	s.opened = append(s.opened, path)
	if s.unreadable != nil {
		return nil, s.unreadable
	}
	return io.NopCloser(strings.NewReader("content")), nil
}
func (s *server) Concurrency() int { return 1 }
func (s *server) Close() error     { return nil }

// show puts a file into the directory add.
func (s *server) show(name string, size int64) {
	s.hide(name)
	s.dirs["add"] = append(s.dirs["add"], remote.Entry{Name: name, Size: size, ModTime: noon.Add(-time.Hour), Precision: time.Second})
}

func (s *server) hide(name string) {
	var kept []remote.Entry
	for _, e := range s.dirs["add"] {
		if e.Name != name {
			kept = append(kept, e)
		}
	}
	s.dirs["add"] = kept
}

// bench is a poller of one source, whose clock the test moves.
type bench struct {
	*Poller
	t      *testing.T
	server *server
	now    time.Time
	number int64
	once   bool
}

// builtin is loaded once for all tests.
var builtin = sync.OnceValues(func() (*profile.Profile, error) { return profile.Builtin("impc") })

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, controltest.Guarded(t, 8, ""))
}

func newBenchOn(t *testing.T, pool *pgxpool.Pool) *bench {
	t.Helper()
	codec := schemastest.Codec(t)
	p, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: noon, server: &server{dirs: map[string][]remote.Entry{"add": nil}}}
	b.Poller = New(config.Default().Poll, Deps{Profile: p, Pool: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Holder: "test", TTL: time.Minute,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
		Dial: func(_ context.Context, cfg remote.Config) (remote.Session, error) {
			b.server.known = cfg.Known
			if b.server.dial != nil {
				return nil, b.server.dial
			}
			return b.server, nil
		}})
	b.centres(nil)
	err = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", Active: true}, 1); err != nil {
			return err
		}
		_, err := controltest.PutSource(t.Context(), tx, control.Source{ID: "src", Centre: "H", Server: "host:22", Protocol: "sftp", State: "available", MaxSessions: 2, Interval: time.Hour})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere"})
	return b
}

// define says how a source that control has is defined from now on.
func (b *bench) define(src config.Source) {
	b.t.Helper()
	text, err := src.Definition()
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec("UPDATE control.source SET definition = $2::text::jsonb WHERE id = $1", src.ID, text)
}

// defined is how src is defined now.
func (b *bench) defined() config.Source {
	b.t.Helper()
	places, err := control.Places(b.t.Context(), b.deps.Pool, []string{"src"})
	if err != nil {
		b.t.Fatal(err)
	}
	src, err := config.ParseDefinition(places["src"].Definition)
	if err != nil {
		b.t.Fatal(err)
	}
	return src
}

// centres are those of the profile and the configuration's own.
func (b *bench) centres(own []config.Centre) {
	set, err := centres.Set(b.deps.Profile, config.Config{Centres: own})
	if err != nil {
		b.t.Fatal(err)
	}
	b.deps.Centres = set
}

// session opens a session with a poll of the source.
func (b *bench) session() string {
	b.t.Helper()
	id := uuid.NewString()
	b.number++
	err := pg.InTx(b.t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		return control.OpenSession(b.t.Context(), tx, id, b.number, b.once, b.now, map[string]control.DueSource{
			schemas.ID("poll", id, "src"): {ID: "src", Centre: "H", Server: "host:22"}})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) take() (control.Poll, bool) {
	b.t.Helper()
	p, ok, err := control.TakePoll(b.t.Context(), b.deps.Pool, "test", nil, b.now, b.deps.TTL)
	if err != nil {
		b.t.Fatal(err)
	}
	return p, ok
}

// listing is a session's poll from beginning to end; it returns how it ended.
func (b *bench) listing() string {
	b.t.Helper()
	id := b.session()
	p, ok := b.take()
	if !ok {
		b.t.Fatal("no poll can be taken")
	}
	b.clear()
	b.one(b.t.Context(), p)
	return b.text("SELECT state FROM control.poll WHERE session = $1", id)
}

func (b *bench) clear() { b.exec("DELETE FROM control.outbox") }

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.deps.Pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// text is a statement's rows, one a line, columns separated by blanks.
func (b *bench) text(sql string, args ...any) string {
	b.t.Helper()
	return text1(b.t, b.deps.Pool, sql, args...)
}

func text1(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	out := ""
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if out != "" {
			out += "\n"
		}
		for i, v := range values {
			if i > 0 {
				out += " "
			}
			out += fmt.Sprint(v)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// events are the outbox's messages, oldest first.
func (b *bench) events() []schemas.Message {
	b.t.Helper()
	return outboxtest.Events(b.t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec)
}

// said sums up the events: what changed, in the order told.
func (b *bench) said() []string {
	b.t.Helper()
	var out []string
	for _, m := range b.events() {
		switch e := m.Body.(type) {
		case *schemas.FileDiscovered:
			out = append(out, fmt.Sprintf("discovered %s look %d %s", e.FileName, e.Look, e.Change))
		case *schemas.StatusChanged:
			switch e.Entity {
			case schemas.EntityFile:
				out = append(out, fmt.Sprintf("file %s %s %s%s", e.FileName, e.Phase, e.Status, blank(e.Exception)))
			case schemas.EntityHosting:
				out = append(out, fmt.Sprintf("hosting %s look %d %s%s", e.FileName, e.Look, e.Attributes["state"], blank(e.Note)))
			case schemas.EntityTask:
				out = append(out, fmt.Sprintf("task %s%s", e.Status, blank(e.Exception)))
			}
		}
	}
	return out
}

func blank(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}
