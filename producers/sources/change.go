package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/producers/sourcestate"
	"tributary/sql/control"
)

// Errors of changes that people ask for. Nothing is changed then.
var (
	ErrDeclared = errors.New("the configuration declares it, and owns how it is defined: change it there, and restart the members with the role schedule; its state is changed with tributary sources maintain, resume and poll")
	ErrUnknown  = errors.New("there is no such source: tributary sources lists them")
	ErrExists   = errors.New("there is such a source already: change it with tributary sources edit")
)

// Change is what became of a source, or of a centre, that somebody has defined or
// removed.
type Change struct {
	Source string `json:"source,omitempty"`
	Centre string `json:"centre,omitempty"`
	Done   string `json:"done"`   // added, changed, removed or unchanged
	Detail string `json:"detail"` // which keys have changed, from what to what
}

// What became of a source.
const (
	added     = "added"
	changed   = "changed"
	removed   = "removed"
	unchanged = "unchanged"
	declared  = "declared" // by the configuration, whatever has changed
)

// Find returns how the source stands; ErrUnknown where there is none, or it was
// removed.
func Find(ctx context.Context, tx pgx.Tx, id string) (control.Standing, error) {
	all, err := control.Standings(ctx, tx, id)
	if err != nil {
		return control.Standing{}, err
	}
	if len(all) == 0 || all[0].State == control.SourceRemoved {
		return control.Standing{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return all[0], nil
}

// Put defines sources as a person has them, each of which is new or was defined by
// a person before. One that is defined otherwise than before is polled at once. The
// event says by whom, and why.
func (r Registry) Put(ctx context.Context, tx pgx.Tx, all []config.Source, by control.Decision) ([]Change, error) {
	return r.putBlocks(ctx, tx, config.Blocks{Sources: all}, by)
}

// putBlocks defines centres, and then sources, which may name them.
func (r Registry) putBlocks(ctx context.Context, tx pgx.Tx, all config.Blocks, by control.Decision) ([]Change, error) {
	rows := make([]control.Source, len(all.Sources))
	known, err := r.Known(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, c := range all.Centres {
		known = append(known, centres.Of(c))
	}
	set := centres.Known(known...)
	for i, src := range all.Sources {
		if rows[i], err = r.row(src, src.State, set); err != nil {
			return nil, err
		}
	}
	change, err := control.ChangeSources(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	changes, err := r.putCentres(ctx, tx, all.Centres, change.Revision, by)
	if err != nil {
		return nil, err
	}
	if known, err = r.Known(ctx, tx); err != nil { // nobody removes any from here on
		return nil, err
	}
	set = centres.Known(known...)
	for i, src := range all.Sources {
		if err := check(src, set); err != nil {
			return nil, fmt.Errorf("%s: %w", src.ID, err)
		}
		c, err := r.put(ctx, tx, change, rows[i], src.State != "", by)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.ID, err)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// put defines one source; its state stays where none is given.
func (r Registry) put(ctx context.Context, tx pgx.Tx, change control.SourceChange, row control.Source, given bool, by control.Decision) (Change, error) {
	was, err := control.LockSource(ctx, tx, row.ID)
	if err != nil {
		return Change{}, err
	}
	known := was != nil && was.State != control.SourceRemoved
	if known && !given {
		row.State = cmp.Or(was.DeclaredState, row.State)
	}
	c := Change{Source: row.ID, Done: added}
	if known {
		if c.Detail, err = config.Difference(was.Definition, row.Definition); err != nil {
			return Change{}, err
		}
		switch {
		case c.Detail == "" && (was.Declared || row.State == was.DeclaredState):
			c.Done = unchanged
			return c, nil
		case was.Declared:
			return Change{}, ErrDeclared
		}
		c.Done = changed
	}
	if _, err := change.Put(ctx, row); err != nil {
		return Change{}, err
	}
	if err := control.SetDue(ctx, tx, row.ID, r.Now()); err != nil {
		return Change{}, err
	}
	if known && was.Closed(r.Now()) && !row.Closed(r.Now()) {
		if err := control.RetryUnavailable(ctx, tx, row.ID, r.Now()); err != nil {
			return Change{}, err
		}
	}
	return c, r.announce(ctx, tx, []string{row.ID}, change.Revision, sourcestate.Cause{Done: c.Done, Changed: c.Detail, Decision: by})
}

// Remove removes sources that people have defined. What they left is ended as that
// of one that the configuration declares no more.
func (r Registry) Remove(ctx context.Context, tx pgx.Tx, ids []string, by control.Decision) ([]Change, error) {
	change, err := control.ChangeSources(ctx, tx, nil)
	if err != nil {
		return nil, err
	}
	revision := change.Revision
	changes := make([]Change, 0, len(ids))
	for _, id := range ids {
		was, err := control.LockSource(ctx, tx, id)
		switch {
		case err != nil:
			return nil, err
		case was == nil || was.State == control.SourceRemoved:
			return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
		case was.Declared:
			return nil, fmt.Errorf("%s: %w", id, ErrDeclared)
		}
		if _, err := control.PutStanding(ctx, tx, sourcestate.Rested(*was, control.SourceRemoved), was.State, time.Time{}, revision); err != nil {
			return nil, err
		}
		if err := r.announce(ctx, tx, []string{id}, revision, sourcestate.Cause{Done: removed, Decision: by}); err != nil {
			return nil, err
		}
		changes = append(changes, Change{Source: id, Done: removed})
	}
	return changes, nil
}

// Apply defines centres as PutCentres does, and sources as Put does. With prune, those
// sources are removed that people have defined before and that are not among them.
func (r Registry) Apply(ctx context.Context, tx pgx.Tx, all config.Blocks, prune bool, by control.Decision) ([]Change, error) {
	changes, err := r.putBlocks(ctx, tx, all, by)
	if err != nil || !prune {
		return changes, err
	}
	byHand, err := control.Undeclared(ctx, tx)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, s := range byHand {
		if !slices.ContainsFunc(all.Sources, func(src config.Source) bool { return src.ID == s.ID }) {
			gone = append(gone, s.ID)
		}
	}
	pruned, err := r.Remove(ctx, tx, gone, by)
	return append(changes, pruned...), err
}

// ByConfiguration is who changes what the configuration declares where nobody orders it:
// the file, on the host where it was read.
func (r Registry) ByConfiguration() sourcestate.Cause {
	by := "configuration"
	if host, err := os.Hostname(); err == nil {
		by += "@" + host
	}
	return sourcestate.Cause{Done: declared, Decision: control.Decision{By: by, Reason: r.Config.Path, At: r.Now()}}
}

// Redeclare stores what the configuration declares, also if another has replaced it,
// and returns what has changed by that.
func (r Registry) Redeclare(ctx context.Context, tx pgx.Tx, by control.Decision) ([]Change, error) {
	before, err := control.Standings(ctx, tx)
	if err != nil {
		return nil, err
	}
	_, changes, err := r.sync(ctx, tx, true, sourcestate.Cause{Done: declared, Decision: by})
	if err != nil {
		return nil, err
	}
	after, err := control.Standings(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, is := range after {
		was := control.Standing{Source: control.Source{State: control.SourceRemoved}}
		if i := slices.IndexFunc(before, func(s control.Standing) bool { return s.ID == is.ID }); i >= 0 {
			was = before[i]
		}
		c := Change{Source: is.ID, Done: changed}
		switch {
		case was.State == control.SourceRemoved && is.State == control.SourceRemoved:
			continue
		case was.State == control.SourceRemoved:
			c.Done = added
		case is.State == control.SourceRemoved:
			c.Done = removed
		default:
			if c.Detail, err = config.Difference(was.Definition, is.Definition); err != nil {
				return nil, err
			}
			if c.Detail == "" && was.State == is.State {
				c.Done = unchanged
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}
