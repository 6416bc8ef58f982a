package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	"tributary/sql/control"
)

// Errors of changes of centres that people ask for. Nothing is changed then.
var (
	ErrCentreDeclared = errors.New("the configuration lists it below centres, and owns how it is defined: change it there, and restart the members with the role schedule")
	ErrCentreUnknown  = errors.New("there is no such centre: tributary centres lists them")
	ErrCentreExists   = errors.New("there is such a centre already, capitals don't matter: change it with tributary centres edit")
	ErrCentreUsed     = errors.New("it can't be removed, but deactivated: tributary centres edit CENTRE active=false")
)

// Centre returns a centre by its short name, capitals don't matter, and keeps others
// from changing any until the transaction ends; ErrCentreUnknown where there is none.
func (r Registry) Centre(ctx context.Context, tx pgx.Tx, shortName string) (centres.Centre, error) {
	if _, err := control.NextCount(ctx, tx, "revision"); err != nil {
		return centres.Centre{}, err
	}
	all, err := control.Centres(ctx, tx)
	if err != nil {
		return centres.Centre{}, err
	}
	if c := find(all, shortName); c != nil {
		return *c, nil
	}
	return centres.Centre{}, fmt.Errorf("%s: %w", shortName, ErrCentreUnknown)
}

// find returns the centre of that short name, spelled so or else but for capitals;
// nil if there is none.
func find(all []centres.Centre, shortName string) *centres.Centre {
	i := slices.IndexFunc(all, func(c centres.Centre) bool { return c.ShortName == shortName })
	if i < 0 {
		i = slices.IndexFunc(all, func(c centres.Centre) bool { return strings.EqualFold(c.ShortName, shortName) })
	}
	if i < 0 {
		return nil
	}
	return &all[i]
}

// PutCentres defines centres as a person has them, each of which is new or isn't
// listed by the configuration. The event says by whom, and why.
func (r Registry) PutCentres(ctx context.Context, tx pgx.Tx, all []config.Centre, by control.Decision) ([]Change, error) {
	revision, err := control.NextCount(ctx, tx, "revision")
	if err != nil {
		return nil, err
	}
	return r.putCentres(ctx, tx, all, revision, by)
}

func (r Registry) putCentres(ctx context.Context, tx pgx.Tx, all []config.Centre, revision int64, by control.Decision) ([]Change, error) {
	if len(all) == 0 {
		return nil, nil
	}
	known, err := control.Centres(ctx, tx)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(all))
	for _, listed := range all {
		c := centres.Of(listed)
		c.DefinedBy = centres.ByPerson
		if p := r.brought(c.ShortName); p != nil && c.FullName == "" {
			c.FullName = p.FullName
		}
		was := find(known, c.ShortName)
		if was != nil && was.ShortName != c.ShortName {
			return nil, fmt.Errorf("%s: %s: %w", c.ShortName, was.ShortName, ErrCentreExists)
		}
		change, err := difference(was, &c)
		if err != nil {
			return nil, err
		}
		switch {
		case change.Done == unchanged:
		case was != nil && was.By() == centres.ByConfiguration:
			return nil, fmt.Errorf("%s: %w", c.ShortName, ErrCentreDeclared)
		default:
			if err := r.putCentre(ctx, tx, c, revision, change, sourcestate.Cause{Done: change.Done, Decision: by}); err != nil {
				return nil, err
			}
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// RemoveCentres removes centres that people have defined and that nothing speaks of.
func (r Registry) RemoveCentres(ctx context.Context, tx pgx.Tx, shortNames []string, by control.Decision) ([]Change, error) {
	revision, err := control.NextCount(ctx, tx, "revision")
	if err != nil {
		return nil, err
	}
	known, err := control.Centres(ctx, tx)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(shortNames))
	for _, name := range shortNames {
		was := find(known, name)
		switch {
		case was == nil:
			return nil, fmt.Errorf("%s: %w", name, ErrCentreUnknown)
		case was.By() == centres.ByConfiguration:
			return nil, fmt.Errorf("%s: %w", was.ShortName, ErrCentreDeclared)
		case r.brought(was.ShortName) != nil:
			return nil, fmt.Errorf("%s: the profile %s brings it along: %w", was.ShortName, r.Profile.Name, ErrCentreUsed)
		}
		use, err := control.CentreUsed(ctx, tx, was.ShortName)
		if err != nil {
			return nil, err
		}
		switch {
		case len(use.Sources) > 0:
			return nil, fmt.Errorf("%s: sources belong to it or host its files (%s): %w", was.ShortName, strings.Join(use.Sources, ", "), ErrCentreUsed)
		case use.Files:
			return nil, fmt.Errorf("%s: files of it are known: %w", was.ShortName, ErrCentreUsed)
		}
		gone := *was
		change, err := r.forget(ctx, tx, gone, revision, sourcestate.Cause{Done: removed, Decision: by})
		if err != nil {
			return nil, err
		}
		known = slices.DeleteFunc(known, func(c centres.Centre) bool { return c == gone })
		changes = append(changes, change)
	}
	return changes, nil
}

// declareCentres stores the centres that the configuration and its profile bring
// along. Those that people have defined stay, unless the configuration lists them, or
// another spelling of them. Those that were brought along before and are no more are
// removed, or deactivated and left to people where something speaks of them.
func (r Registry) declareCentres(ctx context.Context, tx pgx.Tx, revision int64, cause sourcestate.Cause) ([]Change, error) {
	known, err := control.Centres(ctx, tx)
	if err != nil {
		return nil, err
	}
	var changes []Change
	declared := map[string]string{}
	for _, c := range centres.Merge(r.Profile, r.Config) {
		declared[strings.ToLower(c.ShortName)] = c.ShortName
		i := slices.IndexFunc(known, func(k centres.Centre) bool { return k.ShortName == c.ShortName })
		var was *centres.Centre
		if i >= 0 {
			was = &known[i]
		}
		if was != nil && (*was == c || c.DefinedBy == centres.ByProfile && was.DefinedBy == centres.ByPerson) {
			continue
		}
		change, err := difference(was, &c)
		if err == nil {
			err = r.putCentre(ctx, tx, c, revision, change, cause)
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	for _, was := range known {
		spelled, brought := declared[strings.ToLower(was.ShortName)]
		if spelled == was.ShortName || !brought && was.DefinedBy == centres.ByPerson {
			continue
		}
		change, err := r.release(ctx, tx, was, revision, cause)
		if err != nil {
			return nil, err
		}
		if change.Done != unchanged {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// release lets go of a centre that nobody brings along any more.
func (r Registry) release(ctx context.Context, tx pgx.Tx, was centres.Centre, revision int64, cause sourcestate.Cause) (Change, error) {
	use, err := control.CentreUsed(ctx, tx, was.ShortName)
	if err != nil {
		return Change{}, err
	}
	if len(use.Sources) == 0 && !use.Files {
		return r.forget(ctx, tx, was, revision, cause)
	}
	c := was
	c.Active, c.DefinedBy = false, centres.ByPerson
	change, err := difference(&was, &c)
	if err != nil || c == was {
		return change, err
	}
	return change, r.putCentre(ctx, tx, c, revision, change, cause)
}

// difference says what becomes of a centre.
func difference(was, is *centres.Centre) (Change, error) {
	change := Change{Centre: is.ShortName, Done: added}
	if was == nil {
		return change, nil
	}
	before, err := was.Listed().Definition()
	if err != nil {
		return Change{}, err
	}
	after, err := is.Listed().Definition()
	if err != nil {
		return Change{}, err
	}
	if change.Detail, err = config.Difference(before, after); err != nil {
		return Change{}, err
	}
	if change.Done = changed; change.Detail == "" {
		change.Done = unchanged
	}
	return change, nil
}

func (r Registry) putCentre(ctx context.Context, tx pgx.Tx, c centres.Centre, revision int64, change Change, cause sourcestate.Cause) error {
	if _, err := control.PutCentre(ctx, tx, c, revision); err != nil {
		return err
	}
	return r.tellCentre(ctx, tx, c, revision, change, cause)
}

// forget removes a centre, and tells so: it is not active any more.
func (r Registry) forget(ctx context.Context, tx pgx.Tx, c centres.Centre, revision int64, cause sourcestate.Cause) (Change, error) {
	change := Change{Centre: c.ShortName, Done: removed}
	if err := control.RemoveCentre(ctx, tx, c.ShortName); err != nil {
		return Change{}, err
	}
	c.Active = false
	return change, r.tellCentre(ctx, tx, c, revision, change, cause)
}

// brought is the centre as the profile brings it along; nil if it doesn't.
func (r Registry) brought(shortName string) *profile.Centre {
	i := slices.IndexFunc(r.Profile.Centres, func(p profile.Centre) bool { return p.ShortName == shortName })
	if i < 0 {
		return nil
	}
	return &r.Profile.Centres[i]
}

// Known are the centres that sources may name: those that control has, and those that
// the configuration and its profile bring along, which control has once a member with
// the role schedule has started.
func (r Registry) Known(ctx context.Context, tx pgx.Tx) ([]centres.Centre, error) {
	all, err := control.Centres(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, c := range centres.Merge(r.Profile, r.Config) {
		if find(all, c.ShortName) == nil {
			all = append(all, c)
		}
	}
	return all, nil
}

// check refuses a source that names a centre which is not known (any more).
func check(src config.Source, known profile.Centres) error {
	named := []string{src.Centre}
	for _, h := range src.Hosts {
		named = append(named, h.Centre)
	}
	for _, name := range named {
		if _, ok := known.Lookup(name); !ok && name != config.AllCentres {
			return fmt.Errorf("the centre %q: %w", name, ErrCentreUnknown)
		}
	}
	return nil
}

// tellCentre announces a centre as it is now, and what has changed.
func (r Registry) tellCentre(ctx context.Context, tx pgx.Tx, c centres.Centre, revision int64, change Change, cause sourcestate.Cause) error {
	attributes := map[string]string{"full_name": c.FullName, "email": c.Email, "phone": c.Phone, "address": c.Address,
		"imits_name": c.IMITSName, "active": strconv.FormatBool(c.Active), "defined_by": c.By()}
	cause.Changed = change.Detail
	cause.Tell(attributes)
	if change.Done == removed {
		attributes["removed"] = "true"
	}
	return r.Outbox.Append(ctx, tx, centreEvent(c.ShortName, attributes, cause.Message(), revision, r.Now()))
}

func centreEvent(shortName string, attributes map[string]string, message string, revision int64, now time.Time) schemas.Message {
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, shortName, "centre", strconv.FormatInt(revision, 10)), Topic: schemas.StatusChangedTopic,
		Key: shortName, Stage: stage, Subject: "centre " + shortName, Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: schemas.LiveRun, Centre: shortName}, Entity: schemas.EntityCentre, Revision: revision,
			Message: message, Attributes: attributes,
		},
	}
}
