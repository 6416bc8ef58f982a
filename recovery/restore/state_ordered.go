package restore

import "tributary/schemas"

// ordered takes a position.
func (s *state) ordered(m schemas.Message, e *schemas.DocumentOrdered) {
	if e.Position <= s.last {
		return // a repeat
	}
	s.last, s.number = e.Position, max(s.number, e.RunNumber)
	s.givenUp(e)
	switch e.What {
	case schemas.PositionSession:
		if x := s.sessions[e.Session]; x != nil {
			x.end = e.Position
		}
		return
	case schemas.PositionUnload, schemas.PositionReference, schemas.PositionCheck:
		s.operations = append(s.operations, &operation{e, m.Time, e.Position})
		return
	}
	if e.What == schemas.PositionBatchEnd {
		s.domains[e.Domain] = max(s.domains[e.Domain], e.Number)
		for _, o := range s.operations {
			if o.Batch == e.Batch {
				o.last = e.Position // a batch of the operation's, not of documents
				return
			}
		}
	}
	b := s.batches[e.Batch]
	if b == nil {
		b = &batch{id: e.Batch, session: e.Session, domain: e.Domain, run: schemas.LiveRun, number: e.Number, late: e.Late, at: m.Time,
			versions: map[versionKey]*schemas.DocumentOrdered{}, begun: map[versionKey]*begun{}}
		if e.Late {
			b.session = ""
		}
		s.batches[e.Batch] = b
	}
	s.domains[e.Domain] = max(s.domains[e.Domain], e.Number)
	key := versionKey{e.File, attemptKey{e.Run, e.Attempt}}
	switch e.What {
	case schemas.PositionDocument:
		b.run = e.Run
		if b.begun[key] == nil {
			b.begun[key] = &begun{e, map[string]bool{}}
		}
		b.begun[key].documents[e.Document] = true // some come again, once control was restored before
		b.documents++
	case schemas.PositionVersion:
		b.versions[key] = e
		delete(b.begun, key)
	case schemas.PositionBatchEnd:
		b.end = e.Position
	}
}

// hollow takes a position whose content was decided to be lost: its numbers are
// taken, and nothing else is known. What the position was for is done again.
func (s *state) hollow(o *schemas.DocumentOrdered) {
	s.last, s.number = o.Position, max(s.number, o.RunNumber)
	if o.Domain != "" {
		s.domains[o.Domain] = max(s.domains[o.Domain], o.Number)
	}
}
