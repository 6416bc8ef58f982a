package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// tookOver is what a late member says, and in what it differs from a failure.
const tookOver = "insertion stops in this process: another member has taken over"

// withoutInsert are all roles but insert.
func withoutInsert() []string {
	return strings.Fields("run schedule poll plan publish download unzip validate sequence tracker history")
}

// abandoned makes it take seconds until a member that is stopped is given up by its
// group, instead of the 45 s of a member that may only be slow.
const abandoned = lively + "kafka:\n  session_timeout: 6s\n"

// overtakable is that for insert, whose lease lasts for longer than a busy machine may keep
// its holder from renewing it, since who was stopped waits to take it over.
func overtakable() string {
	return strings.Replace(abandoned, "insert:\n  lease_ttl: 2s\n", "insert:\n  lease_ttl: 10s\n", 1)
}

// An insert process that is stopped (SIGSTOP) until another has taken over
// changes nothing when it goes on, says why it stops, and takes its turn again
// when the other has ended.
func TestPausedInsert(t *testing.T) {
	long(t, "TestStaleMemberWritesNothing", "TestTwoMembersGiveTheSame")
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: overtakable()})
	s.engines(func(engine.Endpoints) {
		late := s.start("run", "insert")
		eventually(t, wait.Patience(), func() string { return says(late, `"msg":"insertion begins"`) })
		late.pause()
		s.overtaken(late, s.start("run", "insert"))
	})
	s.once()
	s.expect(false)
}

// The same, but the process is stopped where it hurts most: before it begins a
// transaction for positions that are ready, before it commits one, which
// Postgres has to end first, and after it.
func TestPausedInsertAtEachStep(t *testing.T) {
	if os.Getenv("TRIBUTARY_CHAOS") == "" {
		t.Skip("takes minutes: make chaos runs it")
	}
	turns.Take(t)
	t.Parallel()
	crashing := crashable(t)
	for _, label := range []string{"insert.begun", "insert.apply.commit.before", "insert.apply.commit.after", "insert.end.commit.before"} {
		t.Run(label, func(t *testing.T) {
			t.Parallel() // most of the time goes by while Postgres waits for a stopped member
			s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: overtakable()})
			s.engines(func(at engine.Endpoints) {
				ordinary := s.binary
				at.Postgres += "&idle_in_transaction_session_timeout=15000" // instead of a minute
				s.binary, s.more = crashing, append(s.addresses(at), "TRIBUTARY_PAUSE="+label+":1")
				late := s.start("run", "insert")
				s.binary, s.more = ordinary, nil
				eventually(t, wait.Patience(), func() string { return says(late, `"msg":"insertion begins"`) })
				rest := s.start(withoutInsert()...)
				eventually(t, wait.Patience(), func() string {
					if !late.paused() {
						return "insert has not come to " + label
					}
					return ""
				})
				s.overtaken(late, s.start("run", "insert"), rest)
			})
			s.once()
			s.expect(false)
		})
	}
}

// overtaken lets another member do the work of a stopped one, wakes the stopped
// one, and expects that nothing changes, that it says why, and that it takes
// over when the other has ended.
func (s *system) overtaken(late, next *process, rest ...*process) {
	s.t.Helper()
	if len(rest) == 0 {
		rest = append(rest, s.start(withoutInsert()...))
	}
	eventually(s.t, wait.Patience(), func() string { return says(next, `"msg":"insertion begins"`) })
	s.settled(append(rest, next)...)
	before := s.marks()

	late.resume()
	eventually(s.t, wait.Patience(), func() string {
		if missing := says(late, tookOver); missing != "" {
			return missing + "\n" + late.tail()
		}
		return ""
	})
	if diff := gocmp.Diff(before, s.marks()); diff != "" {
		s.t.Errorf("what the late member changed (-before +after):\n%s", diff)
	}
	select {
	case <-late.done:
		s.t.Fatalf("the late member has ended instead of waiting for its turn: %v\n%s", late.err, late.tail())
	default:
	}
	if late.said("insertion has stopped for all centres") {
		s.t.Errorf("the late member takes being late for a failure of the warehouse\n%s", late.tail())
	}

	next.stop()
	if err := s.corpus.Add(4); err != nil {
		s.t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		s.t.Fatal(err)
	}
	s.settled(append(rest, late)...)
	for _, p := range append(rest, late) {
		p.stop()
	}
}

// marks is all that a late insert could change: what is loaded, what is told of
// it, and how far the warehouse has come under which lease. Sessions without a
// file go on meanwhile, so positions are those of documents.
func (s *system) marks() map[string]string {
	s.t.Helper()
	type line struct{ What, Is string }
	out := map[string]string{"hash": s.hash()}
	for _, r := range sql[line](s, "warehouse", `SELECT 'documents' AS what, md5(string_agg(d::text, '|' ORDER BY position)) AS is FROM warehouse.document d
		UNION ALL SELECT 'claims', count(*) || ' ' || md5(string_agg(position || ' ' || ordinal || ' ' || is_current, '|' ORDER BY position, ordinal)) FROM warehouse.claim
		UNION ALL SELECT 'findings', md5(string_agg(f::text, '|' ORDER BY position, ordinal, test)) FROM warehouse.finding f
		UNION ALL SELECT 'epoch', epoch::text FROM warehouse.state
		UNION ALL SELECT 'holder', holder || ' ' || epoch FROM warehouse.lease WHERE name = 'insert'`) {
		out[r.What] = r.Is
	}
	return out
}

// says is empty once the process has said something.
func says(p *process, what string) string {
	select {
	case <-p.done:
		p.t.Fatalf("tributary %s has ended: %v\n%s", p.name, p.err, p.tail())
	default:
	}
	if !p.said(what) {
		return "tributary " + p.name + " has not said: " + what
	}
	return ""
}

// pause stops the process as it is; resume lets it go on.
func (p *process) pause() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) resume() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Fatal(err)
	}
}

// paused tells whether the process is stopped.
func (p *process) paused() bool {
	_, state, ok := status(p.cmd.Process.Pid)
	return ok && state == "T"
}
