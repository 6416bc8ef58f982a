package sources

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/sql/control"
)

// ApplyCentres defines centres as PutCentres does. With prune, those are removed that
// people have defined before and that are not among them, as RemoveCentres does; what
// the profile brings along stays, however people have defined it.
func (r Registry) ApplyCentres(ctx context.Context, tx pgx.Tx, all []config.Centre, prune bool, by control.Decision) ([]Change, error) {
	changes, err := r.PutCentres(ctx, tx, all, by)
	if err != nil || !prune {
		return changes, err
	}
	known, err := control.Centres(ctx, tx) // nobody changes any since PutCentres
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, c := range known {
		listed := slices.ContainsFunc(all, func(l config.Centre) bool { return l.ShortName == c.ShortName })
		if c.By() == centres.ByPerson && !listed && r.brought(c.ShortName) == nil {
			gone = append(gone, c.ShortName)
		}
	}
	pruned, err := r.RemoveCentres(ctx, tx, gone, by)
	if err != nil {
		return nil, fmt.Errorf("prune what the file doesn't list: %w; list it there, with active: false", err)
	}
	return append(changes, pruned...), nil
}
