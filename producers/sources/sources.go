// Package sources keeps control's registry of sources and centres. A configuration
// declares some, and owns how these are defined; people define others beside it,
// while all members run. Each change is one transaction with its event, which holds
// the whole definition, so that the log knows every source as it is and as it was.
package sources

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/internal/source"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// stage tells these events, as it did before people could.
const stage = "schedule"

// Registry changes sources and centres in its callers' transactions.
type Registry struct {
	Config  config.Config // what it declares, and the values of keys that a source leaves out
	Profile *profile.Profile
	Outbox  outbox.Outbox
	Now     func() time.Time
	Options config.Options // of how what people define is checked
}

// Sync stores the centres and sources that the configuration declares, removes
// those that one declared before, and stores anew what follows from it for the
// others. What has changed is announced, with the cause. It returns how many
// sources there are.
//
// A configuration that another has replaced declares nothing again, so that members
// with old files undo nothing, unless again says that a person wants it: that is a
// ReplacedError.
func (r Registry) Sync(ctx context.Context, tx pgx.Tx, again bool, cause sourcestate.Cause) (n int, err error) {
	n, _, err = r.sync(ctx, tx, again, cause)
	return n, err
}

// sync is Sync, and returns what has become of centres as well.
func (r Registry) sync(ctx context.Context, tx pgx.Tx, again bool, cause sourcestate.Cause) (n int, changed []Change, err error) {
	rows, digest, err := r.declared()
	if err != nil {
		return 0, nil, err
	}
	change, err := control.ChangeSources(ctx, tx, rows)
	if err != nil {
		return 0, nil, err
	}
	since, err := control.Replaced(ctx, tx, digest)
	switch {
	case err != nil:
		return 0, nil, err
	case !since.IsZero() && !again && !r.embedded():
		return 0, nil, &ReplacedError{Path: r.Config.Path, Since: since}
	}
	if err := control.Declare(ctx, tx, digest, change.Revision, r.Now()); err != nil {
		return 0, nil, err
	}
	n, err = r.declare(ctx, tx, change, rows, cause)
	if err != nil {
		return 0, nil, err
	}
	changed, err = r.declareCentres(ctx, tx, change.Revision, cause)
	return n, changed, err
}

// declare stores the sources that the configuration declares, and anew those of
// people.
func (r Registry) declare(ctx context.Context, tx pgx.Tx, change control.SourceChange, rows []control.Source, cause sourcestate.Cause) (n int, err error) {
	var ids, news []string
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	removed, err := control.RemoveSources(ctx, tx, ids, change.Revision)
	if err != nil {
		return 0, err
	}
	for _, row := range removed {
		news = append(news, row.ID)
	}
	others, err := r.undeclared(ctx, tx, ids)
	if err != nil {
		return 0, err
	}
	for _, row := range append(rows, others...) {
		changed, err := change.Put(ctx, row)
		if err != nil {
			return 0, err
		}
		if !changed {
			continue
		}
		news = append(news, row.ID)
		if row.State == control.SourceAvailable && !row.Closed(r.Now()) {
			if err := control.RetryUnavailable(ctx, tx, row.ID, r.Now()); err != nil {
				return 0, err
			}
		}
	}
	return len(rows) + len(others), r.announce(ctx, tx, news, change.Revision, cause)
}

// embedded tells whether all members share this host's embedded engines, and so its
// configuration: whoever starts last has it as it is now.
func (r Registry) embedded() bool { return r.Config.Postgres.URL == "" }

// ReplacedError says that the configuration declares nothing any more.
type ReplacedError struct {
	Path  string
	Since time.Time
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the sources and centres of %s were replaced by those of another configuration at %s, which stay as they are: give this member the newer file, or, if this one shall count again, say tributary sources apply", e.Path, e.Since.Format(time.RFC3339))
}

// declared are the sources that the configuration declares, with a digest of all
// that it declares.
func (r Registry) declared() (rows []control.Source, digest string, err error) {
	all := centres.Merge(r.Profile, r.Config)
	known := centres.Known(all...)
	for _, src := range r.Config.Sources {
		row, err := r.row(src, src.State, known)
		if err != nil {
			return nil, "", err
		}
		row.Declared = true
		rows = append(rows, row)
	}
	text, err := json.Marshal([]any{rows, all})
	if err != nil {
		return nil, "", fmt.Errorf("what the configuration declares: %w", err)
	}
	return rows, fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// undeclared are the sources that people have defined, but for those declared now.
func (r Registry) undeclared(ctx context.Context, tx pgx.Tx, declared []string) ([]control.Source, error) {
	all, err := control.Undeclared(ctx, tx)
	if err != nil {
		return nil, err
	}
	known, err := r.Known(ctx, tx)
	if err != nil {
		return nil, err
	}
	var rows []control.Source
	for _, s := range all {
		if slices.Contains(declared, s.ID) {
			continue
		}
		row := s.Source // a newer program's stays as that has stored it
		if src, err := config.ParseDefinition(s.Definition); err == nil {
			if row, err = r.row(src, "", centres.Known(known...)); err != nil {
				return nil, err
			}
		}
		row.State = s.DeclaredState
		rows = append(rows, row)
	}
	return rows, nil
}

// row is the source as control stores it, in the state that whoever defines it
// gives it.
func (r Registry) row(src config.Source, state string, known profile.Centres) (control.Source, error) {
	if src.Interval == r.Config.Schedule.Interval && src.MaxInterval == 0 {
		src.Interval = 0 // the configuration's completion is not what the source says
	}
	definition, err := src.Definition()
	if err != nil {
		return control.Source{}, err
	}
	canonical := func(centre string) string { // as file names are read
		if name, ok := known.Lookup(centre); ok {
			return name
		}
		return centre
	}
	parts := source.Describe(src)
	row := control.Source{ID: src.ID, Centre: canonical(src.Centre), Server: parts.Server, Protocol: parts.Protocol, URL: parts.URL,
		AccessKey: parts.AccessKey, State: state, MaxSessions: src.MaxSessions, Interval: src.Interval.D(), Hosts: src.Shown(canonical), Definition: definition}
	if parts.Address != parts.Server {
		row.Address = parts.Address
	}
	now := r.Now()
	if row.Opens, row.Closes, err = sourcestate.Window(definition, now); err != nil {
		row.Opens, row.Closes = &now, &now // it is closed, and schedule takes it out
	}
	if row.State == "" {
		row.State = control.SourceAvailable
	}
	if row.MaxSessions <= 0 {
		row.MaxSessions = r.Config.Plan.MaxSessions
	}
	if row.Interval <= 0 {
		row.Interval = r.Config.Schedule.Interval.D()
	}
	return row, nil
}

// announce tells how sources stand that have changed: a suspended one stays so.
func (r Registry) announce(ctx context.Context, tx pgx.Tx, ids []string, revision int64, cause sourcestate.Cause) error {
	if len(ids) == 0 {
		return nil
	}
	all, err := control.Standings(ctx, tx, ids...)
	if err != nil {
		return err
	}
	events := make([]schemas.Message, 0, len(all))
	for _, st := range all {
		events = append(events, sourcestate.Event(st, revision, cause, r.Now()))
	}
	return r.Outbox.Append(ctx, tx, events...)
}
