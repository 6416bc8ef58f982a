package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

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
	"tributary/test/wait"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type bench struct {
	*Scheduler
	t   *testing.T
	now time.Time
}

// builtin is loaded once for all tests.
var builtin = sync.OnceValues(func() (*profile.Profile, error) { return profile.Builtin("impc") })

func newBench(t *testing.T, sources ...config.Source) *bench {
	t.Helper()
	pool := controltest.Open(t, 10)
	codec := schemastest.Codec(t)
	p, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Sources = sources
	b := &bench{t: t, now: noon}
	b.Scheduler = New(cfg, Deps{Profile: p, Pool: pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec},
		Lease: pg.Lease{Pool: pool, Schema: control.Schema, Name: "schedule", Holder: "one", TTL: time.Hour}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now }})
	return b
}

func (b *bench) sync() {
	b.t.Helper()
	if err := b.Sync(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) text(sql string, args ...any) string {
	b.t.Helper()
	var out string
	if err := b.deps.Pool.QueryRow(b.t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.deps.Pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// events are the outbox's, which it empties.
func (b *bench) events() (out []*schemas.StatusChanged) {
	b.t.Helper()
	for _, m := range outboxtest.Drain(b.t, b.deps.Pool, control.Schema, b.deps.Outbox.Codec) {
		out = append(out, m.Body.(*schemas.StatusChanged))
	}
	return out
}

func two() []config.Source {
	return []config.Source{
		{ID: "a", Centre: "h", URL: "sftp://reader@files.example.org/out", IdentityFile: "/keys/id", MaxSessions: 2, Interval: config.Duration(time.Hour)},
		{ID: "b", Centre: "Ics", URL: "ftp://reader@ftp.example.org/impc", Password: "env:SECRET_OF_B"},
	}
}

// Centres and sources are events when they are new or change, and only then;
// the greatest revision is the newest. No secret is in them.
func TestConfigurationIsAnnounced(t *testing.T) {
	t.Setenv("SECRET_OF_B", "hunter2")
	b := newBench(t, two()...)
	b.sync()
	bySource := map[string]*schemas.StatusChanged{}
	centres := 0
	for _, e := range b.events() {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, "hunter2") {
			t.Errorf("a secret is in %s", text)
		}
		switch e.Entity {
		case schemas.EntitySource:
			bySource[e.Source] = e
		case schemas.EntityCentre:
			centres++
		}
	}
	if centres != len(b.deps.Profile.Centres) || len(bySource) != 2 {
		t.Fatalf("%d centres, %d sources", centres, len(bySource))
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"by": "configuration@" + host, "reason": "", "protocol": "ftp", "hostname": "ftp.example.org:21", "username": "reader", "base_path": "/impc", "accesskey": "env:SECRET_OF_B", "state": "available", "hosts": "Ics",
		"definition": `{"id": "b", "url": "ftp://reader@ftp.example.org/impc", "centre": "Ics", "password": "env:SECRET_OF_B"}`}
	if d := cmp.Diff(want, bySource["b"].Attributes); d != "" {
		t.Errorf("source differs (- want, + got):\n%s", d)
	}
	if e := bySource["a"]; e.Centre != "H" || e.Server != "files.example.org:22" || e.Attributes["accesskey"] != "file:/keys/id" {
		t.Errorf("source is %+v", e)
	}
	first := bySource["a"].Revision

	b.sync()
	if again := b.events(); len(again) != 0 {
		t.Errorf("%d events though nothing changed", len(again))
	}
	b.cfg.Sources = b.cfg.Sources[:1]
	b.cfg.Sources[0].State = "maintenance"
	b.cfg.Centres = []config.Centre{{ShortName: "H", Email: "h@example.org"}, {ShortName: "New"}}
	b.sync()
	got := map[string]string{}
	for _, e := range b.events() {
		if e.Revision <= first {
			t.Errorf("revision %d after %d", e.Revision, first)
		}
		got[e.Entity+" "+e.Centre+e.Source] = e.Attributes["state"] + e.Attributes["email"]
	}
	if d := cmp.Diff(map[string]string{"centre H": "h@example.org", "centre New": "", "source Ha": "maintenance", "source Icsb": "removed"}, got); d != "" {
		t.Errorf("events differ (- want, + got):\n%s", d)
	}
}

// What a source may show is kept beside it, spelled as file names are read, and
// told when it changes.
func TestWhatASourceMayShowIsKept(t *testing.T) {
	b := newBench(t, two()...)
	for _, tt := range []struct {
		hosts config.Hosts
		kept  string
		told  string
	}{
		{nil, "({H})", "H"},
		{config.Hosts{{Centre: "j"}, {Centre: "ics", Actions: []string{"add", "edit"}}}, "({H,J,Ics/add,Ics/edit})", "H J Ics/add Ics/edit"},
		{config.Hosts{{Centre: config.AllCentres}}, "()", "all"},
	} {
		b.cfg.Sources[0].Hosts = tt.hosts
		b.events()
		b.sync()
		if got := b.text("SELECT hosts FROM control.source WHERE id = 'a'"); strings.ReplaceAll(got, `"`, "") != tt.kept {
			t.Errorf("with hosts: %s control keeps %s, want %s", tt.hosts, got, tt.kept)
		}
		told := ""
		for _, e := range b.events() {
			if e.Source == "a" {
				told = e.Attributes["hosts"]
			}
		}
		if told != tt.told {
			t.Errorf("with hosts: %s is told %q, want %q", tt.hosts, told, tt.told)
		}
	}
}

// What people order of a source's state stays over restarts: the configuration's own
// word counts again once it is another.
func TestPeopleOrderHowSourcesStand(t *testing.T) {
	type order func(context.Context, pgx.Tx, outbox.Outbox, []string, sourcestate.Cause, time.Time) ([]sourcestate.Outcome, error)
	b := newBench(t, two()...)
	b.sync()
	b.events()
	give := func(o order, source string, done bool, want string) { // the state, or why nothing is done
		t.Helper()
		var got []sourcestate.Outcome
		err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) (err error) {
			got, err = o(t.Context(), tx, b.deps.Outbox, []string{source}, sourcestate.Cause{Done: "said", Decision: control.Decision{By: "me"}}, b.now)
			return err
		})
		if err != nil || len(got) != 1 || got[0].Done != done {
			t.Fatalf("it ends as %+v, %v", got, err)
		}
		events := b.events()
		if done != (len(events) == 1) || done && (events[0].Attributes["state"] != want || events[0].Message != "said by me") {
			t.Errorf("events: %+v", events)
		}
		if !done && got[0].Detail != want {
			t.Errorf("it says %q, want %q", got[0].Detail, want)
		}
	}
	stands := func(want string) {
		t.Helper()
		if got := b.text("SELECT state, declared_state FROM control.source WHERE id = 'a'"); got != want {
			t.Errorf("it stands as %s, want %s", got, want)
		}
	}
	give(sourcestate.MaintainUntil(nil), "a", true, "maintenance")
	give(sourcestate.MaintainUntil(nil), "a", false, "it is in maintenance already")
	give(sourcestate.Poll, "a", false, "it is in maintenance, where nobody lists it: tributary sources resume a")
	give(sourcestate.MaintainUntil(nil), "nobody", false, "it was never polled: nothing has started with it in the configuration yet")
	give(sourcestate.Resume, "b", false, "it was not suspended, nor in maintenance: it is available")
	b.sync()
	stands("(maintenance,available)")
	b.cfg.Sources[0].Interval = config.Duration(2 * time.Hour)
	b.sync() // its definition is another, its word for the state is not
	stands("(maintenance,available)")
	if e := b.events(); len(e) != 1 || e[0].Attributes["declared_state"] != "available" {
		t.Errorf("events: %+v", e)
	}
	b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Hour))
	give(sourcestate.Resume, "a", true, "available")
	if got := b.text("SELECT next_due = $1 FROM control.source WHERE id = 'a'", b.now); got != "(t)" {
		t.Error("it is not due at once")
	}

	b.cfg.Sources[0].State = "maintenance"
	b.sync()
	stands("(maintenance,maintenance)")
	b.events()
	give(sourcestate.Resume, "a", true, "available")
	b.sync()
	stands("(available,maintenance)")
	b.cfg.Sources[0].State = "available"
	b.sync()
	b.cfg.Sources[0].State = "maintenance"
	b.sync()
	stands("(maintenance,maintenance)")
	b.events()

	b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Hour))
	give(sourcestate.Poll, "b", true, "available")
	if got := b.text("SELECT string_agg(id, ' ') FROM control.source WHERE next_due <= $1", b.now); got != "(b)" {
		t.Errorf("due are %s", got)
	}
	if _, err := b.Open(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b.events()
	give(sourcestate.Poll, "b", false, "it is being polled, or waits for its turn")
	b.exec("UPDATE control.source SET state = 'suspended', suspended_at = now() WHERE id = 'b'")
	give(sourcestate.MaintainUntil(nil), "b", true, "maintenance")
	if got := b.text("SELECT suspended_at IS NULL FROM control.source WHERE id = 'b'"); got != "(t)" {
		t.Error("it is in maintenance, and suspended too")
	}
	b.cfg.Sources = b.cfg.Sources[:1]
	b.sync()
	b.events()
	give(sourcestate.Resume, "b", false, "it is no longer configured")
	b.cfg.Sources = append(b.cfg.Sources, two()[1])
	b.sync() // configured again, it stands as the configuration says
	if got := b.text("SELECT state FROM control.source WHERE id = 'b'"); got != "(available)" {
		t.Errorf("configured again it is %s", got)
	}
}

// A session has the sources that are due, never one that is still being
// polled.
func TestSessionsHaveWhatIsDue(t *testing.T) {
	b := newBench(t, two()...)
	b.sync()
	b.events()
	open := func(once bool) string {
		t.Helper()
		id, err := b.Open(t.Context(), once)
		if errors.Is(err, ErrNothingDue) {
			return "nothing"
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.text("SELECT number, once, (SELECT string_agg(source, '+' ORDER BY source) FROM control.poll WHERE session = s.id) FROM control.session s WHERE id = $1", id)
	}
	if got := open(false); got != "(1,f,a+b)" {
		t.Fatalf("the first session is %s", got)
	}
	if e := b.events(); len(e) != 1 || e[0].Entity != schemas.EntitySession || e[0].Number != 1 || e[0].Status != "running" || e[0].StartedAt == nil {
		t.Errorf("events: %+v", e)
	}
	b.now = noon.Add(24 * time.Hour)
	if got := open(false); got != "nothing" {
		t.Errorf("while they are polled: %s", got)
	}
	if got := open(true); got != "nothing" {
		t.Errorf("while they are polled, at once: %s", got)
	}
	b.exec("UPDATE control.poll SET state = 'complete' WHERE source = 'a'")
	if got := open(false); got != "(2,f,a)" {
		t.Errorf("the second session is %s", got)
	}
	b.exec("UPDATE control.poll SET state = 'complete'")
	b.exec("UPDATE control.source SET next_due = $1", b.now.Add(time.Second))
	if got := open(false); got != "nothing" {
		t.Errorf("before anything is due: %s", got)
	}
	if got := open(true); got != "(3,t,a+b)" {
		t.Errorf("at once: %s", got)
	}
	b.exec("UPDATE control.poll SET state = 'complete'")
	b.exec("UPDATE control.source SET state = 'maintenance' WHERE id = 'a'")
	b.exec("UPDATE control.centre SET active = false WHERE short_name = 'Ics'")
	if got := open(true); got != "nothing" {
		t.Errorf("in maintenance, and of a centre that is not active: %s", got)
	}
}

func TestTheNextPollIsAnIntervalAwayGiveOrTakeTheJitter(t *testing.T) {
	b := newBench(t, two()...)
	b.sync()
	for range 20 {
		if _, err := b.Open(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE control.poll SET state = 'complete'")
		if got := b.text("SELECT next_due BETWEEN $1 AND $2 FROM control.source WHERE id = 'a'", noon.Add(54*time.Minute), noon.Add(66*time.Minute)); got != "(t)" {
			t.Fatalf("due %s", b.text("SELECT next_due FROM control.source WHERE id = 'a'"))
		}
	}
}

// Sessions opened at the same moment share no source.
func TestSessionsAtTheSameMoment(t *testing.T) {
	var sources []config.Source
	for i := range 6 {
		sources = append(sources, config.Source{ID: fmt.Sprint("s", i), Centre: "H", URL: fmt.Sprintf("sftp://r@host%d/", i)})
	}
	b := newBench(t, sources...)
	b.sync()
	for range 5 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := b.Open(t.Context(), true); err != nil && !errors.Is(err, ErrNothingDue) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := b.text("SELECT count(*), count(DISTINCT source) FROM control.poll WHERE state = 'due'"); got != "(6,6)" {
			t.Fatalf("polls due and their sources: %s", got)
		}
		b.exec("UPDATE control.poll SET state = 'complete'")
	}
	if got := b.text("SELECT max(number) = count(*) FROM control.session"); got != "(t)" {
		t.Error("numbers of sessions have gaps")
	}
}

func TestRunAnnouncesAndOpens(t *testing.T) {
	b := newBench(t, two()...)
	b.cfg.Schedule.Tick = config.Duration(10 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	deadline := time.After(wait.Patience())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.text("SELECT count(*) FROM control.session") != "(1)" {
		select {
		case <-deadline:
			t.Fatal("no session is opened")
		case <-tick.C:
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Where no source is declared or defined, somebody says so, rather than wait in
// silence.
func TestNoSourceIsSaid(t *testing.T) {
	for n, want := range map[int]bool{0: true, 1: false} {
		b := newBench(t, two()[:n]...)
		var said strings.Builder
		b.deps.Log = slog.New(slog.NewTextHandler(&said, nil))
		b.sync()
		if got := strings.Contains(said.String(), "there is no source"); got != want {
			t.Errorf("with %d sources it is said: %v", n, got)
		}
	}
}
