package order

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/source"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
)

// Bounds of what somebody defines, beside those of each value.
const (
	maxValues = 100
	// CheckTime is how long the check of a source may take, or another look at it.
	CheckTime = time.Minute
)

// ErrBusy says that as many sources are being checked as may be at once.
var ErrBusy = errors.New("other sources are being looked at: try again in a minute")

// Definition is how somebody wants a source or a centre to be defined.
type Definition struct {
	On     string // Sources or Centres
	ID     string
	New    bool
	Kind   string   // one of config.UpdateKinds, of a source that is not new; empty: merge
	Values []string // KEY=VALUE each, as tributary sources edit and centres edit read them
	Seen   string   // Defined.Seen, of what was seen before; empty: it doesn't matter
}

// Defined is how a source or a centre is defined.
type Defined struct {
	Definition string // JSON with the keys of the configuration
	Declared   bool   // the configuration owns it: it can't be changed here
	By         string // configuration, profile or person
	Seen       string // changes with the definition
}

func defined(definition, by string) Defined {
	return Defined{definition, by == centres.ByConfiguration, by, fmt.Sprintf("%x", sha256.Sum256([]byte(definition)))}
}

// errNothing gives back what was only tried.
var errNothing = errors.New("nothing is changed")

// Define defines a source or a centre, or only tells what would change. What is refused
// is an Error.
func (d *Deps) Define(ctx context.Context, w Definition, by control.Decision, dry bool) (change sources.Change, err error) {
	if len(w.Values) > maxValues {
		return change, bad("%d values are given, and there are no more than %d", len(w.Values), maxValues)
	}
	err = d.registered(ctx, func(tx pgx.Tx, r sources.Registry) error {
		if err := seen(ctx, tx, r, w); err != nil {
			return err
		}
		changes, err := define(ctx, tx, r, w, by)
		if err != nil || len(changes) == 0 {
			return err
		}
		change = changes[0]
		if dry {
			return errNothing
		}
		return nil
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return change, err
}

func define(ctx context.Context, tx pgx.Tx, r sources.Registry, w Definition, by control.Decision) ([]sources.Change, error) {
	switch {
	case w.On == Centres && w.New:
		return r.AddCentre(ctx, tx, w.ID, w.Values, by)
	case w.On == Centres:
		return r.EditCentre(ctx, tx, w.ID, w.Values, by)
	case w.New:
		return r.Add(ctx, tx, w.ID, w.Values, by)
	}
	return r.Edit(ctx, tx, w.ID, w.kind(), w.Values, by)
}

func (w Definition) kind() string {
	if w.Kind == "" {
		return config.UpdateKinds()[0]
	}
	return w.Kind
}

// seen refuses what somebody defines who has seen another definition than there is.
func seen(ctx context.Context, tx pgx.Tx, r sources.Registry, w Definition) error {
	if w.New || w.Seen == "" {
		return nil
	}
	is, err := read(ctx, tx, r, w.On, w.ID)
	if err == nil && is.Seen != w.Seen {
		err = &Error{w.ID + " was defined otherwise meanwhile: look at it as it is now, and change that", true}
	}
	return err
}

// Defined reads how a source or a centre is defined.
func (d *Deps) Defined(ctx context.Context, on, id string) (is Defined, err error) {
	err = d.registered(ctx, func(tx pgx.Tx, r sources.Registry) error {
		is, err = read(ctx, tx, r, on, id)
		return err
	})
	return is, err
}

func read(ctx context.Context, tx pgx.Tx, r sources.Registry, on, id string) (Defined, error) {
	if on == Sources {
		st, err := sources.Find(ctx, tx, id)
		by := centres.ByPerson
		if st.Declared {
			by = centres.ByConfiguration
		}
		return defined(st.Definition, by), err
	}
	c, err := r.Centre(ctx, tx, id)
	if err != nil {
		return Defined{}, err
	}
	definition, err := c.Listed().Definition()
	return defined(definition, c.By()), err
}

// With is a source as it would be with other values.
func (d *Deps) With(ctx context.Context, w Definition) (src config.Source, err error) {
	err = d.registered(ctx, func(tx pgx.Tx, r sources.Registry) error {
		was := control.Undefined
		if !w.New {
			st, err := sources.Find(ctx, tx, w.ID)
			if err != nil {
				return err
			}
			was = st.Definition
		}
		src, err = r.With(ctx, tx, w.ID, was, w.kind(), w.Values)
		return err
	})
	return src, err
}

// registered works on the registry in one transaction. What it refuses is an Error.
func (d *Deps) registered(ctx context.Context, fn func(pgx.Tx, sources.Registry) error) error {
	if d == nil || d.Registry == nil {
		return ErrNotHere
	}
	err := pg.InTx(ctx, d.Control, func(tx pgx.Tx) error { return fn(tx, *d.Registry) })
	if sources.Refused(err) {
		return bad("%v", err)
	}
	return err
}

// Filtered tells what the filters of a source, and other keys that leave files, would do with
// other values to what its last listings showed.
func (d *Deps) Filtered(ctx context.Context, w Definition) ([]sources.Filtered, error) {
	src, err := d.With(ctx, w)
	if err != nil {
		return nil, err
	}
	return d.Registry.TestFilters(ctx, d.Control, src)
}

// Check connects to a source as it would be with other values, from this process, and
// tells each step as it ends.
func (d *Deps) Check(ctx context.Context, w Definition, each func(remote.Step)) error {
	src, err := d.With(ctx, w)
	if err != nil {
		return err
	}
	cfg := d.Registry.Config
	r, err := source.Remote(src, cfg.Poll.ConnectTimeout, cfg.Poll.IdleTimeout, cfg.Limits)
	if err != nil {
		return bad("%v", err)
	}
	return d.connecting(ctx, func(ctx context.Context) error {
		connectors.All().CheckEach(ctx, r, schemas.Actions(), each)
		return nil
	})
}

// connecting has do work with a source while few others do.
func (d *Deps) connecting(ctx context.Context, do func(context.Context) error) error {
	select {
	case d.Checking <- struct{}{}:
		defer func() { <-d.Checking }()
	default:
		return ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, CheckTime)
	defer cancel()
	return do(ctx)
}
