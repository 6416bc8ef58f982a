package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Consumed is what a sink keeps of the topics that it reads, in the database
// that it writes to. A sink embeds it.
type Consumed struct {
	Offsets Offsets
	Pool    *pgxpool.Pool
}

// TopicID returns the id of the topic that the stored offsets belong to, and
// stores the given one if none is stored yet.
func (c Consumed) TopicID(ctx context.Context, topic string, id TopicID) (TopicID, error) {
	return c.Offsets.TopicID(ctx, c.Pool, topic, id)
}

// Position returns the stored offset from which to read a partition.
func (c Consumed) Position(ctx context.Context, topic string, partition int32) (int64, error) {
	return c.Offsets.Load(ctx, c.Pool, topic, partition)
}

// Restartable is Consumed of a sink to which what comes twice does no harm and
// what was lost comes again.
type Restartable struct{ Consumed }

// StartOver lets a topic that was made anew be read from its beginning.
func (r Restartable) StartOver(ctx context.Context, topic string, from, to TopicID) error {
	return InTx(ctx, r.Pool, func(tx pgx.Tx) error { return r.Offsets.StartOver(ctx, tx, topic, from, to) })
}
