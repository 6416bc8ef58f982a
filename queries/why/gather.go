package why

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/consumers/insert"
	"tributary/internal/config"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// sources are those that show a file, or else those that could; one without an id
// where there is none, or where none would take it.
func (k *asking) sources(f *Facts, looks []control.LastLook) []string {
	var own, others []string
	for _, s := range k.standings {
		shows := slices.ContainsFunc(looks, func(l control.LastLook) bool { return l.Source == s.ID })
		if len(looks) == 0 {
			src, err := config.ParseDefinition(s.Definition)
			shows = s.State != control.SourceRemoved && (f.Bad != nil || s.Centre == f.Centre || err == nil && mayShow(src, f))
		}
		switch {
		case !shows:
		case s.Centre == f.Centre:
			own = append(own, s.ID)
		default:
			others = append(others, s.ID)
		}
	}
	all := slices.Concat(own, others)
	if len(all) == 0 || len(looks) == 0 && (f.Outside != "" || f.File == nil && f.Tracked != nil) {
		return []string{""}
	}
	return all
}

// mayShow tells whether a source may show a file: in any directory, where none is
// known.
func mayShow(src config.Source, f *Facts) bool {
	if f.Action != "" {
		return src.MayShow(f.Centre, f.Action)
	}
	return slices.ContainsFunc(schemas.Actions(), func(action string) bool { return src.MayShow(f.Centre, action) })
}

// excluding is the filter of a source that excludes a file: in every directory, where
// none is known; empty: none does.
func excluding(definition string, f *Facts) (filter string) {
	src, err := config.ParseDefinition(definition)
	if err != nil {
		return ""
	}
	directories := schemas.Actions()
	if f.Action != "" {
		directories = []string{f.Action}
	}
	for _, directory := range directories {
		by := src.Filters.Excluding(directory, f.Name)
		if by == nil {
			return ""
		}
		filter = by.String()
	}
	return filter
}

// source reads how a source stands and was listed.
func (k *asking) source(ctx context.Context, f *Facts) (err error) {
	for _, s := range k.standings {
		if s.ID != f.SourceID {
			continue
		}
		f.Source = &Source{Standing: s}
		if src, err := config.ParseDefinition(s.Definition); err == nil && f.Bad == nil && s.Definition != control.Undefined && !mayShow(src, f) {
			f.Source.Refusal = src.Refusal(f.Centre, cmp.Or(f.Action, schemas.Actions()[0]))
		}
		if f.Source.Listings, err = control.ListingsOf(ctx, k.q, s.ID); err != nil {
			return err
		}
		if f.Source.Ignored, err = control.IgnoredEntry(ctx, k.q, s.ID, f.Action, f.Name); err != nil {
			return err
		}
		if f.Action == "" && f.Outside == "" {
			f.Action = f.Source.Ignored.Directory
		}
		f.Source.Filter = excluding(s.Definition, f)
		if k.Tracker != nil {
			if f.Source.Complete, err = lastComplete(ctx, k.Tracker, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// process reads how far a file is.
func (k *asking) process(ctx context.Context, f *Facts) (err error) {
	id := f.File.ID
	if f.Hostings, err = control.Hostings(ctx, k.q, []string{id}, k.now); err != nil {
		return err
	}
	if f.Fetches, err = control.Fetches(ctx, k.q, id); err != nil {
		return err
	}
	if f.Replays, err = control.ReplaysOf(ctx, k.q, id); err != nil {
		return err
	}
	x := f.standing()
	if x == nil {
		return nil
	}
	switch x.State {
	case control.Wanted:
		return k.room(ctx, f, x)
	case control.Requested:
		for _, h := range f.Hostings {
			if x.JobServer != nil && h.Server == *x.JobServer {
				return k.pace(ctx, f, h.Source)
			}
		}
	case control.Received, control.Extracted:
		f.Damage, err = control.DamageOf(ctx, k.q, x.SHA256)
		return err
	}
	if x.Batch != nil {
		if f.Batch, err = control.BatchStandingOf(ctx, k.q, *x.Batch); err != nil {
			return err
		}
	}
	if x.Result == control.Complete {
		if f.Unload, err = control.UnloadOf(ctx, k.q, f.Action, f.Name, x.SHA256); err != nil {
			return err
		}
	}
	return k.insertion(ctx, f)
}

// standing is the acquisition that the answer is about: the one under way before
// the newest, and the one whose bytes the newest brought again.
func (f *Facts) standing() *control.Fetch {
	x := f.main()
	switch {
	case x == nil:
	case x.State == control.Queued:
		x = f.active(x)
	case x.State == control.Ended && x.Result == control.Duplicate:
		x = f.brought(x)
	}
	return x
}

// room reads what a file that is to be requested waits for.
func (k *asking) room(ctx context.Context, f *Facts, x *control.Fetch) (err error) {
	from := plan.Candidates(f.File.Centre, f.Hostings, &x.Acquisition)
	if len(from) == 0 {
		return nil
	}
	f.From, f.Choice = &from[0], from
	if f.Queue, err = control.QueueOf(ctx, k.q, &x.Acquisition, f.From.Source, k.now); err != nil {
		return err
	}
	left, err := control.LeftAlone(ctx, k.q, k.now)
	if err != nil {
		return err
	}
	f.Left = left[f.From.Server]
	if err := k.pace(ctx, f, f.From.Source); err != nil {
		return err
	}
	f.Credit, err = control.CreditUseOf(ctx, k.q, f.From.Server, k.now)
	return err
}

// pace reads how fast the server of a source may be asked now.
func (k *asking) pace(ctx context.Context, f *Facts, source string) error {
	server, err := control.ThrottledServer(ctx, k.q, source)
	if err == nil {
		f.Pace = server.Text(source, k.now)
	}
	return err
}

// insertion reads how far the warehouse is; one that is not there has applied
// nothing.
func (k *asking) insertion(ctx context.Context, f *Facts) error {
	if k.Warehouse == nil {
		return nil
	}
	applied, err := insert.AppliedPosition(ctx, k.Warehouse)
	var answered *pgconn.PgError
	if errors.As(err, &answered) && (answered.Code == "42P01" || answered.Code == "3F000") {
		return nil
	}
	if err != nil {
		return err
	}
	f.Applied = &applied
	f.Stopped, err = insert.Stopped(ctx, k.Warehouse)
	return err
}
