package history

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"tributary/internal/stage/sink"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// RebuildOptions say how the history is filled again. Zero values get the
// defaults named.
type RebuildOptions struct {
	// Batch is how many rows are inserted at once; default 50,000. Each worker
	// has one batch in memory.
	Batch int
	// Workers is how many batches are decoded and inserted at once; default 2:
	// one is decoded while ClickHouse stores the other.
	Workers int
	// Force allows rows to be lost that only the history has, as the log no
	// longer begins where it did, or is another.
	Force bool
	// Progress, if given, is told how many records are read, of how many.
	Progress func(done, total int64)

	beforeExchange, afterExchange func() // for tests
}

// Rebuilt says what a rebuild did.
type Rebuilt struct {
	Rows    int64         `json:"rows"`
	Took    time.Duration `json:"took"`     // in nanoseconds
	Topic   string        `json:"topic_id"` // that it was filled from
	Dropped []string      `json:"dropped"`  // what rebuilds that were killed had left
}

// ErrWouldLose is returned by Rebuild where the history has rows that the log
// has no records for any more.
var ErrWouldLose = errors.New("the history has rows that the log has no records for: a rebuild would lose them")

// MemoryLimit is where the collector of a process that rebuilds or verifies
// should work harder (debug.SetMemoryLimit), so that it stays below 500 MB
// however long the log is.
const MemoryLimit = 350 << 20

// builtPrefix begins the names of tables that rebuilds fill.
const builtPrefix = "event_rebuild_"

// Rebuild fills a new table from the log and puts it in the place of event, in
// one step: whoever reads sees the one or the other. The sink may go on: it
// then finds that the table ends earlier than it thought and reads the log from
// there; a row that it had on its way for the old table is refused by the new
// one, which has another generation. A rebuild that was killed leaves a table
// that the next one drops.
func (h *History) Rebuild(ctx context.Context, o RebuildOptions) (Rebuilt, error) {
	if o.Batch <= 0 {
		o.Batch = 50_000
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	start := time.Now()
	conn, err := h.ready(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	r := &rebuild{o: o, h: h, conn: conn, topic: h.topic(), done: map[int32]int64{}}
	if r.client, err = h.deps.Connect(); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild the history: %w", err)
	}
	defer r.client.Close()
	err = r.run(ctx)
	r.out.Rows, r.out.Took = r.rows.Load(), time.Since(start)
	if err != nil {
		return r.out, fmt.Errorf("rebuild the history: %w", err)
	}
	return r.out, nil
}

type rebuild struct {
	o          RebuildOptions
	h          *History
	conn       *link
	client     *kgo.Client
	topic      string // full name
	built      string // the table that is filled beside the live one
	generation uint64
	done       map[int32]int64 // where each partition is read on
	rows       atomic.Int64
	total      int64
	out        Rebuilt
}

func (r *rebuild) run(ctx context.Context) (err error) {
	log, id, err := logIntervals(ctx, r.client, r.topic)
	if err != nil {
		return err
	}
	r.out.Topic = uuid.UUID(id).String()
	same, err := r.loses(ctx, log, id)
	if err != nil {
		return err
	}
	if err := r.makeTable(ctx); err != nil {
		return err
	}
	exchanged := false
	defer func() {
		if exchanged || ctx.Err() == nil {
			if derr := r.drop(context.WithoutCancel(ctx), r.built); err == nil {
				err = derr
			}
		}
	}()
	if err := noteTopic(ctx, r.conn, schemas.StatusChangedTopic, id, r.generation); err != nil {
		return fmt.Errorf("note the topic: %w", err)
	}
	// What comes meanwhile is read too, until the new table holds what the old
	// one does and little is left.
	for {
		before := r.rows.Load()
		if err := r.fill(ctx, log); err != nil {
			return err
		}
		if log, _, err = logIntervals(ctx, r.client, r.topic); err != nil {
			return err
		}
		if r.rows.Load()-before < int64(r.o.Batch) {
			break
		}
	}
	if err := r.fill(ctx, log); err != nil {
		return err
	}
	if r.h.cfg.Retention > 0 {
		ends := map[partition]int64{}
		for p, next := range r.done {
			ends[partition{schemas.StatusChangedTopic, p}] = next
		}
		if err := noteOffsets(ctx, r.conn, ends, r.generation); err != nil {
			return err
		}
	}
	if r.o.beforeExchange != nil {
		r.o.beforeExchange()
	}
	if err := r.conn.Exec(ctx, "EXCHANGE TABLES "+liveTable+" AND `"+r.built+"`"); err != nil {
		return fmt.Errorf("put the new table in the old one's place: %w", err)
	}
	exchanged = true
	if r.o.afterExchange != nil {
		r.o.afterExchange()
	}
	if same {
		return r.follow(ctx)
	}
	return nil
}

// loses says whether the history was filled from the topic that is there, and
// errs if it has rows that a rebuild would lose.
func (r *rebuild) loses(ctx context.Context, log map[int32]interval, id [16]byte) (same bool, err error) {
	known, err := knownTopic(ctx, r.conn, schemas.StatusChangedTopic, r.conn.generation)
	if err != nil {
		return false, fmt.Errorf("the topic that the history was filled from: %w", err)
	}
	stored, err := r.h.bounds(ctx, r.conn)
	if err != nil {
		return false, err
	}
	same = known == nil || *known == uuid.UUID(id)
	var why []string
	if !same && len(stored) > 0 {
		why = append(why, "the topic was deleted and made anew")
	}
	for _, p := range slices.Sorted(maps.Keys(stored)) {
		s, l := stored[p], log[p]
		if same && s.from < l.from {
			why = append(why, fmt.Sprintf("partition %d of the log begins at %d, of the history at %d", p, l.from, s.from))
		}
		if same && s.to > l.to {
			why = append(why, fmt.Sprintf("partition %d of the log ends at %d, of the history at %d", p, l.to, s.to))
			same = false // nothing is to be taken over from there
		}
	}
	if len(why) > 0 && !r.o.Force {
		return same, fmt.Errorf("%w (%s)", ErrWouldLose, strings.Join(why, "; "))
	}
	return same, nil
}

// makeTable makes the new table, and drops what rebuilds before it have left.
// One that is still at work fails for it.
func (r *rebuild) makeTable(ctx context.Context) error {
	var left []struct {
		Name string `ch:"name"`
	}
	if err := r.conn.Select(ctx, &left, "SELECT name FROM system.tables WHERE database = currentDatabase() AND startsWith(name, ?)", builtPrefix); err != nil {
		return fmt.Errorf("look for what other rebuilds have left: %w", err)
	}
	for _, t := range left {
		if err := r.drop(ctx, t.Name); err != nil {
			return err
		}
		r.out.Dropped = append(r.out.Dropped, t.Name)
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	r.generation = binary.BigEndian.Uint64(random[:])
	r.built = fmt.Sprintf("%s%016x", builtPrefix, r.generation)
	if err := historysql.CreateEvent(ctx, r.conn, r.built, r.generation); err != nil {
		return err
	}
	return historysql.Expire(ctx, r.conn, r.built, r.h.cfg.Retention.D())
}

func (r *rebuild) drop(ctx context.Context, table string) error {
	if !strings.HasPrefix(table, builtPrefix) {
		return fmt.Errorf("%s is no table of a rebuild", table)
	}
	// A server refuses by default to drop what is large.
	if err := r.conn.Exec(ctx, "DROP TABLE IF EXISTS `"+table+"` SETTINGS max_table_size_to_drop = 0"); err != nil {
		return fmt.Errorf("drop the table %s: %w", table, err)
	}
	return nil
}

// fill reads the log on, up to the given ends.
func (r *rebuild) fill(ctx context.Context, log map[int32]interval) error {
	want := map[int32]interval{}
	r.total = 0
	for p, l := range log {
		from, begun := r.done[p]
		if !begun {
			from = l.from
		}
		want[p] = interval{from, l.to}
		r.total += l.to - l.from
	}
	g, working := errgroup.WithContext(ctx)
	read := make(chan []*kgo.Record)
	for range r.o.Workers {
		g.Go(func() error { return r.work(working, read) })
	}
	g.Go(func() error {
		defer close(read)
		return readLog(working, r.h.deps.Connect, r.topic, want, func(_ int32, records []*kgo.Record) error {
			for piece := range slices.Chunk(records, pieceRows) {
				if err := sink.Send(working, read, piece); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for p, w := range want {
		r.done[p] = max(w.from, w.to)
	}
	return nil
}

// follow takes over what the sink stored in the old table in the last moment,
// so that nobody misses it until the sink has read it again. Columns are named,
// since their order is that in which each table came to them.
func (r *rebuild) follow(ctx context.Context) error {
	limits := []string{"0"}
	for p, next := range r.done {
		limits = append(limits, fmt.Sprintf("partition = %d AND offset >= %d", p, next))
	}
	if err := r.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s, generation) SELECT %[2]s, toUInt64(%d) FROM `%s` WHERE topic = ? AND (%s)",
		liveTable, columnList(), r.generation, r.built, strings.Join(limits, " OR ")), schemas.StatusChangedTopic); err != nil {
		return fmt.Errorf("take over the last rows: %w", err)
	}
	return nil
}
