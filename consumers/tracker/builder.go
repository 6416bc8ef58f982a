package tracker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
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

// alone runs fn while no other build is under way, with a connection of its
// own, beside which one more is used.
func (b *Builder) alone(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if b.Pool.Config().MaxConns < 2 {
		return errors.New("a verify or rebuild of the tracker needs two connections: raise postgres.max_connections")
	}
	conn, err := b.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the tracker: %w", err)
	}
	defer conn.Release()
	// One that has just ended or was killed may hold the lock for a moment.
	for tries := 0; ; tries++ {
		var mine bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", advisoryLock).Scan(&mine); err != nil {
			return fmt.Errorf("take the lock of builds: %w", err)
		}
		if mine {
			break
		}
		if tries == 20 {
			return ErrBusy
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	defer func() {
		// Where fn was interrupted the connection may be in any state; one that
		// is closed gives up its lock.
		if _, err := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", advisoryLock); err != nil {
			_ = conn.Conn().Close(context.WithoutCancel(ctx))
		}
	}()
	return fn(conn)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// shadow is a new, empty one in the given schema.
func (b *Builder) shadow(schema string) *shadow {
	window := b.Window
	if window == 0 {
		window = windowRecords
	}
	return &shadow{pool: b.Pool, offsets: groupOffsets(schema, b.Prefix), codec: b.Codec, window: window, told: func(int) {},
		log: &statusLog{connect: b.Connect, name: kafka.TopicName(b.Prefix, schemas.StatusChangedTopic)}}
}

// leftovers drops what killed builds left.
func (b *Builder) leftovers(ctx context.Context) error {
	for _, schema := range []string{verifySchema, rebuildSchema} {
		if err := b.shadow(schema).drop(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) tell(p Progress) {
	if b.Told != nil {
		b.Told(p)
	}
}

// apply brings a shadow up to the given offsets and tells how far it is.
func (b *Builder) apply(ctx context.Context, s *shadow, step string, to map[int32]int64) error {
	p := Progress{Step: step, Total: span{s.at, to}.records()}
	if p.Total == 0 {
		return nil
	}
	b.tell(p)
	s.told = func(n int) { p.Done += int64(n); b.tell(p) }
	return s.applyTo(ctx, to)
}

// live is what the tracker's own schema says of itself.
type live struct {
	exists  bool
	version int64 // of its migrations
	topic   pg.TopicID
	at      map[int32]int64
}

// look reads it.
func (b *Builder) look(ctx context.Context, q pg.Querier) (live, error) {
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

// hasCode says whether an error is the database's with one of the codes.
func hasCode(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}
