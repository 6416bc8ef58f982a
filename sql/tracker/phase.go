package tracker

import (
	"strconv"

	"tributary/schemas"
)

// PhaseID is the id of a phase as it stands in columns phase_id, for statements
// that compare them: schemas.Phases is the one place that gives the numbers.
func PhaseID(p schemas.Phase) string { return strconv.Itoa(p.ID()) }
