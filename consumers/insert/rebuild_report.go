package insert

import (
	"maps"
	"slices"
	"time"
)

// RebuildProgress is how far a rebuild has come.
type RebuildProgress struct {
	Position int64         `json:"position"` // applied last
	Target   int64         `json:"target"`   // to be applied before the swap, as known now
	Rows     int64         `json:"rows"`     // written so far
	Elapsed  time.Duration `json:"elapsed"`  // in nanoseconds
}

// RebuildReport is what a rebuild has done.
type RebuildReport struct {
	RebuildProgress
	// Lost says that there was no live schema, so that status.changed told how
	// far insert had come.
	Lost bool `json:"lost"`
	// Chain is what the order proves of itself.
	Chain ChainReport `json:"chain"`
	// Profile is the profile and version that documents were loaded with, and
	// Others how many documents were judged by which other one.
	Profile string           `json:"profile"`
	Others  map[string]int64 `json:"others"`
}

func (r *Rebuild) progress(target int64) {
	r.report.RebuildProgress = RebuildProgress{Position: r.at.position - 1, Target: max(target, r.at.position-1), Rows: r.In.metrics.loaded.Load(), Elapsed: time.Since(r.began)}
	if r.Report != nil {
		r.Report(r.report.RebuildProgress)
	}
}

// OtherProfiles are the profiles by which documents were judged that are loaded
// with another one now, sorted.
func (r RebuildReport) OtherProfiles() []string { return slices.Sorted(maps.Keys(r.Others)) }
