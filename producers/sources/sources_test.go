package sources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is a registry whose configuration and clock the test changes.
type bench struct {
	Registry
	t    *testing.T
	pool *pgxpool.Pool
	now  time.Time
}

// builtin is loaded once for all tests.
var builtin = sync.OnceValues(func() (*profile.Profile, error) { return profile.Builtin("impc") })

// byMe is who changes things in these tests, and why.
var byMe = control.Decision{By: "me", Reason: "why"}

func newBench(t *testing.T, declared ...config.Source) *bench {
	t.Helper()
	pool := controltest.Open(t, 10)
	codec := schemastest.Codec(t)
	p, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, pool: pool, now: noon}
	b.Registry = Registry{Config: config.Default(), Profile: p, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Now: func() time.Time { return b.now }}
	b.declare(declared...)
	return b
}

// declare is the start of a member with the role schedule and such a configuration.
func (b *bench) declare(all ...config.Source) {
	b.t.Helper()
	b.Config.Sources = all
	b.do(func(tx pgx.Tx) error { _, err := b.Sync(b.t.Context(), tx, false, sourcestate.Cause{}); return err })
}

func (b *bench) do(fn func(tx pgx.Tx) error) {
	b.t.Helper()
	if err := pg.InTx(b.t.Context(), b.pool, fn); err != nil {
		b.t.Fatal(err)
	}
}

// try makes a change; what it returns is the source's Done and Detail.
func (b *bench) try(change func(context.Context, pgx.Tx) ([]Change, error)) (said string, err error) {
	err = pg.InTx(b.t.Context(), b.pool, func(tx pgx.Tx) error {
		changes, err := change(b.t.Context(), tx)
		for _, c := range changes {
			said += strings.TrimSpace(c.Source+" "+c.Done+" "+c.Detail) + "\n"
		}
		return err
	})
	return said, err
}

func (b *bench) put(all ...config.Source) (string, error) {
	return b.try(func(ctx context.Context, tx pgx.Tx) ([]Change, error) { return b.Put(ctx, tx, all, byMe) })
}

func (b *bench) remove(ids ...string) (string, error) {
	return b.try(func(ctx context.Context, tx pgx.Tx) ([]Change, error) { return b.Remove(ctx, tx, ids, byMe) })
}

func (b *bench) order(give func(context.Context, pgx.Tx, outbox.Outbox, []string, sourcestate.Cause, time.Time) ([]sourcestate.Outcome, error), id string) {
	b.t.Helper()
	b.do(func(tx pgx.Tx) error {
		_, err := give(b.t.Context(), tx, b.Outbox, []string{id}, sourcestate.Cause{}, b.now)
		return err
	})
}

func (b *bench) text(sql string, args ...any) string {
	b.t.Helper()
	var out string
	if err := b.pool.QueryRow(b.t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// stands is how the source is: where, how, and by whom.
func (b *bench) stands(id string) string {
	b.t.Helper()
	return b.text("SELECT concat_ws(' ', server, state, declared, definition->>'url') AS is FROM control.source WHERE id = $1", id)
}

// told are the events of sources since the last call.
func (b *bench) told() (out []string) {
	b.t.Helper()
	for _, m := range outboxtest.Drain(b.t, b.pool, control.Schema, b.Outbox.Codec) {
		if e := m.Body.(*schemas.StatusChanged); e.Entity == schemas.EntitySource {
			out = append(out, strings.Join([]string{e.Source, e.Attributes["state"], e.Attributes["declared"], e.Message, e.Attributes["definition"]}, "|"))
		}
	}
	return out
}

var (
	inFile    = config.Source{ID: "a", Centre: "h", URL: "sftp://u@one/out", KnownHosts: "/etc/known", IdentityFile: "/etc/key", State: "available"}
	byHand    = config.Source{ID: "b", Centre: "Ics", URL: "ftp://u@two/", Password: "env:SECRET_OF_B", MaxSessions: 3, Interval: config.Duration(time.Hour)}
	elsewhere = config.Source{ID: "b", Centre: "Ics", URL: "ftp://u@three:2121/", Password: "env:OTHER"}
)

// A source is added, changed and removed by people while all runs: each change is
// one event that says who, why, and how the source is now, and no secret.
func TestSourcesAreDefinedByPeople(t *testing.T) {
	t.Setenv("SECRET_OF_B", "hunter2")
	b := newBench(t, inFile)
	b.told()
	expect := func(said string, err error, want, stands string, told ...string) {
		b.t.Helper()
		if err != nil || said != want {
			b.t.Errorf("it says %q, %v; want %q", said, err, want)
		}
		if got := b.stands("b"); got != stands {
			b.t.Errorf("b is %s, want %s", got, stands)
		}
		got := b.told()
		if d := cmp.Diff(told, got); d != "" {
			b.t.Errorf("events differ (- want, + got):\n%s", d)
		}
		if strings.Contains(fmt.Sprint(got), "hunter2") {
			b.t.Error("a secret is told")
		}
	}
	first := `{"id": "b", "url": "ftp://u@two/", "centre": "Ics", "interval": "1h", "password": "env:SECRET_OF_B", "max_sessions": 3}`
	second := `{"id": "b", "url": "ftp://u@three:2121/", "centre": "Ics", "password": "env:OTHER"}`
	said, err := b.put(byHand)
	expect(said, err, "b added\n", "(\"two:21 available f ftp://u@two/\")", "b|available|false|added by me: why|"+first)
	if got := b.text("SELECT max_sessions, poll_interval, next_due = $1, hosts FROM control.source WHERE id = 'b'", noon); got != "(3,01:00:00,t,{Ics})" {
		t.Errorf("b is %s", got)
	}
	said, err = b.put(byHand)
	expect(said, err, "b unchanged\n", "(\"two:21 available f ftp://u@two/\")")
	b.exec("UPDATE control.source SET next_due = 'infinity'")
	said, err = b.put(elsewhere)
	expect(said, err, "b changed interval: 1h → default; max_sessions: 3 → default; password: env:SECRET_OF_B → env:OTHER; url: ftp://u@two/ → ftp://u@three:2121/\n",
		"(\"three:2121 available f ftp://u@three:2121/\")", "b|available|false|changed by me: why|"+second)
	if got := b.text("SELECT max_sessions, poll_interval, next_due = $1 FROM control.source WHERE id = 'b'", noon); got != "(4,00:15:00,t)" {
		t.Errorf("b is %s", got)
	}
	said, err = b.remove("b")
	expect(said, err, "b removed\n", "(\"three:2121 removed f ftp://u@three:2121/\")", "b|removed|false|removed by me: why|"+second)
	said, err = b.put(byHand)
	expect(said, err, "b added\n", "(\"two:21 available f ftp://u@two/\")", "b|available|false|added by me: why|"+first)
}

func TestChangesThatAreRefused(t *testing.T) {
	b := newBench(t, inFile)
	b.told()
	other := inFile
	other.URL = "sftp://u@two/out"
	add := byHand
	for name, tt := range map[string]struct {
		change func() (string, error)
		want   error
	}{
		"to change what is declared":  {func() (string, error) { return b.put(add, other) }, ErrDeclared},
		"to remove what is declared":  {func() (string, error) { return b.remove("a") }, ErrDeclared},
		"to remove what nobody knows": {func() (string, error) { return b.remove("nobody") }, ErrUnknown},
		"to remove what was removed already": {func() (string, error) {
			b.exec("UPDATE control.source SET state = 'removed', declared = false")
			return b.remove("a")
		}, ErrUnknown},
	} {
		b.exec("UPDATE control.source SET state = 'available', declared = true")
		if said, err := tt.change(); !errors.Is(err, tt.want) || said != "" {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		if got := b.told(); len(got) > 0 {
			t.Errorf("%s: events %q", name, got)
		}
	}
	if got := b.stands("b"); got != "" {
		t.Errorf("of two changes one is made: %s", got)
	}
	b.exec("UPDATE control.source SET state = 'available', declared = true")
	said, err := b.put(inFile)
	if err != nil || said != "a unchanged\n" {
		t.Errorf("to say what the configuration says: %q, %v", said, err)
	}
}

// A list defines all sources or none, and prunes only what people have defined.
func TestApply(t *testing.T) {
	b := newBench(t, inFile)
	c := config.Source{ID: "c", Centre: "H", URL: "file:///c", State: "maintenance"}
	apply := func(prune bool, all ...config.Source) (string, error) {
		return b.try(func(ctx context.Context, tx pgx.Tx) ([]Change, error) {
			return b.Apply(ctx, tx, config.Blocks{Sources: all}, prune, byMe)
		})
	}
	for _, tt := range []struct {
		prune bool
		all   []config.Source
		want  string
	}{
		{false, []config.Source{byHand, c}, "b added\nc added\n"},
		{false, []config.Source{inFile, elsewhere}, "a unchanged\nb changed interval: 1h → default; max_sessions: 3 → default; password: env:SECRET_OF_B → env:OTHER; url: ftp://u@two/ → ftp://u@three:2121/\n"},
		{true, []config.Source{elsewhere}, "b unchanged\nc removed\n"},
		{true, []config.Source{elsewhere}, "b unchanged\n"},
		{true, nil, "b removed\n"},
	} {
		if said, err := apply(tt.prune, tt.all...); err != nil || said != tt.want {
			t.Errorf("%v: it says %q, %v; want %q", tt.all, said, err, tt.want)
		}
	}
	if got := b.stands("a"); got != `("one:22 available t sftp://u@one/out")` {
		t.Errorf("what the configuration declares is %s", got)
	}
}

// Who changes several sources waits for others who do, and never with others for
// each other, in whatever order the sources are named.
func TestChangesOfSeveralSourcesWaitInTurn(t *testing.T) {
	b := newBench(t)
	c := byHand
	c.ID = "c"
	must(b.put(byHand, c))
	for name, change := range map[string]func() (string, error){
		"put": func() (string, error) { return b.put(c, byHand) },
		"apply": func() (string, error) {
			return b.try(func(ctx context.Context, tx pgx.Tx) ([]Change, error) {
				return b.Apply(ctx, tx, config.Blocks{Sources: []config.Source{c}}, true, byMe)
			})
		},
		"remove": func() (string, error) { return b.remove("c", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			must(b.put(byHand, c))
			tx, err := b.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			hold := func(id string) {
				t.Helper()
				if _, err := tx.Exec(t.Context(), "SELECT FROM control.source WHERE id = $1 FOR UPDATE", id); err != nil {
					t.Fatal(err)
				}
			}
			hold("b")
			ended := make(chan error, 1)
			go func() { _, err := change(); ended <- err }()
			for b.text("SELECT count(*) FROM pg_locks WHERE NOT granted") == "(0)" {
				select {
				case err := <-ended:
					t.Fatalf("nobody waits: %v", err)
				case <-t.Context().Done():
				case <-time.After(time.Millisecond):
				}
			}
			hold("c")
			if err := errors.Join(tx.Commit(t.Context()), <-ended); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPrecedence is the table of docs/how-to/sources.md: who wins, for definition
// and for state.
func TestPrecedence(t *testing.T) {
	moved := inFile
	moved.URL = "sftp://u@moved/out"
	maintained := inFile
	maintained.State = "maintenance"
	asHand := inFile
	asHand.ID = "b"
	for name, tt := range map[string]struct {
		do   func(b *bench)
		id   string
		want string
	}{
		"a start with the same file leaves the state":                      {func(b *bench) { b.order(sourcestate.MaintainUntil(nil), "a"); b.declare(inFile) }, "a", `("one:22 maintenance t sftp://u@one/out")`},
		"a start with another definition changes it, and leaves the state": {func(b *bench) { b.order(sourcestate.MaintainUntil(nil), "a"); b.declare(moved) }, "a", `("moved:22 maintenance t sftp://u@moved/out")`},
		"a start with another state changes it":                            {func(b *bench) { b.declare(maintained) }, "a", `("one:22 maintenance t sftp://u@one/out")`},
		"a start leaves what people added":                                 {func(b *bench) { b.declare(inFile) }, "b", `("two:21 available f ftp://u@two/")`},
		"a start without sources leaves it too":                            {func(b *bench) { b.declare() }, "b", `("two:21 available f ftp://u@two/")`},
		"a start without a source removes it":                              {func(b *bench) { b.declare() }, "a", `("one:22 removed t sftp://u@one/out")`},
		"what people added may be declared later":                          {func(b *bench) { b.declare(inFile, asHand) }, "b", `("one:22 available t sftp://u@one/out")`},
		"declared later it may be declared no more":                        {func(b *bench) { b.declare(inFile, asHand); b.declare(inFile) }, "b", `("one:22 removed t sftp://u@one/out")`},
		"what was declared may be added when removed":                      {func(b *bench) { b.declare(); must(b.put(moved)) }, "a", `("moved:22 available f sftp://u@moved/out")`},
		"an edit leaves the state":                                         {func(b *bench) { b.order(sourcestate.MaintainUntil(nil), "b"); must(b.put(elsewhere)) }, "b", `("three:2121 maintenance f ftp://u@three:2121/")`},
		"an edit of how it is reached ends a suspension": {func(b *bench) {
			b.exec("UPDATE control.source SET state = 'suspended', suspended_at = now(), suspended_why = 'why' WHERE id = 'b'")
			must(b.put(elsewhere))
		}, "b", `("three:2121 available f ftp://u@three:2121/")`},
		"an edit of its priority does not": {func(b *bench) {
			b.exec("UPDATE control.source SET state = 'suspended', suspended_at = now(), suspended_why = 'why' WHERE id = 'b'")
			urgent, first := byHand, 9
			urgent.Priority = &first
			must(b.put(urgent))
		}, "b", `("two:21 suspended f ftp://u@two/")`},
		"another default holds for what people added": {func(b *bench) {
			must(b.put(elsewhere))
			b.Config.Schedule.Interval = config.Duration(7 * time.Minute)
			b.declare(inFile)
			if got := b.text("SELECT poll_interval FROM control.source WHERE id = 'b'"); got != "(00:07:00)" {
				b.t.Errorf("b is polled each %s", got)
			}
		}, "b", `("three:2121 available f ftp://u@three:2121/")`},
		"what a newer program has defined stays": {func(b *bench) {
			b.exec(`UPDATE control.source SET definition = '{"id": "b", "url": "ftp://u@two/", "window": "night"}' WHERE id = 'b'`)
			b.declare(inFile)
		}, "b", `("two:21 available f ftp://u@two/")`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, inFile)
			must(b.put(byHand))
			tt.do(b)
			if got := b.stands(tt.id); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.id, got, tt.want)
			}
		})
	}
}

func must(_ string, err error) {
	if err != nil {
		panic(err)
	}
}

// What a program of before has stored has no definition until a member with the
// role schedule starts: then all sources are told anew, once, and a suspended one
// stays so.
func TestSourcesOfAProgramBefore(t *testing.T) {
	b := newBench(t, inFile)
	b.exec("UPDATE control.source SET definition = '{}', state = 'suspended', suspended_at = now(), suspended_why = 'why'")
	b.told()
	b.declare(inFile)
	want := []string{`a|suspended|||{"id": "a", "url": "sftp://u@one/out", "centre": "h", "known_hosts": "/etc/known", "identity_file": "/etc/key"}`}
	if d := cmp.Diff(want, b.told()); d != "" {
		t.Errorf("events differ (- want, + got):\n%s", d)
	}
	b.declare(inFile)
	if got := b.told(); len(got) > 0 {
		t.Errorf("events: %q", got)
	}
}

// Members with a file that another has replaced undo nothing, however often they
// start; a person may have it count again. Where all members share one host's
// engines, the last start counts.
func TestAReplacedConfigurationDeclaresNothing(t *testing.T) {
	older, newer := inFile, inFile
	newer.URL = "sftp://u@newer/out"
	b := newBench(t, older)
	b.Config.Postgres.URL = "env:ELSEWHERE"
	sync := func(want error, all ...config.Source) {
		t.Helper()
		b.Config.Sources = all
		err := pg.InTx(t.Context(), b.pool, func(tx pgx.Tx) error { _, err := b.Sync(t.Context(), tx, false, sourcestate.Cause{}); return err })
		replaced := (*ReplacedError)(nil)
		if errors.As(err, &replaced) != (want != nil) || err != nil && want == nil {
			t.Errorf("error is %v", err)
		}
		if replaced != nil && !replaced.Since.Equal(b.now) {
			t.Errorf("replaced since %v", replaced.Since)
		}
	}
	is := func(want string) {
		t.Helper()
		if got := b.stands("a"); got != want {
			t.Errorf("a is %s, want %s", got, want)
		}
	}
	const first, second = `("one:22 available t sftp://u@one/out")`, `("newer:22 available t sftp://u@newer/out")`
	sync(nil, older)
	is(first)
	b.now = b.now.Add(time.Hour)
	sync(nil, newer, byHand)
	is(second)
	b.told()
	sync(&ReplacedError{}, older)
	is(second)
	if got := b.told(); len(got) > 0 || b.stands("b") == "" {
		t.Errorf("events: %q; b is %s", got, b.stands("b"))
	}
	sync(nil, newer, byHand)
	b.Config.Sources = []config.Source{older}
	said, err := b.try(func(ctx context.Context, tx pgx.Tx) ([]Change, error) { return b.Redeclare(ctx, tx, byMe) })
	if want := "a changed url: sftp://u@newer/out → sftp://u@one/out\nb removed\n"; err != nil || said != want {
		t.Errorf("it says %q, %v; want %q", said, err, want)
	}
	if got := b.told(); len(got) != 2 || !strings.Contains(got[0], "|declared by me: why|") {
		t.Errorf("events: %q", got)
	}
	sync(nil, older)
	sync(&ReplacedError{}, newer, byHand)
	is(first)
	b.Config.Postgres.URL = ""
	sync(nil, newer, byHand)
	is(second)
	for n := range 1010 {
		b.do(func(tx pgx.Tx) error { return control.Declare(t.Context(), tx, fmt.Sprint(n), int64(1000+n), b.now) })
	}
	if got := b.text("SELECT count(*), max(revision) FROM control.declaration"); got != "(1000,2009)" {
		t.Errorf("remembered are %s", got)
	}
}
