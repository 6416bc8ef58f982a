package e2e

import (
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// shownRow is where a file or a document stands in the tracker, without times:
// what is done again is told again, later.
type shownRow struct {
	What, Name, Version, Centre, Phase, Status, Exception, Message string
	Attempts, Rows, Position, Errors                               int64
}

const shownSQL = `SELECT 'file' AS what, action || '/' || file AS name, coalesce(version, '') AS version, coalesce(centre, '') AS centre, phase, status,
		coalesce(exception, '') AS exception, coalesce(message, '') AS message, attempts, coalesce(documents, 0) AS rows, 0 AS position, coalesce(documents_failed, 0) AS errors FROM tracker.file
	UNION ALL SELECT 'document', action || '/' || file || '/' || document, coalesce(version, ''), coalesce(centre, ''), phase, status,
		coalesce(exception, ''), coalesce(message, ''), checked, coalesce(rows_loaded, 0), coalesce(position, 0), errors_total FROM tracker.document`

// Every consumer group's offsets are set to the beginning by hand, as with
// Kafka's own tools: whoever reads again does again what it did, and nothing
// doubles. The warehouse, its findings, the order and where everything stands
// are as before, no file is fetched again, and nothing is pending.
func TestOffsetsResetByHand(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: replayShape(t, false)}, rig.Options{Local: true, Extra: lively})
	s.once()
	s.readAgain(func() {})
}

// The same when schemas and the rules of names were tightened since, so that
// much of what is read again is judged otherwise: what was judged first counts,
// and what is stale is stale still.
func TestOffsetsResetByHandUnderAnotherProfile(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: replayShape(t, false)}, rig.Options{Local: true, Extra: lively})
	s.once()
	s.readAgain(func() {
		tight := s.copyProfile()
		s.edit(filepath.Join(tight, "xsd", "specimen.xsd"), looseZygosity, tightZygosity)
		s.configure(tight, "")
	})
}

// readAgain resets all offsets, changes something, and expects that all is as
// before once everything has been read again.
func (s *system) readAgain(change func()) {
	t := s.t
	t.Helper()
	undisturbed := s.expect(true)
	change()
	var before outcome
	var shown []shownRow
	var stale string
	var once []onceRow
	var work map[string]int64
	s.engines(func(at engine.Endpoints) {
		before, shown, work = s.outcome(), sorted(sql[shownRow](s, "tracker", shownSQL)), s.work()
		stale, once = s.ask("replay", "--stale", "--dry-run"), sql[onceRow](s, "history", onceSQL)
		rewind(t, at.Kafka)
	})
	s.once()
	s.engines(func(engine.Endpoints) {
		s.unchanged("reading again", before)
		if diff := gocmp.Diff(shown, sorted(sql[shownRow](s, "tracker", shownSQL))); diff != "" {
			t.Errorf("where things stand (-before +after):\n%s", diff)
		}
		if diff := gocmp.Diff(once, sql[onceRow](s, "history", onceSQL)); diff != "" {
			t.Errorf("what the history tells of documents (-before +after):\n%s", diff)
		}
		if diff := gocmp.Diff(stale, s.ask("replay", "--stale", "--dry-run")); diff != "" {
			t.Errorf("what is stale (-before +after):\n%s", diff)
		}
		after := s.work()
		for _, topic := range []string{"file.discovered", "download.requested", "download.finished"} {
			if name := s.topic(topic); after[name] != work[name] {
				t.Errorf("%s has %d records, %d before: files were fetched again", name, after[name], work[name])
			}
		}
		// The test shows something only if work was done again.
		if name := s.topic("document.extracted"); after[name] <= work[name] {
			t.Errorf("%s has %d records, as before: nobody has read again", name, after[name])
		}
		got := s.see()
		s.compare(got, false)
		if diff := gocmp.Diff(undisturbed.Order, got.Order); diff != "" {
			t.Errorf("order of insertion (-before +after):\n%s", diff)
		}
		s.invariants()
	})
}

// onceRow counts what the history tells of documents in a phase.
type onceRow struct {
	Phase, Status, Exception string
	Events                   int64
}

const onceSQL = `SELECT phase, status, exception, toInt64(count()) AS events FROM once WHERE entity = 'document'
	GROUP BY phase, status, exception ORDER BY phase, status, exception`

// rewind sets the offsets of all groups to the beginning of the topics. Insert
// is in none: it reads the order by itself, from where the warehouse is.
func rewind(t testing.TB, bootstrap []string) {
	t.Helper()
	client, err := kgo.NewClient(kafka.Bootstrap(bootstrap)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	groups, err := admin.ListGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rewound := map[string]bool{}
	for _, group := range groups.Groups() {
		offsets, err := admin.FetchOffsets(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
		zero := kadm.Offsets{}
		offsets.Each(func(o kadm.OffsetResponse) { zero.AddOffset(o.Topic, o.Partition, 0, -1) })
		if len(zero) == 0 {
			continue
		}
		if err := admin.CommitAllOffsets(t.Context(), group, zero); err != nil {
			t.Fatalf("offsets of %s: %v", group, err)
		}
		rewound[group] = true
	}
	for _, stage := range []string{"download", "unzip", "validate", "plan", "sequence", "tracker", "history"} {
		if !rewound["tributary."+stage] {
			t.Errorf("the offsets of the group tributary.%s were not reset; known are %v", stage, groups.Groups())
		}
	}
}
