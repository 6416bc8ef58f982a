package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/sql/control"
	"tributary/test/wait"
)

// fleet is an installation of many processes under a supervisor, which starts
// again whatever ends, with growing pauses, as systemd or Kubernetes do. It is
// driven by tick and belongs to one goroutine.
type fleet struct {
	s     *system
	slots []*slot
	began time.Time
}

// slot is one process of the fleet, in all its lives.
type slot struct {
	name     string
	args     []string
	p        *process
	started  time.Time
	next     time.Time // when it is started again
	failures int       // ends without a steady life between
	until    time.Time // stopped until then; zero: not stopped
	down     bool      // not to be started again
}

const (
	firstPause  = 200 * time.Millisecond
	longestTime = 5 * time.Second
	steadyLife  = 10 * time.Second
)

// enginesSlot is the fleet's first: the embedded broker is in its process.
const enginesSlot = "engines"

// part is members of a fleet that have the same roles.
type part struct {
	members int
	roles   string
}

// twice has two members that keep control, and two for each part of the way.
func twice() []part {
	return []part{{2, "schedule poll plan publish"}, {2, "download"}, {2, "unzip validate"}, {2, "sequence insert"}, {2, "tracker history"}}
}

// eightfold has two members that give work, and eight in every consumer group,
// which are in all of them.
func eightfold() []part {
	return []part{{2, "schedule poll publish"}, {8, "plan download unzip validate sequence insert tracker history"}}
}

// newFleet makes the slots of the engines and of these members.
func newFleet(s *system, parts []part) *fleet {
	f := &fleet{s: s, began: time.Now()}
	f.slots = append(f.slots, &slot{name: enginesSlot, args: []string{"engines"}})
	for _, p := range parts {
		for n := range p.members {
			f.slots = append(f.slots, &slot{name: fmt.Sprintf("%s.%c", strings.ReplaceAll(p.roles, " ", "+"), 'a'+n), args: append([]string{"run"}, strings.Fields(p.roles)...)})
		}
	}
	return f
}

// say writes what happens, with the time since the fleet's beginning.
func (f *fleet) say(format string, args ...any) {
	f.s.t.Helper()
	f.s.t.Logf("%6.2fs %s", time.Since(f.began).Seconds(), fmt.Sprintf(format, args...))
}

// tick does what is due: ended processes are started again, stopped ones
// resumed.
func (f *fleet) tick() {
	now := time.Now()
	for _, m := range f.slots {
		switch {
		case m.p == nil:
			if !m.down && !now.Before(m.next) {
				m.p, m.started = f.s.start(m.args...), now
			}
		case m.ended():
			f.bury(m, now)
		case !m.until.IsZero() && !now.Before(m.until):
			m.resume()
		}
	}
}

// bury notes a process's end, and when its slot gets another.
func (f *fleet) bury(m *slot, now time.Time) {
	if code := m.p.cmd.ProcessState.ExitCode(); code > 0 && !m.p.said("no engines run in") {
		f.say("%s has ended by itself with code %d: %s", m.name, code, m.p.lastWord())
	}
	if now.Sub(m.started) > steadyLife {
		m.failures = 0
	}
	m.next = now.Add(min(firstPause<<min(m.failures, 8), longestTime))
	m.failures++
	m.p, m.until = nil, time.Time{}
}

func (m *slot) ended() bool {
	select {
	case <-m.p.done:
		return true
	default:
		return false
	}
}

// serve starts the engines, then all members but those that keep control, and
// these when the others are ready: so work and faults begin together.
func (f *fleet) serve() {
	f.s.t.Helper()
	keepers := f.slots[1:3]
	for _, m := range f.slots[1:] {
		m.down = true
	}
	if left := f.wait(wait.Patience(), func() string { return f.engines().not("engines are serving") }); left != "" {
		f.s.t.Fatal(left)
	}
	for _, m := range f.slots[3:] {
		m.down = false
	}
	for _, m := range f.slots[3:] {
		if left := f.wait(wait.Patience(), func() string { return m.not(`"msg":"running"`) }); left != "" {
			f.s.t.Fatal(left)
		}
	}
	for _, m := range keepers {
		m.down = false
	}
	f.began = time.Now()
}

// not is empty once the slot's process has said something.
func (m *slot) not(said string) string {
	switch {
	case m.p == nil || m.ended():
		return m.name + " does not run"
	case !m.p.said(said):
		return m.name + " has not said " + said + "\n" + m.p.tail()
	}
	return ""
}

// runs tells whether the slot has a process that is not stopped.
func (m *slot) runs() bool { return m.p != nil && !m.ended() && m.until.IsZero() }

func (m *slot) resume() {
	m.until = time.Time{}
	_ = m.p.cmd.Process.Signal(syscall.SIGCONT)
}

// engines is the slot of the engines.
func (f *fleet) engines() *slot { return f.slots[0] }

// wait ticks until check returns nothing, or the time is over; then it returns
// what check said last.
func (f *fleet) wait(limit time.Duration, check func() string) string {
	over := time.NewTimer(limit)
	defer over.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		f.tick()
		last := check()
		if last == "" {
			return ""
		}
		select {
		case <-over.C:
			return last
		case <-look.C:
		}
	}
}

// heal ends what faults have left: everything runs from here on.
func (f *fleet) heal() {
	for _, m := range f.slots {
		if m.p != nil && !m.until.IsZero() {
			m.resume()
		}
	}
}

// drained waits until every file and document has the oracle's end and control
// has nothing under way, with nobody's help but the supervisor's.
func (f *fleet) drained(limit time.Duration) string {
	want := map[string]string{}
	for _, file := range f.s.corpus.Oracle.Files {
		want[file.Action+"/"+file.File] = file.Phase + ", " + file.Status
	}
	for _, d := range f.s.corpus.Oracle.Documents {
		want[d.Action+"/"+d.File+"/"+d.Document] = d.Phase + ", " + d.Status
	}
	var next time.Time
	last := "not looked yet"
	left := f.wait(limit, func() string {
		if time.Now().Before(next) {
			return last
		}
		last = f.query(func(ctx context.Context, conn *pgx.Conn) string { return pending(ctx, conn, want) })
		next = time.Now().Add(500 * time.Millisecond)
		return last
	})
	if left != "" {
		left += "\n" + f.query(func(ctx context.Context, conn *pgx.Conn) string { return facts(ctx, conn, want) })
	}
	return left
}

// endsOf says where each file and document stands for the tracker.
func endsOf(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	rows, err := conn.Query(ctx, endsSQL)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	var name, end string
	_, err = pgx.ForEachRow(rows, []any{&name, &end}, func() error { got[name] = end; return nil })
	return got, err
}

const endsSQL = `SELECT action || '/' || file, phase || ', ' || status FROM tracker.file
	UNION ALL SELECT action || '/' || file || '/' || document, phase || ', ' || status FROM tracker.document`

// query asks Postgres, if it is there, and returns the answer or why there is none.
func (f *fleet) query(ask func(context.Context, *pgx.Conn) string) string {
	at, running, err := engine.Attach(f.s.data())
	if err != nil || !running {
		return fmt.Sprintf("the engines don't run (%v)", err)
	}
	ctx, cancel := context.WithTimeout(f.s.t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, at.Postgres)
	if err != nil {
		return err.Error()
	}
	defer conn.Close(ctx)
	return ask(ctx, conn)
}

// pending says what is not as wanted yet.
func pending(ctx context.Context, conn *pgx.Conn, want map[string]string) string {
	got, err := endsOf(ctx, conn)
	if err != nil {
		return err.Error()
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		return "ends of files and documents (-oracle +tracker):\n" + diff
	}
	u, err := control.Pending(ctx, conn)
	if err != nil {
		return err.Error()
	}
	// Sessions are opened all the time, so polls and the outbox are never done.
	if u.Looks+u.Acquisitions+u.Batches+u.Operations+u.Replays > 0 {
		return "control: " + u.String()
	}
	return ""
}

// stop ends all members in order, then the engines, and expects that they end
// well.
func (f *fleet) stop() {
	f.s.t.Helper()
	for _, m := range f.slots {
		m.down = true
	}
	for _, m := range f.slots[1:] {
		if m.p != nil && m.ended() {
			m.p = nil // it has ended before it was asked to, which is said elsewhere
		}
		if m.p != nil {
			_ = m.p.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	for _, m := range f.slots[1:] {
		if m.p == nil {
			continue
		}
		// A second signal would end it at once.
		if code := m.p.code(wait.Patience()); code != 0 {
			f.s.t.Errorf("%s: exit code %d after SIGTERM\n%s", m.name, code, m.p.tail())
		}
	}
	if m := f.engines(); m.p != nil && !m.ended() {
		m.p.stop()
	}
}

// tails are the last words of all members.
func (f *fleet) tails() string {
	var out strings.Builder
	for _, m := range f.slots {
		if m.p != nil {
			lines := strings.Split(m.p.tail(), "\n")
			fmt.Fprintf(&out, "--- %s\n%s\n", m.name, strings.Join(lines[max(0, len(lines)-6):], "\n"))
		}
	}
	return out.String()
}

// lastWord is the last line of a process's log.
func (p *process) lastWord() string {
	tail := strings.TrimSpace(p.tail())
	tail = tail[strings.LastIndexByte(tail, '\n')+1:]
	return tail[:min(len(tail), 500)]
}
