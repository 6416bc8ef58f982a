package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/sql/control"
)

// ValueError says what is wrong with values that a person gave.
type ValueError struct{ err error }

func (e *ValueError) Error() string { return e.err.Error() }
func (e *ValueError) Unwrap() error { return e.err }

// Refused tells whether an error says why a change can't be made, which is the asker's
// to mend.
func Refused(err error) bool {
	for _, refused := range []error{ErrDeclared, ErrUnknown, ErrExists, ErrCentreDeclared, ErrCentreUnknown, ErrCentreExists, ErrCentreUsed} {
		if errors.Is(err, refused) {
			return true
		}
	}
	value := (*ValueError)(nil)
	return errors.As(err, &value)
}

// Add adds a source of values, each KEY=VALUE as config.UpdateSource reads it. One that
// is there already is ErrExists.
func (r Registry) Add(ctx context.Context, tx pgx.Tx, id string, values []string, by control.Decision) ([]Change, error) {
	if _, err := Find(ctx, tx, id); err == nil {
		return nil, fmt.Errorf("%s: %w", id, ErrExists)
	} else if !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	src, err := r.With(ctx, tx, id, control.Undefined, "merge", values)
	if err != nil {
		return nil, err
	}
	return r.Put(ctx, tx, []config.Source{src}, by)
}

// Edit defines a source with other values, in one of config.UpdateKinds.
func (r Registry) Edit(ctx context.Context, tx pgx.Tx, id, kind string, values []string, by control.Decision) ([]Change, error) {
	was, err := Find(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	src, err := r.With(ctx, tx, id, was.Definition, kind, values)
	if err != nil {
		return nil, err
	}
	return r.Put(ctx, tx, []config.Source{src}, by)
}

// With is a source with other values than its definition has, checked as the
// configuration's are. What is wrong with them is a ValueError.
func (r Registry) With(ctx context.Context, tx pgx.Tx, id, definition, kind string, values []string) (config.Source, error) {
	cfg, err := r.WithCentres(ctx, tx)
	if err != nil {
		return config.Source{}, err
	}
	text, err := config.UpdateSource(id, definition, kind, values)
	if err != nil {
		return config.Source{}, &ValueError{err}
	}
	all, err := cfg.ParseSources("source "+id, bytes.NewReader(text), filepath.Dir(cfg.Path), r.Options)
	if err != nil {
		return config.Source{}, misuse(err, "sources[0].")
	}
	return all[0], nil
}

// WithCentres is the configuration that knows all centres that sources may name.
func (r Registry) WithCentres(ctx context.Context, tx pgx.Tx) (config.Config, error) {
	known, err := r.Known(ctx, tx)
	cfg, set := r.Config, centres.Known(known...)
	cfg.Centres = nil
	for _, c := range known {
		if name, _ := set.Lookup(c.ShortName); name == c.ShortName {
			cfg.Centres = append(cfg.Centres, c.Listed())
		}
	}
	return cfg, err
}

// AddCentre adds a centre of values, each KEY=VALUE as config.UpdateCentre reads it. One
// that is there already is ErrCentreExists.
func (r Registry) AddCentre(ctx context.Context, tx pgx.Tx, name string, values []string, by control.Decision) ([]Change, error) {
	if was, err := r.Centre(ctx, tx, name); err == nil {
		return nil, fmt.Errorf("%s: %w", was.ShortName, ErrCentreExists)
	} else if !errors.Is(err, ErrCentreUnknown) {
		return nil, err
	}
	return r.withCentre(ctx, tx, config.Centre{ShortName: name}, values, by)
}

// EditCentre gives a centre other particulars.
func (r Registry) EditCentre(ctx context.Context, tx pgx.Tx, name string, values []string, by control.Decision) ([]Change, error) {
	was, err := r.Centre(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	return r.withCentre(ctx, tx, was.Listed(), values, by)
}

// withCentre defines a centre with other values, checked as the configuration's are.
func (r Registry) withCentre(ctx context.Context, tx pgx.Tx, was config.Centre, values []string, by control.Decision) ([]Change, error) {
	text, err := config.UpdateCentre(was, values)
	if err != nil {
		return nil, &ValueError{err}
	}
	all, err := config.Config{}.Parse("centre "+was.ShortName, bytes.NewReader(text), "", config.Options{})
	if err != nil {
		return nil, misuse(err, "centres[0].")
	}
	return r.PutCentres(ctx, tx, all.Centres, by)
}

// misuse is what is wrong with values that were given by hand: no file, and so no line,
// is theirs, and at is where the values would stand in one.
func misuse(err error, at string) error {
	if problems := (config.Problems)(nil); errors.As(err, &problems) {
		for i := range problems {
			problems[i].Line, problems[i].Path = 0, strings.TrimPrefix(problems[i].Path, at)
		}
	}
	return &ValueError{err}
}
