package poll

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// foreign is a file of the centre J: its own source may show it, src, which the
// centre H runs, only where hosts says so.
const foreign = "J.2024-09-09.01.impc.zip"

// hosts is what src may show from now on.
func (b *bench) hosts(h config.Hosts) {
	src := b.defined()
	src.Hosts = h
	b.define(src)
}

// withOwn adds a source of the centre J, and returns its server.
func (b *bench) withOwn() *server {
	b.t.Helper()
	own := &server{dirs: map[string][]remote.Entry{"add": nil, "delete": nil}}
	err := pg.InTx(b.t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		_, err := controltest.PutSource(b.t.Context(), tx, control.Source{ID: "jax", Centre: "J", Server: "jax:22", Protocol: "sftp", State: "available", MaxSessions: 2, Interval: time.Hour})
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.define(config.Source{ID: "jax", Centre: "J", URL: "file:///jax"})
	b.deps.Dial = func(_ context.Context, cfg remote.Config) (remote.Session, error) {
		if cfg.URL == "file:///jax" {
			return own, nil
		}
		return b.server, nil
	}
	return own
}

// lists is a poll of one source from beginning to end.
func (b *bench) lists(source, centre, server string) {
	b.t.Helper()
	id := uuid.NewString()
	b.number++
	err := pg.InTx(b.t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		return control.OpenSession(b.t.Context(), tx, id, b.number, true, b.now, map[string]control.DueSource{
			schemas.ID("poll", id, source): {ID: source, Centre: centre, Server: server}})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	p, ok, err := control.TakePoll(b.t.Context(), b.deps.Pool, "test", nil, b.now, b.deps.TTL)
	if err != nil || !ok {
		b.t.Fatalf("no poll of %s can be taken: %v", source, err)
	}
	b.clear()
	b.one(b.t.Context(), p)
	b.now = b.now.Add(time.Minute)
}

func (b *bench) listsOwn()     { b.t.Helper(); b.lists("jax", "J", "jax:22") }
func (b *bench) listsForeign() { b.t.Helper(); b.lists("src", "H", "host:22") }

func (s *server) showIn(dir, name string, size int64) {
	s.dirs[dir] = append(s.dirs[dir], remote.Entry{Name: name, Size: size, ModTime: noon.Add(-time.Hour), Precision: time.Second})
}

const (
	stands  = "SELECT action, centre, exception FROM control.file ORDER BY action"
	hosting = "SELECT source, state, look FROM control.hosting ORDER BY source"
)

func (b *bench) is(what, sql, want string) {
	b.t.Helper()
	if got := b.text(sql); got != want {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// What a source may not show is refused by name, with the line that would allow
// it, and announced to nobody; its own centre's file beside it goes on.
func TestAnotherCentresFileIsRefused(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(good, 10)
	b.server.showIn("delete", foreign, 9)
	b.listing()
	b.saysOf(foreign, "file "+foreign+" zip_name failed centre_not_hosted_here", "hosting "+foreign+" look 1 gone centre_not_hosted_here")
	b.saysOf(good, "file "+good+" zip_name done", "hosting "+good+" look 1 present", "discovered "+good+" look 1 new")
	b.is("looks", "SELECT domain, class FROM control.look ORDER BY 1", "H announced\nJ rejected")
	if got := b.text("SELECT message FROM control.file WHERE name = $1", foreign); !strings.HasSuffix(got, "hosts: [J]") {
		t.Errorf("the message names no line that would allow it: %s", got)
	}
	if got := b.task().Attributes["not_hosted"]; got != "1" {
		t.Errorf("the poll's event counts %q as not hosted here", got)
	}
	b.listing()
	b.saysOf(foreign)
	if got := b.task().Attributes["not_hosted"]; got != "1" {
		t.Errorf("the next poll's event counts %q as not hosted here", got)
	}
}

// saysOf expects what is told of a file, in any order.
func (b *bench) saysOf(name string, want ...string) {
	b.t.Helper()
	var got []string
	for _, s := range b.said() {
		if strings.Contains(s, name) {
			got = append(got, s)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("of %s is told\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The refusal is the hosting's: whichever is listed first, the file that its own
// centre's source shows is announced, and stays as it is.
func TestARefusalIsNotHeldAgainstTheFile(t *testing.T) {
	for _, first := range []string{"the own source", "the other one"} {
		t.Run(first+" is listed first", func(t *testing.T) {
			b := newBench(t)
			own := b.withOwn()
			own.showIn("add", foreign, 10)
			b.server.show(foreign, 666)
			if first == "the other one" {
				b.listsForeign()
				b.is("the file", stands, "add J centre_not_hosted_here")
			}
			b.listsOwn()
			b.saysOf(foreign, "file "+foreign+" zip_name done", "hosting "+foreign+" look 1 present", "discovered "+foreign+" look 1 new")
			b.listsForeign()
			b.is("the file", stands, "add J ")
			b.is("its hostings", hosting, "jax present 1\nsrc gone 1")
			b.server.show(foreign, 667)
			b.listsForeign()
			b.saysOf(foreign, "hosting "+foreign+" look 2 gone centre_not_hosted_here")
			b.is("the file", stands, "add J ")
			b.is("looks", "SELECT source, class FROM control.look WHERE class <> 'rejected'", "jax announced")
		})
	}
}

// Two polls at once know nothing of each other: what one refuses is not held
// against the file that the other has recorded meanwhile, and nothing is told of it.
func TestARefusalRacesWithTheOwnListing(t *testing.T) {
	b := newBench(t)
	b.withOwn().showIn("add", foreign, 10)
	b.listsOwn()
	b.clear()
	b.session()
	p, _ := b.take()
	conn, err := b.deps.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	before := control.Listed{File: schemas.FileID("add", foreign), Action: "add", Name: foreign, Size: 666} // looked up before the other recorded it
	if err := b.record(t.Context(), conn, polled{p, b.defined()}, []control.Listed{before}, &counts{}); err != nil {
		t.Fatal(err)
	}
	b.says("hosting " + foreign + " look 1 gone centre_not_hosted_here")
	b.is("the file", stands, "add J ")
}

// A source that is allowed later is taken at its word at its next poll.
func TestWhatIsAllowedLaterIsTakenUp(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.server.show(foreign, 10)
	b.server.showIn("delete", foreign, 10)
	b.listing()
	b.is("the files", stands, "add J centre_not_hosted_here\ndelete J centre_not_hosted_here")
	b.hosts(config.Hosts{{Centre: "j", Actions: []string{"add"}}})
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.says("file "+foreign+" zip_name done", "hosting "+foreign+" look 2 present", "discovered "+foreign+" look 2 new", "task done")
	b.is("the files", stands, "add J \ndelete J centre_not_hosted_here")
	b.hosts(config.Hosts{{Centre: config.AllCentres}})
	b.listing()
	b.says("file "+foreign+" zip_name done", "hosting "+foreign+" look 2 present", "discovered "+foreign+" look 2 new", "task done")
	b.listing()
	b.says("task done")
}

// Permission that is withdrawn ends what was never fetched, by name, and leaves
// what was accepted as it is; granted again, both are taken up.
func TestWhatIsNotAllowedAnyMore(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.hosts(config.Hosts{{Centre: "J"}})
	b.server.show(foreign, 10)
	b.server.showIn("delete", foreign, 10)
	b.listing()
	fetched := schemas.FileID("add", foreign)
	b.exec("UPDATE control.look SET class = 'taken'")
	b.exec("UPDATE control.file SET current_sha256 = 'abc', current_attempt = 1 WHERE id = $1", fetched)
	b.exec(`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, result) VALUES ($1, $2, 'J', 'src', 1, 10, 'ended', 'complete')`, schemas.LiveRun, fetched)

	b.hosts(nil)
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.is("the files", stands, "add J \ndelete J centre_not_hosted_here")
	b.is("what was accepted", "SELECT current_sha256, current_attempt FROM control.file WHERE action = 'add'", "abc 1")
	b.is("the hostings", "SELECT DISTINCT state, look FROM control.hosting", "gone 2")
	b.listing()
	b.says("task done")

	b.hosts(config.Hosts{{Centre: "J"}})
	b.now = b.now.Add(time.Hour)
	b.listing()
	b.is("the files", stands, "add J \ndelete J ")
	b.is("what is announced", "SELECT look, count(*) FROM control.look WHERE class = 'announced' GROUP BY 1", "3 2")
}

// A name whose centre was not known is judged again once it is: then the centre
// may be one that the source may not show.
func TestACentreThatBecomesKnownMayNotBeHostedHere(t *testing.T) {
	b := newBench(t)
	b.once = true
	const strange = "Xyz.2026-01-02.1.impc.zip"
	b.server.show(strange, 10)
	b.listing()
	b.centres([]config.Centre{{ShortName: "Xyz"}})
	b.listing()
	b.is("the file", stands, "add Xyz centre_not_hosted_here")
	b.listing()
	b.says("task done")
}
