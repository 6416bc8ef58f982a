package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

var (
	uni     = config.Centre{ShortName: "Uni", FullName: "A university", Email: "data@example.org"}
	renamed = config.Centre{ShortName: "Uni", FullName: "The university"}
)

func (b *bench) putCentres(all ...config.Centre) (string, error) {
	return b.tryCentres(func(ctx context.Context, tx pgx.Tx) ([]Change, error) {
		return b.PutCentres(ctx, tx, all, byMe)
	})
}

func (b *bench) removeCentres(names ...string) (string, error) {
	return b.tryCentres(func(ctx context.Context, tx pgx.Tx) ([]Change, error) {
		return b.RemoveCentres(ctx, tx, names, byMe)
	})
}

// tryCentres makes a change; what it returns is each centre's Done and Detail.
func (b *bench) tryCentres(change func(context.Context, pgx.Tx) ([]Change, error)) (said string, err error) {
	err = pg.InTx(b.t.Context(), b.pool, func(tx pgx.Tx) error {
		changes, err := change(b.t.Context(), tx)
		for _, c := range changes {
			said += strings.TrimSpace(c.Centre+c.Source+" "+c.Done+" "+c.Detail) + "\n"
		}
		return err
	})
	return said, err
}

// centre is how control knows a centre.
func (b *bench) centre(name string) string {
	b.t.Helper()
	return b.text("SELECT concat_ws(' ', defined_by, active, full_name, email) AS is FROM control.centre WHERE short_name = $1", name)
}

// lists is the start of a member with the role schedule whose configuration lists
// such centres.
func (b *bench) lists(all ...config.Centre) {
	b.t.Helper()
	b.Config.Centres = all
	b.declare(b.Config.Sources...)
}

// without takes a centre out of the profile.
func (b *bench) without(name string) {
	p := *b.Profile
	p.Centres = slices.DeleteFunc(slices.Clone(p.Centres), func(c profile.Centre) bool { return c.ShortName == name })
	b.Profile = &p
}

// toldCentres are the events of centres since the last call.
func (b *bench) toldCentres() (out []string) {
	b.t.Helper()
	for _, m := range outboxtest.Drain(b.t, b.pool, control.Schema, b.Outbox.Codec) {
		if e := m.Body.(*schemas.StatusChanged); e.Entity == schemas.EntityCentre {
			a := e.Attributes
			out = append(out, strings.Join([]string{e.Centre, a["defined_by"], a["active"], a["removed"], a["full_name"], a["email"], a["changed"], e.Message}, "|"))
		}
	}
	return out
}

// A centre is added, changed and removed by people while all runs: each change is one
// event that says who, why, how the centre is now and what it was before.
func TestCentresAreDefinedByPeople(t *testing.T) {
	b := newBench(t)
	b.toldCentres()
	for _, tt := range []struct {
		change func() (string, error)
		said   string
		stands string
		told   []string
	}{
		{func() (string, error) { return b.putCentres(uni) }, "Uni added\n", `("person t A university data@example.org")`,
			[]string{"Uni|person|true||A university|data@example.org||added by me: why"}},
		{func() (string, error) { return b.putCentres(uni) }, "Uni unchanged\n", `("person t A university data@example.org")`, nil},
		{func() (string, error) { return b.putCentres(renamed) }, "Uni changed email: data@example.org → default; full_name: A university → The university\n", `("person t The university ")`,
			[]string{"Uni|person|true||The university||email: data@example.org → default; full_name: A university → The university|changed by me: why"}},
		{func() (string, error) { return b.removeCentres("uni") }, "Uni removed\n", "",
			[]string{"Uni|person|false|true|The university|||removed by me: why"}},
	} {
		said, err := tt.change()
		if err != nil || said != tt.said {
			t.Errorf("it says %q, %v; want %q", said, err, tt.said)
		}
		if got := b.centre("Uni"); got != tt.stands {
			t.Errorf("after %q it is %s, want %s", said, got, tt.stands)
		}
		if d := cmp.Diff(tt.told, b.toldCentres()); d != "" {
			t.Errorf("events differ (- want, + got):\n%s", d)
		}
	}
}

func TestChangesOfCentresThatAreRefused(t *testing.T) {
	b := newBench(t)
	b.lists(config.Centre{ShortName: "Own", Email: "own@example.org"})
	must(b.putCentres(uni, config.Centre{ShortName: "Ran"}, config.Centre{ShortName: "Shown"}, config.Centre{ShortName: "Seen"}))
	must(b.put(config.Source{ID: "ran", Centre: "ran", URL: "file:///x", Hosts: config.Hosts{{Centre: "shown", Actions: []string{"add"}}}}))
	b.exec("INSERT INTO control.file (id, name, action, centre) VALUES (md5('f')::uuid, 'f', 'add', 'Seen')")
	b.toldCentres()
	for name, tt := range map[string]struct {
		change func() (string, error)
		want   error
		says   string
	}{
		"to change what is listed":     {func() (string, error) { return b.putCentres(uni, config.Centre{ShortName: "Own"}) }, ErrCentreDeclared, "Own"},
		"to remove what is listed":     {func() (string, error) { return b.removeCentres("Own") }, ErrCentreDeclared, "Own"},
		"to spell one otherwise":       {func() (string, error) { return b.putCentres(config.Centre{ShortName: "UNI"}) }, ErrCentreExists, "Uni"},
		"to remove what nobody knows":  {func() (string, error) { return b.removeCentres("Uni", "Nobody") }, ErrCentreUnknown, "Nobody"},
		"to remove one twice":          {func() (string, error) { return b.removeCentres("Uni", "Uni") }, ErrCentreUnknown, "Uni"},
		"to remove the profile's":      {func() (string, error) { return b.removeCentres("H") }, ErrCentreUsed, "the profile impc"},
		"to remove one with a source":  {func() (string, error) { return b.removeCentres("Ran") }, ErrCentreUsed, "(ran)"},
		"to remove one that is hosted": {func() (string, error) { return b.removeCentres("Shown") }, ErrCentreUsed, "(ran)"},
		"to remove one with files":     {func() (string, error) { return b.removeCentres("Seen") }, ErrCentreUsed, "files of it"},
		"a source of none": {func() (string, error) {
			return b.put(config.Source{ID: "x", Centre: "Nobody", URL: "file:///x"})
		}, ErrCentreUnknown, `"Nobody"`},
		"a source that hosts none": {func() (string, error) {
			return b.put(config.Source{ID: "x", Centre: "H", URL: "file:///x", Hosts: config.Hosts{{Centre: "Nobody"}}})
		}, ErrCentreUnknown, `"Nobody"`},
	} {
		if _, err := tt.change(); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
		if got := b.toldCentres(); len(got) > 0 {
			t.Errorf("%s: events %q", name, got)
		}
	}
	if said, err := b.putCentres(config.Centre{ShortName: "Own", Email: "own@example.org"}); err != nil || said != "Own unchanged\n" {
		t.Errorf("to say what the configuration says: %q, %v", said, err)
	}
	must(b.remove("ran"))
	must(b.removeCentres("Ran", "Shown"))
}

// A file of both defines centres first, and then sources of them; all or none.
func TestCentresAndSourcesOfOneFile(t *testing.T) {
	b := newBench(t)
	src := config.Source{ID: "uni", Centre: "uni", URL: "file:///x"}
	apply := func(all config.Blocks) (string, error) {
		return b.tryCentres(func(ctx context.Context, tx pgx.Tx) ([]Change, error) { return b.Apply(ctx, tx, all, true, byMe) })
	}
	both := config.Blocks{Centres: []config.Centre{uni}, Sources: []config.Source{src, {ID: "y", Centre: "Nobody", URL: "file:///y"}}}
	if _, err := apply(both); !errors.Is(err, ErrCentreUnknown) || b.centre("Uni") != "" {
		t.Errorf("of a file that is refused: %v, %s", err, b.centre("Uni"))
	}
	both.Sources = both.Sources[:1]
	if said, err := apply(both); err != nil || said != "Uni added\nuni added\n" {
		t.Errorf("it says %q, %v", said, err)
	}
	if got := b.text("SELECT centre, hosts FROM control.source WHERE id = 'uni'"); got != "(Uni,{Uni})" {
		t.Errorf("the source is of %s", got)
	}
	b.declare()
	if got := b.text("SELECT centre, hosts, state FROM control.source WHERE id = 'uni'"); got != "(Uni,{Uni},available)" {
		t.Errorf("after a start the source is of %s", got)
	}
}

// TestPrecedenceOfCentres is the table of docs/how-to/centres.md.
func TestPrecedenceOfCentres(t *testing.T) {
	no := false
	h := config.Centre{ShortName: "H", Email: "h@example.org"}
	file := func(b *bench, centre string) {
		b.exec("INSERT INTO control.file (id, name, action, centre) VALUES (md5($1)::uuid, $1, 'add', $1)", centre)
	}
	for name, tt := range map[string]struct {
		do     func(b *bench)
		centre string
		want   string
	}{
		"a start leaves what people added":       {func(b *bench) { b.lists() }, "Uni", `("person t A university data@example.org")`},
		"what people added may be listed later":  {func(b *bench) { b.lists(renamed) }, "Uni", `("configuration t The university ")`},
		"listed later it may be listed no more":  {func(b *bench) { b.lists(renamed); b.lists() }, "Uni", ""},
		"one that has files is deactivated then": {func(b *bench) { b.lists(renamed); file(b, "Uni"); b.lists() }, "Uni", `("person f The university ")`},
		"and is people's":                        {func(b *bench) { b.lists(renamed); file(b, "Uni"); b.lists(); must(b.putCentres(uni)); b.lists() }, "Uni", `("person t A university data@example.org")`},
		"one that runs a source is deactivated too": {func(b *bench) {
			b.lists(renamed)
			must(b.put(config.Source{ID: "x", Centre: "Uni", URL: "file:///x"}))
			b.lists()
		}, "Uni", `("person f The university ")`},
		"a start changes what is listed": {func(b *bench) {
			b.lists(config.Centre{ShortName: "Own"})
			b.lists(config.Centre{ShortName: "Own", Active: &no})
		}, "Own", `("configuration f  ")`},
		"another spelling that is listed counts":       {func(b *bench) { b.lists(config.Centre{ShortName: "UNI"}) }, "Uni", ""},
		"people may define what the profile brings":    {func(b *bench) { must(b.putCentres(h)); b.lists() }, "H", `("person t MRC Harwell h@example.org")`},
		"a configuration that lists it takes it":       {func(b *bench) { must(b.putCentres(h)); b.lists(config.Centre{ShortName: "H"}) }, "H", `("configuration t MRC Harwell ")`},
		"and gives it back to the profile":             {func(b *bench) { b.lists(h); b.lists() }, "H", `("profile t MRC Harwell ")`},
		"a profile that brings it no more leaves it":   {func(b *bench) { must(b.putCentres(h)); b.without("H"); b.lists() }, "H", `("person t MRC Harwell h@example.org")`},
		"a profile that brings one no more removes it": {func(b *bench) { b.without("H"); b.lists() }, "H", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			must(b.putCentres(uni))
			tt.do(b)
			if got := b.centre(tt.centre); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.centre, got, tt.want)
			}
			b.toldCentres()
			b.lists(b.Config.Centres...)
			if got := b.toldCentres(); len(got) > 0 {
				t.Errorf("the same start again tells %q", got)
			}
		})
	}
}

// Members with a file that another has replaced undo nothing; whoever says that it
// counts again is told what has changed.
func TestAReplacedConfigurationListsNothing(t *testing.T) {
	b := newBench(t)
	b.Config.Postgres.URL = "env:ELSEWHERE"
	b.lists(uni)
	b.now = b.now.Add(time.Hour)
	b.lists(renamed)
	b.Config.Centres = []config.Centre{uni}
	err := pg.InTx(t.Context(), b.pool, func(tx pgx.Tx) error { _, err := b.Sync(t.Context(), tx, false, sourcestate.Cause{}); return err })
	if replaced := (*ReplacedError)(nil); !errors.As(err, &replaced) || b.centre("Uni") != `("configuration t The university ")` {
		t.Errorf("%v; it is %s", err, b.centre("Uni"))
	}
	said, err := b.tryCentres(func(ctx context.Context, tx pgx.Tx) ([]Change, error) { return b.Redeclare(ctx, tx, byMe) })
	if want := "Uni changed email: default → data@example.org; full_name: The university → A university\n"; err != nil || said != want {
		t.Errorf("it says %q, %v; want %q", said, err, want)
	}
}

// What an older program has stored is the configuration's, and the profile's once a
// member of this one with the role schedule starts: that is told once.
func TestCentresOfAProgramBefore(t *testing.T) {
	b := newBench(t)
	b.exec("UPDATE control.centre SET defined_by = DEFAULT")
	b.exec("INSERT INTO control.centre VALUES ('Old', 'An old one', '', '', '', '', true, 1)")
	b.toldCentres()
	b.lists()
	told := b.toldCentres()
	if len(told) != len(b.Profile.Centres)+1 || !slices.Contains(told, "Old|configuration|false|true|An old one|||") {
		t.Errorf("events: %q", told)
	}
	if got := b.text("SELECT DISTINCT defined_by FROM control.centre"); got != "(profile)" {
		t.Errorf("centres are defined by %s", got)
	}
}

// Two who change one centre at once change it one after the other, each what the other
// has left; and who adds a source of a centre that is being removed is refused.
func TestChangesOfCentresWaitInTurn(t *testing.T) {
	b := newBench(t)
	must(b.putCentres(uni))
	edit := func(change func(*config.Centre)) error {
		return pg.InTx(t.Context(), b.pool, func(tx pgx.Tx) error {
			was, err := b.Centre(t.Context(), tx, "uni")
			if err != nil {
				return err
			}
			is := was.Listed()
			change(&is)
			_, err = b.PutCentres(t.Context(), tx, []config.Centre{is}, byMe)
			return err
		})
	}
	all := make(chan error)
	const editors = 8
	for i := range editors {
		go func() {
			all <- edit(func(c *config.Centre) { c.Phone += fmt.Sprint(i) })
		}()
	}
	for range editors {
		if err := <-all; err != nil {
			t.Error(err)
		}
	}
	phone := strings.Split(b.text("SELECT phone FROM control.centre WHERE short_name = 'Uni'"), "")
	slices.Sort(phone)
	if got := strings.Join(phone, ""); got != "()01234567" {
		t.Errorf("of eight changes these are kept: %s", got)
	}

	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) // after the commit there is nothing to roll back
	if _, err := b.RemoveCentres(t.Context(), tx, []string{"Uni"}, byMe); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := b.put(config.Source{ID: "x", Centre: "Uni", URL: "file:///x"})
		all <- err
	}()
	for b.text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == "(0)" {
		select {
		case err := <-all:
			t.Fatalf("nobody waits: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-all; !errors.Is(err, ErrCentreUnknown) {
		t.Errorf("a source of a removed centre: %v", err)
	}
}
