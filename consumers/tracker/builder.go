package tracker

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/beside"
	trackersql "tributary/sql/tracker"
)

// Builder makes the tracker's rows anew from the log, beside the tracker: to
// compare (Verify) or to replace it (Rebuild).
type Builder struct {
	Pool    *pgxpool.Pool // of at least two connections
	Connect kafka.Factory
	Prefix  string // of topics and groups
	Codec   *schemas.Codec
	Told    func(Progress) // of what goes on; may be nil
	Window  int            // records folded at once; 0: a default that takes some 250 MB
	// Meanings are what the tracker's members say that exceptions mean, as in Deps.
	Meanings map[string]string
}

// Progress is how far a build is.
type Progress struct {
	Step        string // in words
	Done, Total int64  // records of the log; both 0 where they say nothing
}

// ErrBusy says that another verify or rebuild is under way.
var ErrBusy = errors.New("another verify or rebuild of the tracker is under way")

// Schemas of builds. They are dropped when a build ends, or by the next.
const (
	verifySchema  = "tracker_verify"
	rebuildSchema = "tracker_rebuild"
)

// advisoryLock is held by whoever builds.
const advisoryLock = 7263_0005

// room is where the tracker is built beside the live one.
func (b *Builder) room() beside.Room {
	return beside.Room{Pool: b.Pool, Lock: advisoryLock, Busy: ErrBusy, Schemas: []string{verifySchema, rebuildSchema}}
}

// newBuild is a build in the given schema, which nothing has been done for yet.
func (b *Builder) newBuild(schema string) *build {
	window := b.Window
	if window == 0 {
		window = windowRecords
	}
	return &build{pool: b.Pool, offsets: groupOffsets(schema, b.Prefix), codec: b.Codec, window: window, meanings: b.Meanings, told: func(int) {},
		log: &statusLog{connect: b.Connect, name: kafka.TopicName(b.Prefix, schemas.StatusChangedTopic)}}
}

func (b *Builder) report(p Progress) {
	if b.Told != nil {
		b.Told(p)
	}
}

// apply brings a build up to the given offsets and tells how far it is.
func (b *Builder) apply(ctx context.Context, s *build, step string, to map[int32]int64) error {
	p := Progress{Step: step, Total: span{s.at, to}.records()}
	if p.Total == 0 {
		return nil
	}
	b.report(p)
	s.told = func(n int) { p.Done += int64(n); b.report(p) }
	return s.applyTo(ctx, to)
}

// live is what the tracker's own schema says of itself.
type live struct {
	exists  bool
	version int64 // of its migrations
	topic   pg.TopicID
	at      map[int32]int64
}

// readLive reads it.
func (b *Builder) readLive(ctx context.Context, q pg.Querier) (live, error) {
	l := live{at: map[int32]int64{}}
	o := groupOffsets(trackersql.Schema, b.Prefix)
	err := q.QueryRow(ctx, "SELECT to_regclass('tracker.consumed_topic') IS NOT NULL AND to_regclass('tracker.consumed') IS NOT NULL AND to_regclass('tracker.schema_version') IS NOT NULL").Scan(&l.exists)
	if err != nil {
		return l, fmt.Errorf("look for the tracker: %w", err)
	}
	if !l.exists {
		return l, nil
	}
	var topic *[16]byte
	if err := q.QueryRow(ctx, `SELECT (SELECT max(version_id) FROM tracker.schema_version WHERE is_applied),
		(SELECT topic_id FROM tracker.consumed_topic WHERE consumer_group = $1 AND topic = $2)`, o.Group, schemas.StatusChangedTopic).Scan(&l.version, &topic); err != nil {
		return l, fmt.Errorf("look at the tracker: %w", err)
	}
	if topic != nil {
		l.topic = *topic
	}
	l.at, err = positions(ctx, q, o)
	return l, err
}

// anew says whether the tracker's offsets are those of a topic that is gone.
func (l live) anew(log *statusLog) bool {
	return l.topic != (pg.TopicID{}) && log.id != (pg.TopicID{}) && l.topic != log.id
}

// beyond returns ErrLogCut if the tracker has read more than there is.
func (l live) beyond(log *statusLog, b logBounds) error {
	for p, at := range l.at {
		if at > b.end[p] {
			return fmt.Errorf("%w: the tracker has read partition %d of %s up to offset %d, but the log ends at %d: it was cut, or restored from an older backup",
				ErrLogCut, p, log.name, at, b.end[p])
		}
	}
	return nil
}
