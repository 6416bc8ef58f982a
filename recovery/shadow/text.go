package shadow

import (
	"fmt"
	"strconv"

	"tributary/sql/control"
)

// GroupHeader names the columns of a list of groups.
func GroupHeader() []string {
	return []string{"by", "group", "documents", "unchanged", "newly valid", "newly refused", "refused otherwise", "rows differ"}
}

// Cells are the columns of a list of groups, as GroupHeader names them.
func (g Group) Cells() []string {
	cells := []string{g.By, g.Group}
	for _, n := range []int64{g.Documents, g.Unchanged, g.NewlyValid, g.NewlyRefused, g.RefusedOtherwise, g.RowsDiffer} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}

// DocumentHeader names the columns of a list of documents.
func DocumentHeader() []string {
	return []string{"file", "action", "document", "centre", "change", "live", "shadow"}
}

// Cells are the columns of a list of documents, as DocumentHeader names them.
func (d *Document) Cells() []string {
	return []string{d.FileName, d.Action, d.Entry, d.Centre, d.Change, d.Live.String(), d.Shadow.String()}
}

// String is a verdict for people; empty where there was no such document.
func (v Verdict) String() string {
	switch {
	case v.Exception != "" && v.Errors > 0:
		return fmt.Sprintf("%s at %s, %d errors", v.Exception, v.Phase, v.Errors)
	case v.Exception != "":
		return v.Exception + " at " + v.Phase
	}
	return v.Result
}

// Notes say what a comparison of a run is without.
func (c *Comparer) Notes(r *control.ReplayRun, s Skipped) (notes []string, err error) {
	equal, err := Equal(r, c.Versions)
	if err != nil {
		return nil, err
	}
	return Notes(r.Number, r.State, equal, s), nil
}

// Notes say what a comparison is without, of a shadow by the number and the state of its
// replay, whether it was asked for with the profile by which it is compared, and what was
// left out.
func Notes(number int64, state string, equal bool, s Skipped) (notes []string) {
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{state != control.ReplayDone, fmt.Sprintf("the shadow is %s: %d files have not ended, and are left out", state, s.Unfinished)},
		{s.Refused > 0, fmt.Sprintf("%d files could not be replayed, and are left out: see tributary replay show %d", s.Refused, number)},
		{!equal, "the profile that shadows are judged by here differs from the one that this shadow was asked for with: rows are compared as the one of here makes them"},
		{s.Mixed > 0, fmt.Sprintf("%d %s", s.Mixed, ErrMixed)},
	} {
		if note.holds {
			notes = append(notes, note.text)
		}
	}
	return notes
}
