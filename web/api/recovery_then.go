package api

import (
	"context"
	"strings"

	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/sql/control"
)

// quarantined is the exception of what a stage has given up.
const quarantined = "quarantined"

// lettersThen lists the files that stood quarantined at a moment, the latest change
// first: that, and what people had decided, is what events tell of dead letters.
func lettersThen(ctx context.Context, t tracked, limit int, all bool) ([]deadletter.Row, error) {
	dropped, err := droppedThen(ctx, t)
	if err != nil {
		return nil, err
	}
	out := []deadletter.Row{}
	err = report.Files(ctx, t.Querier, report.Filter{Exception: quarantined, Sort: report.Newest, Limit: limit}, func(f report.File) error {
		r := deadletter.Row{About: f.Action + "/" + f.File, Stage: f.Phase, Exception: quarantined, Error: known(f.Message), Action: f.Action, File: f.File,
			Centre: known(f.Centre), Source: known(f.Source), State: deadletter.Open}
		if f.Last != nil {
			r.Time = *f.Last
		}
		if d, is := dropped[r.About]; is {
			r.State, r.Dropped = control.LetterDropped, &deadletter.Decision{By: d.By, Reason: d.Reason, At: d.At}
		}
		if all || r.Dropped == nil {
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// droppedThen are the files of which the last decision about a letter was to drop it.
func droppedThen(ctx context.Context, t tracked) (map[string]audit.Order, error) {
	last := map[string]audit.Order{} // by action/name
	err := audit.Reader{Tracker: t.Querier}.Each(ctx, audit.Filter{Kind: "dead_letter", Limit: report.MaxPage}, func(o audit.Order) error {
		action, name, _ := strings.Cut(o.Subject, "/")
		name, _, _ = strings.Cut(name, "/") // behind it stands the document
		if _, is := last[action+"/"+name]; !is {
			last[action+"/"+name] = o
		}
		return nil
	})
	for file, o := range last {
		if o.What != control.LetterDropped {
			delete(last, file)
		}
	}
	return last, err
}

// replaysThen lists replays as they stood, or the one of a name.
func replaysThen(ctx context.Context, t tracked, name string, limit int) ([]*replay.Status, error) {
	all, err := replay.ReadThen(ctx, t.Querier, name, limit)
	out := make([]*replay.Status, len(all))
	for i := range all {
		out[i] = all[i].Status(*t.at)
	}
	return out, err
}

// known is what may be missing; then it is the zero one.
func known[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
