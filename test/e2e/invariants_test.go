package e2e

import (
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// topicRow is a row of tributary topics list -o json.
type topicRow struct {
	Name    string `json:"topic"`
	Records int64
}

// records are the numbers of records by topic.
func (s *system) records() map[string]int64 {
	s.t.Helper()
	out := map[string]int64{}
	for _, t := range list[topicRow](s, "topics", "list") {
		out[t.Name] = t.Records
	}
	return out
}

// positionRow is a document's position.
type positionRow struct {
	Position int64
	Document string
}

// invariants checks what holds whenever nothing is pending, whatever was done:
// every file has ended, positions have no gap and are all applied, the history
// has every record of the log once, and nothing was dead-lettered. It returns the order,
// as the log has it.
func (s *system) invariants() []placed {
	s.t.Helper()
	for _, f := range sql[fileRow](s, "tracker", "SELECT file, action, phase, status FROM tracker.file WHERE NOT ended") {
		s.t.Errorf("%s %s is pending at (%s, %s)", f.Action, f.File, f.Phase, f.Status)
	}
	log := s.order()
	records := s.records()
	type count struct{ N int64 }
	logged := sql[count](s, "history", "SELECT toInt64(count()) AS n FROM log WHERE topic = 'status.changed'")
	if want := records[s.topic("status.changed")]; len(logged) != 1 || logged[0].N != want {
		s.t.Errorf("the history has %v records of status.changed, the log has %d", logged, want)
	}
	for name, n := range records {
		if len(name) > 4 && name[len(name)-4:] == ".dlq" && n > 0 {
			s.t.Errorf("%d records in %s", n, name)
		}
	}
	return log
}

// order checks that the log of the order has each position once, without a gap,
// and that the warehouse has applied just these documents. It returns the positions.
func (s *system) order() (log []placed) {
	s.t.Helper()
	type event struct{ Body placed }
	var logged []positionRow
	next := int64(1)
	for _, e := range list[event](s, "topics", "tail", "document.ordered", "--from", "start") {
		switch {
		case e.Body.Position < next:
			continue // what a late publisher sent again
		case e.Body.Position > next:
			s.t.Errorf("document.ordered goes from position %d to %d", next-1, e.Body.Position)
		}
		next = e.Body.Position + 1
		log = append(log, e.Body)
		if e.Body.What == schemas.PositionDocument {
			logged = append(logged, positionRow{e.Body.Position, e.Body.ID})
		}
	}
	applied := sql[positionRow](s, "warehouse", "SELECT position, document FROM warehouse.document ORDER BY position")
	if diff := gocmp.Diff(logged, applied); diff != "" {
		s.t.Errorf("positions of documents (-ordered +applied):\n%s", diff)
	}
	type state struct {
		Next int64 `json:"next_position"`
	}
	if at := sql[state](s, "warehouse", "SELECT next_position FROM warehouse.state"); len(at) != 1 || at[0].Next != next {
		s.t.Errorf("the warehouse waits for position %v, document.ordered ends before %d", at, next)
	}
	return log
}
