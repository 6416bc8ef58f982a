package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/recovery/shadow"
	"tributary/sql/control"
)

// ErrNothingPromoted says that by a shadow nothing would change.
var ErrNothingPromoted = errors.New("nothing would change by the shadow: there is nothing to promote")

// Promoter makes the results of shadows live. All of it is given.
type Promoter struct {
	Comparer *shadow.Comparer // by the profile by which all that is live is judged
	Tracker  *pgxpool.Pool
	Manager  *Manager
}

// NotPromoted tells whether an error says why a shadow can't be promoted as it stands,
// which who asks for it can understand and mend.
func NotPromoted(err error) bool {
	for _, known := range []error{control.ErrNoReplay, control.ErrPromoted, ErrShadowUndone, ErrNothingPromoted, shadow.ErrOtherVersions, shadow.ErrMixed, shadow.ErrNoShadow, shadow.ErrLost} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Try says what promoting a shadow, named by its name, its number or its run's id, would
// process again, and how many of its documents would change.
func (p *Promoter) Try(ctx context.Context, name string) (Requested, shadow.Counts, error) {
	of, t, err := p.promotable(ctx, name)
	if err != nil {
		return Requested{}, shadow.Counts{}, err
	}
	var counts shadow.Counts
	for _, err := range p.changed(ctx, &of, t, &counts) {
		if err != nil {
			return Requested{}, counts, err
		}
	}
	if t.Files == 0 {
		return Requested{}, counts, fmt.Errorf("%s: %w", of.Shadow, ErrNothingPromoted)
	}
	return t.Requested(nil), counts, nil
}

// Promote asks for the replay r, of which who, why, how fast and by which versions is
// given, that makes a shadow's results live, once.
func (p *Promoter) Promote(ctx context.Context, name string, r *control.ReplayRun) (Requested, error) {
	of, t, err := p.promotable(ctx, name)
	if err != nil {
		return Requested{}, err
	}
	r.Phase, r.Promotes = of.Phase, of.ID
	next, stop := iter.Pull2(p.changed(ctx, &of, t, &shadow.Counts{}))
	defer stop()
	if _, err := p.Manager.Request(ctx, r, func() (control.ReplayItem, bool, error) {
		item, err, ok := next()
		return item, ok && err == nil, err
	}); errors.Is(err, ErrNothingChosen) {
		return Requested{}, fmt.Errorf("%s: %w", of.Shadow, ErrNothingPromoted)
	} else if err != nil {
		return Requested{}, err
	}
	return t.Requested(r), nil
}

// promotable finds a shadow that can be promoted, or says what keeps it from that.
// Whoever promotes it at the same time is found when the replay is stored.
func (p *Promoter) promotable(ctx context.Context, name string) (of control.ReplayRun, t *Tally, err error) {
	if of, err = shadow.Find(ctx, p.Comparer.Control, name); err != nil {
		return of, nil, err
	}
	by, err := control.Promotion(ctx, p.Comparer.Control, of.ID)
	if err != nil {
		return of, nil, err
	}
	equal, err := shadow.Equal(&of, p.Comparer.Versions)
	switch {
	case err != nil:
	case by != nil:
		err = fmt.Errorf("by replay %d: %w", by.Number, control.ErrPromoted)
	case of.State != control.ReplayDone:
		err = fmt.Errorf("it is %s: %w", of.State, ErrShadowUndone)
	case !equal:
		err = shadow.ErrOtherVersions
	}
	if err != nil {
		return of, nil, fmt.Errorf("replay %d, the shadow %s: %w", of.Number, of.Shadow, err)
	}
	return of, NewTally(of.Phase, ""), nil
}

// changed yields the files of which some document would change, each once, and counts
// them with all that is in them, which is what is replayed, and all documents by what
// would become of them.
func (p *Promoter) changed(ctx context.Context, of *control.ReplayRun, t *Tally, counts *shadow.Counts) iter.Seq2[control.ReplayItem, error] {
	return func(yield func(control.ReplayItem, error) bool) {
		var files []string
		var err error
		*counts, err = p.Comparer.ChangedFiles(ctx, of, func(d *shadow.Document) bool {
			files = append(files, d.File)
			t.Add(d.Centre)
			return yield(control.ReplayItem{File: d.File, Archive: d.Archive}, nil)
		})
		if err == nil {
			t.Documents, t.Bytes, err = Weigh(ctx, p.Tracker, files)
		}
		if err != nil && !shadow.Stopped(err) {
			yield(control.ReplayItem{}, err)
		}
	}
}
