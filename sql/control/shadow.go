package control

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
)

// ErrShadowName says that a shadow of the wanted name is there.
var ErrShadowName = errors.New("there is a shadow of that name already: choose another; see tributary replay list")

// ErrPromoted says that a shadow was promoted before.
var ErrPromoted = errors.New("it was promoted before, and a shadow is promoted once: see tributary replay list")

// takenBefore tells what a replay that could not be stored has in common with
// one that is there.
func takenBefore(err error) error {
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch p.ConstraintName {
	case "replay_shadow":
		return ErrShadowName
	case "replay_promotes_key":
		return ErrPromoted
	}
	return err
}

// ShadowNamed tells whether some shadow has the name.
func ShadowNamed(ctx context.Context, q pg.Querier, name string) (named bool, err error) {
	return pg.One(ctx, q, "look for a shadow named "+name, pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM control.replay WHERE shadow = $1 AND shadow <> '')", name)
}

// Promotion returns the replay that made a shadow's results live; nil if none
// has.
func Promotion(ctx context.Context, q pg.Querier, shadow string) (*ReplayRun, error) {
	return pg.Maybe(ctx, q, "look for a promotion", pgx.RowToStructByName[ReplayRun], "SELECT "+replayRunColumns+" FROM control.replay WHERE promotes = $1", shadow)
}
