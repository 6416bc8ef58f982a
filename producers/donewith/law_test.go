package donewith

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/sql/control"
)

// played is a source of which a rapid test decides what happens, step by step: its
// centre uploads and withdraws, polls list it, files are fetched and inserted, workers
// act and die in between. The listing of a poll and what is concluded from it are two
// steps, and so are a worker's intent, its act and its end.
type played struct {
	*bench
	conn     *pgxpool.Conn
	minute   int
	session  int64
	listings []listing // taken, and not concluded from

	uploads map[string]int // versions of each file by the centre, from 1; 0: it has withdrawn the last
	content map[string]int // the version that lies there
	fetched map[string]int // the version that control's look of it is
	loaded  map[string]int // the last version whose documents are all inserted
	ours    map[string]bool
}

type listing struct {
	session int64
	entries []control.Entry
}

func (p *played) clear() {
	for _, sql := range []string{"DELETE FROM control.done_with", "DELETE FROM control.attempt", "DELETE FROM control.acquisition", "DELETE FROM control.batch", "DELETE FROM control.hosting", "DELETE FROM control.file",
		"DELETE FROM control.outbox", "DELETE FROM control.job_session", "UPDATE control.done_with_visit SET lease_until = '-infinity'", "UPDATE control.counter SET value = 0 WHERE name = 'session'"} {
		p.exec(sql)
	}
	_ = os.RemoveAll(filepath.Join(p.dir, "add"))
	_ = os.Mkdir(filepath.Join(p.dir, "add"), 0o755)
	p.now, p.minute, p.session, p.listings, p.applied, p.searched = noon, 0, 0, nil, 0, -1
	p.uploads, p.content, p.fetched, p.loaded, p.ours = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	p.bench.loaded = map[string]int{}
}

func (p *played) file(name string) string { return schemas.FileID("add", name) }

// upload has the centre put another version of a file there, or the same bytes again.
func (p *played) upload(name string) {
	p.minute++
	p.uploads[name]++
	p.content[name] = p.uploads[name]
	p.ours[name] = false
	p.put("add/"+name, fmt.Sprint(p.uploads[name]%10), noon.Add(time.Duration(p.minute)*time.Minute))
}

func (p *played) withdraw(name string) {
	if p.content[name] > 0 {
		p.content[name] = 0
		_ = os.Remove(filepath.Join(p.dir, "add", name))
	}
}

// list is what a poll of a new session reads.
func (p *played) list(t *rapid.T) {
	p.session++
	p.exec("UPDATE control.counter SET value = $1 WHERE name = 'session'", p.session)
	l := listing{session: p.session}
	s, err := connectors.All().Dial(p.t.Context(), remote.Config{URL: "file://" + p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.List(p.t.Context(), "add", func(e remote.Entry) error {
		at := e.ModTime
		l.entries = append(l.entries, control.Entry{File: p.file(e.Name), Action: "add", Name: e.Name, Size: e.Size, ModTime: &at})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p.listings = append(p.listings, l)
}

// conclude does what a complete poll does with the oldest listing that was read. What is
// new is fetched at once.
func (p *played) conclude(t *rapid.T) {
	if len(p.listings) == 0 {
		return
	}
	l := p.listings[0]
	p.listings = p.listings[1:]
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, at := p.t.Context(), control.Poll{Source: "src", Number: l.session}
	must(control.CreateListing(ctx, p.conn))
	_, err := control.StoreListing(ctx, p.conn, l.entries)
	must(err)
	fresh, err := control.Compare(ctx, p.conn, "src", l.session, nil, "00000000-0000-0000-0000-000000000000", 100, false)
	must(err)
	must(pg.InTx(ctx, p.conn, func(tx pgx.Tx) error {
		seen := []control.Sighting{}
		centre, date, inc := "H", "2026-01-02", int64(1)
		for _, f := range fresh {
			seen = append(seen, control.Sighting{File: f.File, Name: f.Name, Action: "add", Centre: &centre, FileDate: &date, FileInc: &inc, Look: f.Look + 1, Size: f.Size, ModTime: f.ModTime, ListedAt: p.now, Settled: true, Class: "taken"})
		}
		if _, err := control.Record(ctx, tx, at, p.now, seen); err != nil {
			return err
		}
		if _, err := control.CountMissing(ctx, tx, at); err != nil {
			return err
		}
		gone, err := control.MarkGone(ctx, tx, at, 1, "00000000-0000-0000-0000-000000000000", 100)
		for _, g := range gone {
			if p.ours[g.Name] {
				t.Fatalf("%s was taken away by us, and counts as withdrawn by its centre", g.Name)
			}
		}
		return err
	}))
	for _, f := range fresh {
		if p.ours[f.Name] && p.content[f.Name] == 0 {
			t.Fatalf("%s was taken away by us, and a listing from before announces it again", f.Name)
		}
		p.fetch(f)
	}
}

// fetch brings the bytes that lie there, if they still are what was listed, and has
// plan's part of it done but for the insertion.
func (p *played) fetch(f control.Listed) {
	p.fetched[f.Name] = 0
	info, err := os.Stat(filepath.Join(p.dir, "add", f.Name))
	if err != nil || !info.ModTime().UTC().Equal(f.ModTime.UTC()) {
		return
	}
	p.fetched[f.Name] = p.content[f.Name]
	p.applied++
	sha := fmt.Sprint("sha", p.content[f.Name])
	p.exec(`WITH b AS (INSERT INTO control.batch (id, domain, opened_at, number, released_at, last_position) VALUES (gen_random_uuid(), 'H', $5, $6, $5, $6) RETURNING id),
		n AS (UPDATE control.file SET attempts = attempts + 1 WHERE id = $1 RETURNING attempts),
		a AS (INSERT INTO control.acquisition (run, file, domain, batch, source, look, size, state, attempt, sha256, documents, result)
			SELECT $2, $1, 'H', b.id, 'src', $3, 1, 'ended', n.attempts, $4, 2, 'complete' FROM b, n RETURNING id, attempt)
		INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job) SELECT $2, $1, a.attempt, a.id, 'src', $3, gen_random_uuid() FROM a`,
		f.File, schemas.LiveRun, f.Look+1, sha, p.now, p.applied)
	p.bench.loaded[f.File] = 1 // of two
}

func (p *played) insert(name string) {
	if v := p.fetched[name]; v > 0 {
		p.loaded[name] = v
		p.bench.loaded[p.file(name)] = 2
	}
}

// visit has a worker look at what is due, which dies before or after an act, if ever.
func (p *played) visit(t *rapid.T, dies string) {
	p.now = p.now.Add(25 * time.Hour)
	if err := p.search(p.t.Context()); err != nil {
		t.Fatal(err)
	}
	at, ok, err := control.TakeDoneVisit(p.t.Context(), p.deps.Pool, "test", p.now, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return
	}
	if dies != "" {
		p.die(t, at, dies)
	} else if err := p.Worker.visit(p.t.Context(), at); err != nil {
		t.Fatal(err)
	}
	p.exec("UPDATE control.done_with_visit SET lease_until = '-infinity'")
	p.exec("DELETE FROM control.job_session")
	p.judge(t)
}

// die is a visit up to the death of its member.
func (p *played) die(t *rapid.T, at control.DoneVisit, when string) {
	due, err := control.DueAt(p.t.Context(), p.deps.Pool, "src", p.now, 1)
	if err != nil || len(due) == 0 {
		return
	}
	d := due[0]
	_, acts, _ := ruleOf(at.Standing)
	if !d.Shown {
		return
	}
	ok, err := control.BeginDone(p.t.Context(), p.deps.Pool, at, d, acts, true, p.now)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(p.dir, "add", d.Name))
	if ok && err == nil && when == "after" && same(d, remote.Entry{Size: info.Size(), ModTime: info.ModTime()}) {
		_ = os.Remove(filepath.Join(p.dir, "add", d.Name))
	}
}

// judge finds what was taken away, and holds that against what was inserted.
func (p *played) judge(t *rapid.T) {
	for name, v := range p.content {
		if _, err := os.Stat(filepath.Join(p.dir, "add", name)); v == 0 || err == nil {
			continue
		}
		if p.loaded[name] != v {
			t.Fatalf("version %d of %s was deleted, and %d is inserted", v, name, p.loaded[name])
		}
		p.content[name], p.ours[name] = 0, true
	}
}

// Whatever happens in whatever order, and whoever dies: what is deleted is inserted,
// nothing that was deleted by us counts as withdrawn, and once all is quiet, every file
// that is inserted is away, and what is not stays.
func TestLawOfDoneWith(t *testing.T) {
	b := newBench(t, t.TempDir(), "delete", config.Source{}, nil)
	b.order(true)
	conn, err := b.deps.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	p := &played{bench: b, conn: conn}
	names := []string{first, second}
	rapid.Check(t, func(t *rapid.T) {
		p.clear()
		which := func(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "file") }
		t.Repeat(map[string]func(*rapid.T){
			"upload":     func(t *rapid.T) { p.upload(which(t)) },
			"withdraw":   func(t *rapid.T) { p.withdraw(which(t)) },
			"list":       func(t *rapid.T) { p.list(t) },
			"conclude":   func(t *rapid.T) { p.conclude(t) },
			"insert":     func(t *rapid.T) { p.insert(which(t)) },
			"visit":      func(t *rapid.T) { p.visit(t, "") },
			"die before": func(t *rapid.T) { p.visit(t, "before") },
			"die after":  func(t *rapid.T) { p.visit(t, "after") },
		})
		for range 3 {
			for p.list(t); len(p.listings) > 0; {
				p.conclude(t)
			}
			for _, name := range names {
				p.insert(name)
			}
			p.visit(t, "")
		}
		for name, v := range p.content {
			if v > 0 {
				t.Fatalf("version %d of %s is inserted, and was not deleted: it stands %v", v, name, p.stands())
			}
		}
	})
}
