package restore

import "tributary/schemas"

// hollow takes a position whose content was decided to be lost: its numbers are
// taken, and nothing else is known. What the position was for is done again.
func (s *state) hollow(o *schemas.DocumentOrdered) {
	s.last, s.number = o.Position, max(s.number, o.RunNumber)
	if o.Domain != "" {
		s.domains[o.Domain] = max(s.domains[o.Domain], o.Number)
	}
}
