package donewith

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is a worker of one source, of which the test says what is inserted.
type bench struct {
	*Worker
	t       *testing.T
	dir     string
	now     time.Time
	applied int64
	loaded  map[string]int // documents by file
}

// newBench makes a worker of a source that defines done_with; the source is the
// directory dir, reached as c says.
func newBench(t *testing.T, dir, rule string, src config.Source, reach func(*remote.Config)) *bench {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, now: noon, loaded: map[string]int{}}
	b.Worker = New(config.Default().Poll, Deps{
		Pool: controltest.Guarded(t, 6, ""), Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec},
		Applied: func(context.Context) (int64, error) { return b.applied, nil },
		Loaded: func(_ context.Context, files, _ []string) (map[string]int, error) {
			out := map[string]int{}
			for _, f := range files {
				out[f] = b.loaded[f]
			}
			return out, nil
		},
		Dial: func(ctx context.Context, c remote.Config) (remote.Session, error) {
			if reach != nil {
				reach(&c)
			}
			return connectors.All().Dial(ctx, c)
		},
		Holder: "test", TTL: time.Minute, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
	})
	if src.URL == "" {
		src.URL = "file://" + dir
	}
	src.ID, src.Centre, src.DoneWith = "src", "H", rule
	b.define(src)
	return b
}

// define says how the source is defined from now on.
func (b *bench) define(src config.Source) {
	b.t.Helper()
	text, err := src.Definition()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := pg.InTx(b.t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		_, err := controltest.PutSource(b.t.Context(), tx, control.Source{ID: "src", Centre: "H", Server: "host:22", Protocol: "sftp", URL: src.URL, State: "available", MaxSessions: 1, Interval: time.Hour, Definition: text})
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
}

// order gives or takes back the order to act.
func (b *bench) order(act bool) sourcestate.Outcome {
	b.t.Helper()
	o := sourcestate.Orders{Decision: control.Decision{By: "ann", Reason: "agreed with H", At: b.now}, Pool: b.deps.Pool, Outbox: b.deps.Outbox}
	all, err := Order(b.t.Context(), o, Wish{Act: act}, "src")
	if err != nil {
		b.t.Fatal(err)
	}
	return all[0]
}

// put writes a file into the directory of the source.
func (b *bench) put(name, text string, at time.Time) {
	b.t.Helper()
	p := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(p, at, at); err != nil {
		b.t.Fatal(err)
	}
}

// received has control know a file of add, listed, fetched, and complete in a batch
// that ends at a position; it returns its id.
func (b *bench) received(name, text string, position int64) string {
	b.t.Helper()
	b.put("add/"+name, text, noon.Add(-time.Hour))
	file := schemas.FileID("add", name)
	batch := uuid.NewString()
	b.exec("INSERT INTO control.file (id, name, action, centre, file_date, file_inc, current_sha256) VALUES ($1, $2, 'add', 'H', '2026-01-02', 1, 'sha')", file, name)
	b.exec("INSERT INTO control.hosting (source, file, action, name, look, size, mtime, listed_at, settled, state) VALUES ('src', $1, 'add', $2, 1, $3, $4, $4, true, 'present')", file, name, len(text), noon.Add(-time.Hour))
	b.exec("INSERT INTO control.batch (id, domain, opened_at, number, released_at, last_position) VALUES ($1, 'H', $2, $3, $2, $3)", batch, noon, position)
	b.exec("INSERT INTO control.acquisition (run, file, domain, batch, source, look, size, state, attempt, sha256, documents, result) VALUES ($1, $2, 'H', $3, 'src', 1, $4, 'ended', 1, 'sha', 2, 'complete')", schemas.LiveRun, file, batch, len(text))
	b.exec("INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job) SELECT run, file, 1, id, 'src', 1, $2 FROM control.acquisition WHERE file = $1", file, uuid.NewString())
	return file
}

// inserted is received, and in the warehouse.
func (b *bench) inserted(name, text string) string {
	b.t.Helper()
	b.applied++
	file := b.received(name, text, b.applied)
	b.loaded[file] = 2
	return file
}

// round has the worker look and act, a day later than the last time.
func (b *bench) round() {
	b.t.Helper()
	b.now = b.now.Add(25 * time.Hour)
	if err := b.Round(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.deps.Pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// stands is how each file stands, by name: its state here, and its hosting's.
func (b *bench) stands() map[string]string {
	b.t.Helper()
	rows, err := b.deps.Pool.Query(b.t.Context(), "SELECT h.name, coalesce(d.state, 'unknown'), coalesce(d.exception, ''), h.state FROM control.hosting h LEFT JOIN control.done_with d ON d.source = h.source AND d.file = h.file")
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]string{}
	var name, state, exception, hosting string
	if _, err := pgx.ForEachRow(rows, []any{&name, &state, &exception, &hosting}, func() error {
		if exception != "" {
			state += " " + exception
		}
		out[name] = state + ", " + hosting
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// there are the paths of the directory's files.
func (b *bench) there() []string {
	b.t.Helper()
	all := []string{}
	if err := filepath.WalkDir(b.dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(b.dir, p)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// said are the events of the outbox about hostings and sources, and empties it.
func (b *bench) said() []string {
	b.t.Helper()
	var out []string
	for _, m := range outboxtest.Events(b.t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec) {
		e, ok := m.Body.(*schemas.StatusChanged)
		switch {
		case !ok:
		case e.Entity == schemas.EntityHosting:
			out = append(out, fmt.Sprintf("%s look %d.%d %s: %s", e.FileName, e.Look, e.Revision, e.Attributes["state"], e.Attributes["message"]))
		case e.Entity == schemas.EntitySource:
			out = append(out, e.Source+": "+e.Message)
		}
	}
	b.exec("DELETE FROM control.outbox")
	return out
}
