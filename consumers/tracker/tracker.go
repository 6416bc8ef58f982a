// Package tracker materialises the event log in Postgres: every record of
// status.changed becomes rows of the schema tracker, which tell where each
// file, download and document stands.
//
// The rows are a function of the set of events. What is known of a thing is a
// state (state.go) that events are added to; adding is commutative,
// associative and idempotent, so that any order, any repetition and any
// cutting into batches give the same rows. Each state is kept in the column
// merge of its row. What a parent shows is computed from its children
// whenever one of them changed (rollup.go).
package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

// Name of the role and of its consumer group, without the prefix.
const Name = "tracker"

// Deps are what a Tracker works with.
type Deps struct {
	Pool    *pgxpool.Pool // whose schema tracker has been migrated (package sql/tracker)
	Codec   *schemas.Codec
	Prefix  string        // of topics and groups
	Connect kafka.Factory // nil: only Apply is called
	Log     *slog.Logger
	// Meanings are what exceptions mean, by their names: those of the program, and
	// of the profile's checks.
	Meanings map[string]string
}

// Tracker applies batches of the event log to Postgres. It is a sink.Store,
// safe for concurrent use.
type Tracker struct {
	pg.Consumed

	cfg  config.Tracker
	deps Deps
}

// New makes a Tracker.
func New(cfg config.Tracker, d Deps) *Tracker {
	return &Tracker{cfg: cfg, deps: d, Consumed: pg.Consumed{Offsets: groupOffsets(trackersql.Schema, d.Prefix), Pool: d.Pool}}
}

// Applier returns what feeds the tracker from Kafka; its Run is the role. Any
// number of members may run: Kafka shares the partitions out.
func (t *Tracker) Applier(metrics *member.Metrics) *sink.Applier {
	return sink.New(sink.Config{
		Name: Name, Prefix: t.deps.Prefix, Topics: []string{schemas.StatusChangedTopic}, MaxRecords: t.cfg.Batch, MaxWait: t.cfg.Wait.D(),
	}, t.deps.Connect, t, t.deps.Log, metrics)
}

// Apply stores the rows that follow from a batch, and the offsets after it, in
// one transaction. It returns pg.ErrMoved if another member has moved one of
// the offsets, and schemas.ErrUnknownSchema (both by errors.Is) for a record
// of a newer version, which must wait for an upgrade. Records that are no
// events at all are passed over and listed in tracker.unreadable.
func (t *Tracker) Apply(ctx context.Context, ranges []sink.Range) error {
	for n := 1; ; n++ {
		if err := t.applyOnce(ctx, ranges); n == mostRaces || !pg.Taken(err) {
			return err
		}
	}
}

// mostRaces is how often a batch is written whose rows others have added meanwhile: two
// partitions speak of one name under different actions, or a file's key has moved to
// another partition. Each time what was refused is there to be found the next time.
const mostRaces = 10

func (t *Tracker) applyOnce(ctx context.Context, ranges []sink.Range) error {
	f, bad, err := foldOf(t.deps.Codec, ranges)
	if err != nil {
		return err
	}
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, byPlace)
	return pg.InTx(ctx, t.Pool, func(tx pgx.Tx) error {
		// The offsets come first: whoever comes second waits here, and then
		// finds that they have moved.
		for _, r := range ranges {
			if err := t.Offsets.Advance(ctx, tx, r.Topic, r.Partition, r.From, r.To); err != nil {
				return err
			}
		}
		for _, b := range bad {
			t.deps.Log.Warn("record passed over", "topic", b.topic, "partition", b.partition, "offset", b.offset, "reason", b.reason)
		}
		st, err := newStore(ctx, tx, &sharedTarget{}, slot(ranges), t.deps.Meanings)
		if err != nil {
			return err
		}
		if err := noteUnreadable(ctx, st, bad); err != nil {
			return err
		}
		return f.write(ctx, st)
	})
}

// slot is the least partition, which is the batch's own as long as its offset is locked.
func slot(ranges []sink.Range) int32 {
	least := int32(0)
	for i, r := range ranges {
		if i == 0 || r.Partition < least {
			least = r.Partition
		}
	}
	return least
}

// unreadable is a record that is no event.
type unreadable struct {
	topic     string
	partition int32
	offset    int64
	reason    string
}

// noteUnreadable lists records that were passed over.
func noteUnreadable(ctx context.Context, s *store, bad []unreadable) error {
	for _, b := range bad {
		if _, err := s.tx.Exec(ctx, s.sql(`INSERT INTO tracker.unreadable (topic, partition, log_offset, reason)
			VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`), b.topic, b.partition, b.offset, b.reason); err != nil {
			return fmt.Errorf("note an unreadable record: %w", err)
		}
	}
	return nil
}

// foldOf sums up the events of a batch.
func foldOf(codec *schemas.Codec, ranges []sink.Range) (*fold, []unreadable, error) {
	f := newFold()
	var bad []unreadable
	for _, r := range ranges {
		for _, rec := range r.Records {
			err := f.addRecord(codec, rec)
			if errors.Is(err, schemas.ErrUnknownSchema) {
				return nil, nil, &sink.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: rec.Offset, Err: err}
			}
			if err != nil {
				bad = append(bad, unreadable{r.Topic, r.Partition, rec.Offset, pg.Text(err.Error())})
			}
		}
	}
	f.made = map[string]uuid.UUID{} // few are asked for again
	return f, bad, nil
}

func (f *fold) addRecord(codec *schemas.Codec, rec *kgo.Record) error {
	m, err := codec.Decode(kafka.FromKgo(rec))
	if err != nil {
		return err
	}
	e, ok := m.Body.(*schemas.StatusChanged)
	if !ok {
		return fmt.Errorf("a record of %s is no event of the log", m.Topic)
	}
	if m.Time.IsZero() {
		return fmt.Errorf("the event %s has no time", m.ID)
	}
	return f.add(e, m.Time)
}
