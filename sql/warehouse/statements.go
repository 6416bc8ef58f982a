package warehouse

import (
	"slices"
	"strings"
)

// Statement is one statement of a batch end. It may use $1, the centre.
type Statement struct {
	File string // in the profile's folder
	SQL  string
}

// Statements are what a profile's batch end runs for one centre.
type Statements struct {
	// Checks are sorted by the table that they judge, then by name.
	Checks []Check
	// Context and Overview are run one after another, in the order of their
	// files' names.
	Context, Overview []Statement
}

// OfCentres says whether each statement of context and overview is about one centre, so
// that those of several may be run side by side.
func (s *Statements) OfCentres() bool {
	global := func(x Statement) bool { return !x.OfCentre() }
	return !slices.ContainsFunc(s.Context, global) && !slices.ContainsFunc(s.Overview, global)
}

// OfCentre says whether the statement takes the centre, as $1.
func (s Statement) OfCentre() bool { return strings.Contains(s.SQL, "$1") }
