//go:build synctests && !wasip1

package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	controldb "tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/test/wait"
)

// drawPeople are people who have a source left alone and resume it, or have one
// polled at once, while all else goes wrong. They have a generator of their own, so
// that a seed's faults are those that it has on models.
func (in *installation) drawPeople(seed uint64) (out []event) {
	rng := rand.New(rand.NewPCG(seed, 0x70656f706c65))
	sources := slices.Sorted(maps.Keys(in.s.sources))
	for range rng.IntN(4) {
		id := sources[rng.IntN(len(sources))]
		at := time.Duration(rng.Int64N(int64(faultPhase)))
		if rng.IntN(4) == 0 {
			out = append(out, event{at, id + " is polled at once", func(*sim) { in.order(id, sourcestate.Poll) }})
			continue
		}
		for_ := time.Duration(1+rng.IntN(10)) * time.Second
		out = append(out, event{at, fmt.Sprintf("%s is left alone for %v", id, for_), func(s *sim) {
			in.order(id, sourcestate.MaintainUntil(nil))
			time.AfterFunc(s.paced(for_), func() {
				s.tracef("sim", "%s is resumed", id)
				in.order(id, sourcestate.Resume)
			})
		}})
	}
	return out
}

// order gives an order about a source, as the command does.
func (in *installation) order(id string, give func(context.Context, pgx.Tx, outbox.Outbox, []string, sourcestate.Cause, time.Time) ([]sourcestate.Outcome, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	err := pg.InTx(ctx, in.pool, func(tx pgx.Tx) error {
		_, err := give(ctx, tx, outbox.Outbox{Schema: controldb.Schema, Codec: in.s.shared.codec}, []string{id}, sourcestate.Cause{Done: "ordered", Decision: controldb.Decision{By: "the simulation"}}, micros())
		return err
	})
	if err != nil {
		in.s.violate("sim", "%s: %v", id, err)
	}
}
