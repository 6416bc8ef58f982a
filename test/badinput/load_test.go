package badinput

import (
	"fmt"
	"io"

	"tributary/internal/mapping"
	"tributary/schemas"
)

// rows reads a document's rows and drops them.
func (s *stages) rows(r io.Reader, d *schemas.DocumentExtracted) error {
	return s.mapping.Read(r, mapping.Document{Kind: d.Kind, Centre: d.Centre, Position: 1}, &sink{seen: map[mapping.ID]int{}})
}

// sink judges what insert judges of a document before it asks the warehouse:
// the same key twice is an error.
type sink struct {
	seen map[mapping.ID]int
}

func (*sink) Row(*mapping.Row) error { return nil }

func (s *sink) Record(r *mapping.Record) error {
	if first, twice := s.seen[r.Claim]; twice {
		return &mapping.DocumentError{Exception: mapping.DuplicateKey, Line: r.Line, Column: r.Column,
			Message: fmt.Sprintf("the same %s is in the document twice, first in line %d", r.Table.Name, first)}
	}
	s.seen[r.Claim] = r.Line
	return nil
}
