package replay

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"tributary/internal/screen"
	"tributary/schemas"
	"tributary/sql/control"
)

// Tally counts what a replay processes again.
type Tally struct {
	from    string
	shadow  string // the name of its shadow; empty: it is live
	centres map[string]bool

	Files     int64 `json:"files"`
	Documents int64 `json:"documents"` // as far as known
	Bytes     int64 `json:"bytes"`
	Nameless  int64 `json:"nameless"` // files chosen whose names were refused: they are left out

	Stale []StalePhase `json:"stale,omitempty"` // why they are chosen
}

// NewTally returns a tally of nothing of a replay that begins with a phase, and is
// a shadow if it has a name.
func NewTally(from, shadow string) *Tally {
	return &Tally{from: from, shadow: shadow, centres: map[string]bool{}}
}

// Add counts a file of a centre.
func (t *Tally) Add(centre string) {
	t.Files++
	t.centres[centre] = true
}

// Items counts versions and yields what is replayed of them.
func (t *Tally) Items(versions iter.Seq2[Version, error]) iter.Seq2[control.ReplayItem, error] {
	return func(yield func(control.ReplayItem, error) bool) {
		for v, err := range versions {
			if err != nil {
				yield(control.ReplayItem{}, err)
				return
			}
			if item, ok := t.count(v); ok && !yield(item, nil) {
				return
			}
		}
	}
}

// count counts a version and returns what is replayed of it, if it is: from
// data, that is its centre, once.
func (t *Tally) count(v Version) (control.ReplayItem, bool) {
	if v.Centre == "" {
		t.Nameless++
		return control.ReplayItem{}, false
	}
	known := t.centres[v.Centre]
	t.Add(v.Centre)
	t.Documents += v.Documents
	t.Bytes += v.Bytes
	if t.from == schemas.FromData {
		return control.ReplayItem{Domain: v.Centre}, !known
	}
	return control.ReplayItem{File: v.File, Archive: v.Archive}, true
}

// phasesOf are the phases that a replay runs: a shadow is not loaded.
func phasesOf(from string, shadow bool) (out []string) {
	last := schemas.Overview
	if shadow {
		last = schemas.XSD
	}
	for _, p := range schemas.Phases() {
		if p.ID() >= schemas.Phase(from).ID() && p.ID() <= last.ID() {
			out = append(out, string(p))
		}
	}
	return out
}

// Requested is a replay that was asked for, or would be, as JSON for programs.
type Requested struct {
	*Tally
	Replay  int64    `json:"replay,omitempty"` // its number
	Run     string   `json:"run,omitempty"`
	From    string   `json:"from"`
	Shadow  string   `json:"shadow,omitempty"`
	Phases  []string `json:"phases"`
	Centres []string `json:"centres"`
}

// Requested is what was chosen, and the run that processes it again; without a run
// it would be one.
func (t *Tally) Requested(r *control.ReplayRun) Requested {
	row := Requested{Tally: t, From: t.from, Shadow: t.shadow, Phases: phasesOf(t.from, t.shadow != ""), Centres: slices.Sorted(maps.Keys(t.centres))}
	if r != nil {
		row.Replay, row.Run = r.Number, r.ID
	}
	return row
}

// NothingStale is a replay that is not asked for, since nothing is stale in the
// phase that it would begin with; what is found is stale in others.
func NothingStale(from string, found []StalePhase) Requested {
	return Requested{Tally: &Tally{Stale: found}, From: from, Phases: []string{}, Centres: []string{}}
}

// WriteText says what was chosen, and what is done with it.
func (r Requested) WriteText(w io.Writer) error {
	what := fmt.Sprintf("%d files, %d documents, %d bytes, of %d centres", r.Files, r.Documents, r.Bytes, len(r.Centres))
	if r.Nameless > 0 {
		what += fmt.Sprintf(" (and %d files whose names were refused, of which nothing was ever fetched)", r.Nameless)
	}
	steps := cmp.Or(strings.Join(r.Phases, ", "), "none: the verdicts are known, and only rows are compared")
	see := "see tributary replay show"
	if r.Shadow != "" {
		what += ", in the shadow " + r.Shadow
		see = "when it is done, see tributary replay compare"
	}
	if r.From == schemas.FromData {
		steps += ", on all records of " + screen.Line(strings.Join(r.Centres, ", "))
	}
	if len(r.Stale) > 0 {
		if err := WriteStale(w, r.From, r.Stale); err != nil {
			return err
		}
	}
	var err error
	if r.Replay == 0 {
		_, err = fmt.Fprintf(w, "would be replayed: %s\nphases: %s\n", what, steps)
	} else {
		_, err = fmt.Fprintf(w, "replay %d (run %s): %s\nphases: %s\n%s %d\n", r.Replay, r.Run, what, steps, see, r.Replay)
	}
	return err
}

// WriteStale says what is stale, and why.
func WriteStale(w io.Writer, from string, found []StalePhase) error {
	var b strings.Builder
	began := len(found) > 0 && found[0].Phase == from
	switch {
	case !began && from != "":
		fmt.Fprintf(&b, "nothing is stale in %s: all was judged by what the profile has now\n", from)
	case !began:
		b.WriteString("nothing is stale: all was judged by what the profile has now\n")
	}
	for i, p := range found {
		more := ""
		switch {
		case !began:
			more = "; ask for it with --from " + p.Phase
		case i > 0 && p.Other == 0:
			more = ", which the replay from " + from + " takes along"
		case i > 0:
			more = fmt.Sprintf("; of these, %d are not stale in %s and stay as they are: ask again after this replay", p.Other, from)
		}
		fmt.Fprintf(&b, "stale in %s: %d files%s\n", p.Phase, p.Files, more)
		for _, g := range p.Groups {
			by := "judged by version " + g.Version
			if g.Version == "" {
				by = "judged by nobody knows what"
			}
			fmt.Fprintf(&b, "  %s: %d documents of %d files, %s, now %s\n", screen.Line(cmp.Or(g.Kind, "of unknown kind")), g.Documents, g.Files, by, g.Now)
		}
	}
	_, err := fmt.Fprint(w, b.String())
	return err
}
