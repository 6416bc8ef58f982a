package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/recovery/admin"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/test/wait"
)

// world is control with members that run.
type world struct {
	t     *testing.T
	pool  *pgxpool.Pool
	codec *schemas.Codec

	mu      sync.Mutex
	stopped []string // members, in the order in which they were stopped
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), enginetest.Filled(t, "control", control.Migrate))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	codec := schemastest.Codec(t)
	return &world{t: t, pool: pool, codec: codec}
}

// member is a member that runs, with a setting.
type member struct {
	mu    sync.Mutex
	level string
	ended chan error
}

func (m *member) now() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.level
}

func (m *member) set(v string) error {
	if v != "debug" && v != "info" {
		return fmt.Errorf("log.level %q: write debug or info", v)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level = v
	return nil
}

// start runs a member until it is stopped, or the test ends.
func (w *world) start(id string, rows []admin.Row, roles ...string) *member {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	m := &member{level: "info", ended: make(chan error, 1)}
	a := admin.New(admin.Deps{
		Member: control.Member{ID: id, Roles: roles, Version: "v1"}, Pool: w.pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: w.codec},
		Stat: func(context.Context) []admin.Row { return rows },
		Get: func() []admin.Row {
			return []admin.Row{{Name: "log.level", Value: "info", From: "default"}, {Name: "data_dir", Value: "/d", From: "file, line 1"}}
		},
		Settings: []admin.Setting{{Key: "log.level", Now: m.now, Set: m.set}},
		Stop: func() {
			w.mu.Lock()
			w.stopped = append(w.stopped, id)
			w.mu.Unlock()
			cancel()
		},
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) },
	})
	go func() { m.ended <- a.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-m.ended; err != nil {
			w.t.Error(err)
		}
	})
	w.await(id+" to announce itself", func() bool {
		all, err := control.Members(w.t.Context(), w.pool)
		if err != nil {
			w.t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(m control.Member) bool { return m.ID == id })
	})
	return m
}

func (w *world) await(what string, is func() bool) {
	w.t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	for !is() {
		select {
		case <-over.C:
			w.t.Fatalf("waited in vain for %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *world) asker() admin.Asker {
	return admin.Asker{Querier: w.pool, Timeout: wait.Patience(), By: "ann@desk", Reason: "to see more"}
}

func (w *world) members(c admin.Chosen) []control.Member {
	w.t.Helper()
	all, err := w.asker().Members(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) ask(members []control.Member, verb, key, value string) []admin.Reply {
	w.t.Helper()
	replies, err := w.asker().Ask(w.t.Context(), members, verb, key, value)
	if err != nil {
		w.t.Fatal(err)
	}
	return replies
}

// events are what was told of members.
func (w *world) events() (out []*schemas.StatusChanged) {
	w.t.Helper()
	rows, err := outbox.Read(w.t.Context(), w.pool, control.Schema, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		for _, r := range row.Records {
			m, err := w.codec.Decode(r)
			if err != nil {
				w.t.Fatal(err)
			}
			out = append(out, m.Body.(*schemas.StatusChanged))
		}
	}
	return out
}

// texts are replies in short.
func texts(replies []admin.Reply) (out []string) {
	for _, r := range replies {
		line := r.Member.ID + " " + r.State + " " + r.Refused
		for _, row := range r.Rows {
			line += "|" + row.Name + "=" + row.Value + " (" + row.From + ")"
		}
		out = append(out, line)
	}
	return out
}

func TestMembersAreAsked(t *testing.T) {
	w := newWorld(t)
	w.start("h/1", []admin.Row{{Name: "files", Value: "7"}}, "poll", "plan")
	w.start("h/2", []admin.Row{{Name: "files", Value: "8"}}, "insert")
	if _, err := w.pool.Exec(t.Context(), "INSERT INTO control.member (id, roles, version, seen_at) VALUES ('h/0', '{plan}', 'v0', clock_timestamp() - interval '1 hour'), ('h/old', '{plan}', 'v0', clock_timestamp() - interval '2 days')"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		chosen         admin.Chosen
		verb, key, set string
		want           []string
	}{
		"all, and who is gone": {admin.Chosen{}, admin.Stat, "", "", []string{"h/1 running |files=7 ()", "h/2 running |files=8 ()", "h/0 gone "}},
		"of a role":            {admin.Chosen{Role: "insert"}, admin.Get, "", "", []string{"h/2 running |log.level=info (default)|data_dir=/d (file, line 1)"}},
		"one":                  {admin.Chosen{Member: "h/1"}, admin.Stat, "", "", []string{"h/1 running |files=7 ()"}},
		"a value that may not": {admin.Chosen{Member: "h/1"}, admin.Set, "log.level", "loud", []string{`h/1 running log.level "loud": write debug or info`}},
		"a key that may not":   {admin.Chosen{Member: "h/1"}, admin.Set, "data_dir", "/x", []string{`h/1 running "data_dir" can't be set while this member runs, only log.level`}},
	} {
		got := texts(w.ask(w.members(c.chosen), c.verb, c.key, c.set))
		slices.Sort(got)
		if d := cmp.Diff(slices.Sorted(slices.Values(c.want)), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if n := len(w.events()); n != 0 {
		t.Errorf("%d events tell of what changed nothing", n)
	}
}

// What is set counts at once, says so when it is asked for, and is told with who asked
// for it, when and why; other members stay as they are.
func TestWhatIsSetIsTold(t *testing.T) {
	w := newWorld(t)
	one, two := w.start("h/1", nil, "poll"), w.start("h/2", nil, "plan")
	got := texts(w.ask(w.members(admin.Chosen{Role: "poll"}), admin.Set, "log.level", "debug"))
	if d := cmp.Diff([]string{"h/1 running |log.level=debug (was info)"}, got); d != "" {
		t.Errorf("the answer (-want +got):\n%s", d)
	}
	if one.now() != "debug" || two.now() != "info" {
		t.Errorf("levels are %s and %s", one.now(), two.now())
	}
	row := w.ask(w.members(admin.Chosen{Member: "h/1"}), admin.Get, "", "")[0].Rows[0]
	if row.Value != "debug" || !strings.HasPrefix(row.From, "set by ann@desk at ") {
		t.Errorf("it is configured by %+v", row)
	}
	events := w.events()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if _, err := time.Parse(time.RFC3339Nano, e.Attributes["asked_at"]); err != nil {
		t.Errorf("when it was asked for: %v", err)
	}
	delete(e.Attributes, "asked_at")
	want := map[string]string{"member": "h/1", "roles": "poll", "verb": "set", "by": "ann@desk", "reason": "to see more", "key": "log.level", "from": "info", "to": "debug"}
	if d := cmp.Diff(want, e.Attributes); d != "" || e.Entity != schemas.EntityMember || e.Message != "log.level set from info to debug by ann@desk: to see more" {
		t.Errorf("%s, %q (-want +got):\n%s", e.Entity, e.Message, d)
	}
}

// A request for which nobody waits any more changes nothing.
func TestNobodyIsObeyedTooLate(t *testing.T) {
	w := newWorld(t)
	if err := control.AnnounceMember(t.Context(), w.pool, control.Member{ID: "h/1", Roles: []string{"poll"}}); err != nil {
		t.Fatal(err)
	}
	late, err := control.AskMember(t.Context(), w.pool, control.MemberRequest{Member: "h/1", Verb: admin.Set, Key: "log.level", Value: "debug", By: "ann", WaitsFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), "UPDATE control.member_request SET expires_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	m := w.start("h/1", nil, "poll")
	w.ask(w.members(admin.Chosen{}), admin.Stat, "", "")
	r, err := control.ReadRequest(t.Context(), w.pool, late)
	if err != nil || r.Answered || m.now() != "info" {
		t.Errorf("answered %v, the level is %s (%v)", r.Answered, m.now(), err)
	}
}

// Members stop in the reverse order of the stages, and say so.
func TestMembersStopInReverseOrder(t *testing.T) {
	w := newWorld(t)
	stages := []string{"poll", "plan", "insert"}
	w.start("h/2", nil, "plan")
	w.start("h/3", nil, "insert")
	w.start("h/1", nil, "poll")
	replies, err := w.asker().Stop(t.Context(), w.members(admin.Chosen{}), func(role string) int { return slices.Index(stages, role) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"h/3 stopped ", "h/2 stopped ", "h/1 stopped "}, texts(replies)); d != "" {
		t.Errorf("replies (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"h/3", "h/2", "h/1"}, w.stopped); d != "" {
		t.Errorf("they stopped (-want +got):\n%s", d)
	}
	if n := len(w.events()); n != 3 {
		t.Errorf("%d events tell of three orders", n)
	}
}

// Answers and what waits for a member are bounded.
func TestAnswersAreBounded(t *testing.T) {
	w := newWorld(t)
	var many []admin.Row
	for i := range 20_000 {
		many = append(many, admin.Row{Name: fmt.Sprintf("counter_%d", i), Value: strings.Repeat("9", 100)})
	}
	w.start("h/1", many, "poll")
	rows := w.ask(w.members(admin.Chosen{}), admin.Stat, "", "")[0].Rows
	if last := rows[len(rows)-1]; len(rows) > 2001 || last.Value != fmt.Sprintf("%d more", 20_000-len(rows)+1) {
		t.Errorf("%d rows, the last is %+v", len(rows), last)
	}
	if err := control.AnnounceMember(t.Context(), w.pool, control.Member{ID: "mute", Roles: []string{"poll"}}); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		_, err := control.AskMember(t.Context(), w.pool, control.MemberRequest{Member: "mute", Verb: admin.Stat, By: "ann", WaitsFor: time.Hour})
		if errors.Is(err, control.ErrMemberBusy) && i > 0 {
			return
		}
		if err != nil || i > 100 {
			t.Fatalf("request %d: %v", i, err)
		}
	}
}
