package sources

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// ApplyFile defines sources and centres as a file lists them, as Apply does; dir is what
// relative paths in it are relative to. What can't be read is a ValueError.
func (r Registry) ApplyFile(ctx context.Context, tx pgx.Tx, name string, in io.Reader, dir string, prune bool, by control.Decision) ([]Change, error) {
	cfg, err := r.WithCentres(ctx, tx)
	if err != nil {
		return nil, err
	}
	all, err := cfg.Parse(name, in, dir, r.Options)
	if err != nil {
		return nil, &ValueError{err}
	}
	return r.Apply(ctx, tx, all, prune, by)
}

// ApplyCentresFile is ApplyFile of a file that lists centres only.
func (r Registry) ApplyCentresFile(ctx context.Context, tx pgx.Tx, name string, in io.Reader, prune bool, by control.Decision) ([]Change, error) {
	all, err := config.Config{}.Parse(name, in, "", config.Options{})
	if err == nil && len(all.Sources) > 0 {
		err = fmt.Errorf("%s lists sources too: tributary sources apply -f %s defines both", name, name)
	}
	if err != nil {
		return nil, &ValueError{err}
	}
	return r.ApplyCentres(ctx, tx, all.Centres, prune, by)
}

// Present are the sources that control has and that are not removed, by id, or those named
// of them. One that isn't there is ErrUnknown.
func Present(ctx context.Context, q pg.Querier, ids []string) ([]control.Standing, error) {
	all, err := control.Standings(ctx, q)
	if err != nil {
		return nil, err
	}
	byID := map[string]control.Standing{}
	var present []control.Standing
	for _, st := range all {
		if st.State != control.SourceRemoved {
			byID[st.ID] = st
			present = append(present, st)
		}
	}
	if len(ids) == 0 {
		return present, nil
	}
	out := make([]control.Standing, 0, len(ids))
	for _, id := range ids {
		st, known := byID[id]
		if !known {
			return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
		}
		out = append(out, st)
	}
	return out, nil
}

// PresentCentres are the centres that control has, by short name, or those named of them.
// One that isn't there is ErrCentreUnknown.
func PresentCentres(ctx context.Context, q pg.Querier, names []string) ([]centres.Centre, error) {
	all, err := control.Centres(ctx, q)
	if err != nil || len(names) == 0 {
		return all, err
	}
	set := centres.Known(all...)
	var out []centres.Centre
	for _, name := range names {
		canonical, _ := set.Lookup(name)
		i := slices.IndexFunc(all, func(c centres.Centre) bool { return c.ShortName == canonical })
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrCentreUnknown)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Export is how sources are defined now, all or those named, as YAML that the configuration
// and ApplyFile read.
func Export(ctx context.Context, q pg.Querier, ids []string) ([]byte, error) {
	all, err := Present(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	var defined []config.Source
	for _, st := range all {
		src, err := config.ParseDefinition(st.Definition)
		if err != nil {
			return nil, err
		}
		src.State = st.DeclaredState
		defined = append(defined, src)
	}
	return config.SourcesYAML(defined)
}

// ExportCentres is Export of centres, which ApplyCentresFile reads.
func ExportCentres(ctx context.Context, q pg.Querier, names []string) ([]byte, error) {
	all, err := PresentCentres(ctx, q, names)
	if err != nil {
		return nil, err
	}
	var listed []config.Centre
	for _, is := range all {
		listed = append(listed, is.Listed())
	}
	return config.CentresYAML(listed)
}
