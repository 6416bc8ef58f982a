package pages

import (
	"context"

	"tributary/queries/report"
)

// waits is a file that waits, or waited at the moment that is shown.
type waits struct {
	report.Pending

	Became *became // nil: now is shown, or nobody knows the file any more
}

// became is where a file stands now.
type became struct {
	Phase, Status, Exception string
	Last, LastFull, DateTime string
}

// waiting are files that wait; of a moment of the past, with what became of them since.
func (s *Site) waiting(ctx context.Context, all []report.Pending) ([]waits, error) {
	out := make([]waits, len(all))
	for i, p := range all {
		out[i].Pending = p
	}
	if s.present == nil || len(all) == 0 {
		return out, nil
	}
	since, err := report.BecameOf(ctx, s.present, all)
	if err != nil {
		return nil, err
	}
	for i := range out {
		for _, x := range since {
			if x.File != out[i].File || x.Action != out[i].Action {
				continue
			}
			out[i].Became = &became{Phase: x.Phase, Status: x.Status, Exception: text(x.Exception)}
			if x.Last != nil {
				out[i].Became.Last, out[i].Became.LastFull, out[i].Became.DateTime = when(*x.Last, s.Now()), s.full(*x.Last), stamp(*x.Last)
			}
		}
	}
	return out, nil
}
