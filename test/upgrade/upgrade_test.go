package upgrade

import (
	"os"
	"testing"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
)

const (
	perZip    = 3 // documents of a zip of this corpus
	loaded    = "SELECT count(*) FROM warehouse.document WHERE state = 'loaded'"
	distinct  = "SELECT count(DISTINCT document) FROM warehouse.document"
	waiting   = "SELECT coalesce(sum(events), 0) FROM control.outbox"
	open      = "SELECT count(*) FROM control.batch WHERE released_at IS NULL"
	extracted = "SELECT count(*) FROM control.acquisition WHERE state = 'extracted'"
	requested = "SELECT count(*) FROM control.acquisition WHERE state = 'requested'"
	given     = "SELECT next FROM control.position"
)

// What the program before left is taken up: nothing is inserted twice or lost,
// the chain begins with the next position, and older members beside newer ones
// do no harm: they are refused, or find no engines.
func TestTheProgramBefore(t *testing.T) {
	chosen := programs
	if os.Getenv("TRIBUTARY_UPGRADE") == "1" {
		chosen = programs[len(programs)-1:]
	}
	for _, from := range chosen {
		t.Run(from.commit, func(t *testing.T) {
			t.Parallel()
			takenUp(t, from)
		})
	}
}

func takenUp(t *testing.T, from before) {
	s := setUp(t, from, 20, 5)
	up := s.start(s.old, "up")
	done := s.show()
	s.must("the first files", s.counts(done*perZip, loaded))
	stop(up)

	// Positions that are drawn and not published, and a batch that is open.
	engines := s.engines(s.old)
	finds, publish, fetches := s.start(s.old, "run", "schedule", "poll", "plan"), s.start(s.old, "run", "publish"), s.start(s.old, "run", "download", "unzip")
	second := s.show()
	s.must("the second files", s.counts(second, extracted))
	stop(fetches)
	third := s.show()
	s.must("the third files", s.counts(third, requested))
	stop(publish)
	drawn, err := s.number(given)
	if err != nil {
		t.Fatal(err)
	}
	judges := s.start(s.old, "run", "validate", "sequence")
	s.must("positions are drawn", func() string {
		now, err := s.number(given)
		if err != nil || now < drawn+int64(second*perZip) {
			return "too few positions: " + said(err)
		}
		return ""
	})
	stop(judges, finds)
	for what, sql := range map[string]string{"events that were not published": waiting, "open batches": open} {
		if n, err := s.number(sql); err != nil || n == 0 {
			t.Fatalf("there are no %s: %v", what, err)
		}
	}
	begin, err := s.number(given)
	if err != nil {
		t.Fatal(err)
	}
	stop(engines)

	// Opened by the program of today.
	up = s.start(s.new, "up")
	done += second + third
	s.must("what was under way", s.counts(done*perZip, loaded))
	stop(up)

	engines = s.engines(s.new)
	others := s.start(s.new, "run", "schedule", "poll", "plan", "publish", "download", "unzip", "validate", "tracker", "history")
	older := s.start(s.old, "run", "sequence", "insert")
	done += s.show()
	switch {
	case !from.beside:
		s.must("an older member ends at its start", older.ended(1))
	case !from.chained:
		s.must("an older member draws a position", older.says("position_unchained"))
	default:
		s.must("an older member draws and loads positions", s.counts(done*perZip, loaded))
		done += s.show()
	}
	newer := s.start(s.new, "run", "sequence", "insert")
	s.must("the last files", s.counts(done*perZip, loaded))
	s.must("nothing twice", s.counts(done*perZip, distinct))
	if from.beside {
		stop(older)
	}
	if from.chained {
		begin = 1
	}
	s.judged(begin)
	s.run(s.dir, s.new, "warehouse", "verify", "--config", s.rig.Config)
	stop(newer, others, engines)
}

// judged expects that the order is a chain from the given position on.
func (s *system) judged(begin int64) {
	s.t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		s.t.Fatal(err)
	}
	var log chain.Log
	for _, r := range s.order() {
		m, err := codec.Decode(kafka.FromKgo(r))
		if err != nil {
			s.t.Fatal(err)
		}
		o, ok := m.Body.(*schemas.DocumentOrdered)
		if !ok || !log.Take(chain.LinkOf(o, r.Value, r.Offset)) {
			s.t.Fatalf("offset %d: positions are missing before %+v", r.Offset, m.Body)
		}
	}
	if err := log.Err(); err != nil || log.Unproven() > 0 || log.Head().Begin != begin {
		s.t.Errorf("the chain begins with position %d, want %d; %d positions came twice before, %v", log.Head().Begin, begin, log.Unproven(), err)
	}
}
