package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// replayRow is what is compared of a row of tributary replay list.
type replayRow struct {
	Replay                                               int
	Run, From, State, Reason                             string
	Items, Waiting, Complete, Failed, Refused, Documents int
}

// runRow is how many documents' events of a run the history has.
type runRow struct {
	Run       string
	Documents int64
}

const runsInHistorySQL = "SELECT toString(run) AS run, toInt64(uniqExact(document)) AS documents FROM log WHERE topic = 'status.changed' AND entity = 'document' GROUP BY run"

// outcome is what a replay must not change.
type outcome struct {
	Hash     string
	Findings []findingCountRow
}

func (s *system) outcome() outcome {
	s.t.Helper()
	return outcome{s.hash(), sorted(sql[findingCountRow](s, "warehouse", findingCountSQL))}
}

// unchanged compares what a replay must not change.
func (s *system) unchanged(what string, want outcome) {
	s.t.Helper()
	if diff := gocmp.Diff(want, s.outcome()); diff != "" {
		s.t.Errorf("%s has changed the warehouse (-before +after):\n%s", what, diff)
	}
}

// replay asks for a replay.
func (s *system) replay(args ...string) {
	s.t.Helper()
	s.ask(append([]string{"replay"}, args...)...)
}

// replays are the replays, the oldest first.
func (s *system) replays() []replayRow {
	s.t.Helper()
	rows := list[replayRow](s, "replay", "list")
	slices.Reverse(rows)
	return rows
}

// replayEnv names the corpus that make test-replay replays.
const replayEnv = "TRIBUTARY_REPLAY"

// replayShape is the corpus to be replayed: the one that make test-replay names.
// Without it a test that is short has the smallest, and others are skipped.
func replayShape(t *testing.T, short bool) string {
	t.Helper()
	shape := os.Getenv(replayEnv)
	switch {
	case !short && shape == "":
		t.Skip("takes half a minute: make test-replay runs it")
	case !short:
		turns.Take(t)
	}
	return cmp.Or(shape, corpus.Small)
}

// All files are replayed from every phase (in plain go test from unzip): the
// warehouse, its findings and what files and documents show stay as they are,
// and the history has every run.
func TestReplay(t *testing.T) {
	long(t, "TestAReplayFromUpload", "TestAReplayFromXSD", "TestReplayIsCounted")
	t.Parallel()
	shape := replayShape(t, true)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true, Extra: lively})
	s.once()
	var before outcome
	var live []runRow
	s.engines(func(at engine.Endpoints) {
		fetched := 0
		for _, f := range s.stands(at, true).Files {
			if f.Centre != nil && f.Version != nil {
				fetched++
			}
		}
		before, live = s.outcome(), sql[runRow](s, "history", runsInHistorySQL)
		if dry := s.ask("replay", "--from", "xsd", "--where", "version IS NOT NULL", "--dry-run"); !strings.Contains(dry, fmt.Sprintf("%d files", fetched)) ||
			!strings.Contains(dry, "phases: xsd, upload, data, context, overview") {
			t.Errorf("the dry run says:\n%s", dry)
		}
		s.refuses("has not opened", "--where", "true) OR (true")
		s.refuses("only reads", "--where", "pg_read_file('/etc/passwd') <> ''")
		s.refuses("permission denied for function lo_create", "--where", "lo_create(0) > 0")
		type count struct{ N int }
		if made := sql[count](s, "tracker", "SELECT count(*) AS n FROM pg_largeobject_metadata"); made[0].N != 0 {
			t.Error("a condition has made a large object")
		}
		s.refuses("no_column", "--where", "no_column = 1")
		s.refuses("nothing is chosen", "--where", "false")
		if rows := s.replays(); len(rows) > 0 {
			t.Errorf("what was refused is listed: %+v", rows)
		}
		s.replay("--from", "unzip", "--where", "true", "--reason", "a test")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		all := s.replays()
		if len(all) != 1 || all[0].State != "done" || all[0].Complete+all[0].Refused+all[0].Failed != all[0].Items || all[0].Complete == 0 || all[0].Reason != "a test" {
			t.Fatalf("the replay is %+v", all)
		}
		s.unchanged("a replay from unzip", before)
		got := s.see()
		s.compare(got, false)
		s.invariants()
		runs := sql[runRow](s, "history", runsInHistorySQL)
		want := append(slices.Clone(live), runRow{all[0].Run, int64(all[0].Documents)})
		differ(t, "runs in the history", want, runs)
		by := requester(t)
		type event struct{ Note, By, Reason string }
		differ(t, "what the history tells of the replay", []event{{"requested", by, "a test"}, {"done", by, ""}},
			sql[event](s, "history", "SELECT note, attributes['by'] AS by, attributes['reason'] AS reason FROM log WHERE topic = 'status.changed' AND entity = 'replay'"))
		type asked struct{ From, Status, By, Reason string }
		differ(t, "replays in the tracker", []asked{{"unzip", "done", by, "a test"}}, sql[asked](s, "tracker",
			`SELECT p.short_name AS "from", a.short_name AS status, r.requested_by AS by, r.reason FROM replay r JOIN phase p ON p.id = r.phase_id JOIN a_status a ON a.id = r.status_id`))
	})
	if os.Getenv(replayEnv) == "" {
		return // the other phases take as long again
	}
	s.engines(func(engine.Endpoints) { s.replay("--from", "xsd", "--where", "version IS NOT NULL") })
	if shape == corpus.Demo {
		s.once()
	}
	s.engines(func(engine.Endpoints) {
		if shape == corpus.Demo {
			s.unchanged("a replay from xsd", before)
			s.compare(s.see(), false)
		}
		// From all others at once, and by offsets.
		s.replay("--from", "download", "--where", "version IS NOT NULL")
		s.replay("--from", "upload", "--since", "24h")
		s.replay("--from", "data", "--where", "true")
		s.replay("--from", "unzip", "--offsets", "document.ordered/0:0-3", "--rate", "100")
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		for _, r := range s.replays() {
			if r.State != "done" || r.Complete == 0 || r.Complete+r.Refused+r.Failed != r.Items {
				t.Errorf("replay %d is %+v", r.Replay, r)
			}
		}
		s.unchanged("replays from all phases", before)
		s.invariants()
	})
}

// requester is who asks when a test does: whoever runs it, on this machine.
func requester(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username + "@" + host
}

// refuses asks for a replay and expects that it is refused, and why.
func (s *system) refuses(why string, args ...string) {
	s.t.Helper()
	p := s.start(append([]string{"replay", "--from", "unzip"}, args...)...)
	if code := p.code(wait.Patience()); code == 0 || !strings.Contains(p.tail(), why) {
		s.t.Errorf("replay %s ends with %d, want it to be refused since %q:\n%s", strings.Join(args, " "), code, why, p.tail())
	}
}

// A centre's files of a month are replayed twice at once, with kill -9 in
// between: the warehouse is as before, and both replays are done.
func TestReplayTwiceAtOnce(t *testing.T) {
	t.Parallel()
	shape, from := replayShape(t, false), seed(t)
	kills := int(number(t, killsEnv, 2))
	s := setUp(t, corpus.Options{Seed: from, Shape: shape}, rig.Options{Local: true, Extra: shortLeases})
	began := time.Now()
	s.once()
	whole := time.Since(began)
	undisturbed := s.expect(true)
	var before outcome
	var month string
	rng := rand.New(rand.NewPCG(from, 0x7265706c6179))
	s.engines(func(engine.Endpoints) {
		before = s.outcome()
		type chosen struct{ Where string }
		rows := sql[chosen](s, "tracker", `SELECT format('centre = %L AND created >= %L AND created < date %L + interval %L', centre, date_trunc('month', created)::date, date_trunc('month', created)::date, '1 month') AS "Where"
			FROM tracker.file WHERE version IS NOT NULL GROUP BY centre, date_trunc('month', created) ORDER BY count(*) DESC, 1 LIMIT 1`)
		month = rows[0].Where
		t.Logf("seed %d: %s; %d kills", from, month, kills)
		s.replay("--from", "unzip", "--where", month)
		s.replay("--from", "xsd", "--where", month)
	})
	for ; kills > 0; kills-- {
		p := s.start("up", "--once")
		if at := time.Duration(rng.Int64N(int64(whole))); !p.within(at) && p.kill(kills%2 == 0) {
			t.Logf("killed after %s", at.Round(time.Millisecond))
			continue
		}
		// It was over before: once more.
		s.engines(func(engine.Endpoints) {
			s.replay("--from", "unzip", "--where", month)
			s.replay("--from", "upload", "--where", month)
		})
	}
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("replays that were killed", before)
		s.invariants()
		got := s.see()
		differ(t, "specimens", undisturbed.Specimens, got.Specimens)
		for _, r := range s.replays() {
			if r.State != "done" || r.Complete == 0 || r.Complete+r.Failed+r.Refused != r.Items { // some archives are bad
				t.Errorf("replay %d is %+v", r.Replay, r)
			}
		}
	})
}

// Both versions of a file that was uploaded again are replayed, the older one
// last: it stays the older one, in the warehouse and in what is shown.
func TestReplayOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	replayShape(t, false)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: lively})
	s.once()
	name := s.corpus.Reuploadable()
	if err := s.corpus.Reupload("add", name); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.expect(true)
	var before outcome
	var older []struct{ First, Last int64 }
	s.engines(func(engine.Endpoints) {
		before = s.outcome()
		// The log of the order has nothing but positions, so a position's offset
		// is one less.
		older = sql[struct{ First, Last int64 }](s, "warehouse", fmt.Sprintf(`SELECT min(position) - 1 AS first, max(position) - 1 AS last FROM warehouse.document
			WHERE file_name = '%s' AND action = 'add' GROUP BY archive ORDER BY 1`, name))
		if len(older) != 2 {
			t.Fatalf("%s has the versions %+v, want two", name, older)
		}
		s.replay("--from", "unzip", "--where", fmt.Sprintf("file = '%s' AND action = 'add'", name))
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("a replay of the newer version", before)
		s.replay("--from", "upload", "--offsets", fmt.Sprintf("document.ordered/0:%d-%d", older[0].First, older[0].First))
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		all := s.replays()
		if len(all) != 2 || all[1].State != "done" || all[1].Complete != 1 || all[1].Items != 1 {
			t.Fatalf("the replays are %+v, want the older version as the only item of the second", all)
		}
		s.unchanged("a replay of the older version", before)
		s.compare(s.see(), false)
		s.invariants()
	})
}
