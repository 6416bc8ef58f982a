package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tributary/schemas"
	historysql "tributary/sql/history"
)

// VerifyOptions say how the history is compared with the log. Zero values get
// the defaults named.
type VerifyOptions struct {
	// Range is how many offsets have one checksum; default 100,000.
	Range int64
	// Explain bounds how many rows that differ are named and explained; the
	// rest is only counted. Default 100.
	Explain int
	// Scratch is the directory for the temporary files that repeats are
	// recognised with; empty: the system's.
	Scratch string
	// Span, Difference and Rollup, if given, are called for each range, for
	// each row that differs, and for each rollup.
	Span       func(Span) error
	Difference func(Difference) error
	Rollup     func(Rollup) error
	// Now is the clock that tells which rows have outlived history.retention;
	// default time.Now.
	Now func() time.Time
}

// Span is a range of offsets of one partition, in the log and in the history.
// Checksums are the sums of the rows' hashes.
type Span struct {
	Topic           string `json:"topic"`
	Partition       int32  `json:"partition"`
	From            int64  `json:"from"`
	To              int64  `json:"to"` // the offset after the last
	LogRecords      uint64 `json:"log_records"`
	HistoryRows     uint64 `json:"history_rows"`
	LogChecksum     string `json:"log_checksum"`
	HistoryChecksum string `json:"history_checksum"`
	Expired         uint64 `json:"expired"` // records whose rows history.retention allows to be gone
	Equal           bool   `json:"equal"`
}

// Kinds of differences.
const (
	Missing  = "missing"   // the history lacks a record of the log
	Extra    = "extra"     // the history has a row that the log has no record for
	Changed  = "changed"   // the row is not what the record says
	NewTopic = "new_topic" // the history was read from a topic that was deleted and made anew
)

// Difference is a row that is not what the log says.
type Difference struct {
	Kind      string   `json:"kind"`
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Columns   []Column `json:"columns,omitempty"` // of a changed row
}

// Column is a column that differs, as text.
type Column struct {
	Name    string `json:"name"`
	Log     string `json:"log"`
	History string `json:"history"`
}

// Verified sums up a comparison.
type Verified struct {
	Ranges          int    `json:"ranges"`
	RangesDifferent int    `json:"ranges_different"`
	LogRecords      uint64 `json:"log_records"`
	HistoryRows     uint64 `json:"history_rows"`
	Differences     uint64 `json:"differences"` // rows, and rollups
	Behind          int64  `json:"behind"`      // offsets at the log's end that the history has not read yet
	Older           uint64 `json:"older"`       // rows from before the log's beginning, which nothing can be compared with
	Expired         uint64 `json:"expired"`     // records whose rows are gone, as history.retention wants
	RollupsEqual    int    `json:"rollups_equal"`
	Rollups         int    `json:"rollups"`         // compared
	RollupsSkipped  int    `json:"rollups_skipped"` // that could not be compared
}

// Equal says whether the history is what the log says, as far as both go.
func (v Verified) Equal() bool { return v.Differences == 0 }

// Complete says whether nothing of the log and no rollup was left out of the
// comparison.
func (v Verified) Complete() bool { return v.Behind == 0 && v.RollupsSkipped == 0 }

// verification is one comparison.
type verification struct {
	o       VerifyOptions
	h       *History
	conn    *link
	topic   string // full name
	expired time.Time
	out     Verified
	named   int
	buf     []byte
	sums    *rollupSums
	have    []map[int32]sum // what each rollup holds per day
}

// Verify compares every record of the log with its row, up to the offset that
// both have: the log may grow and the history follow meanwhile. It errors where
// the comparison can't be made; what is different is in the result.
func (h *History) Verify(ctx context.Context, o VerifyOptions) (out Verified, err error) {
	if o.Range <= 0 {
		o.Range = 100_000
	}
	if o.Explain <= 0 {
		o.Explain = 100
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	conn, err := h.ready(ctx)
	if err != nil {
		return out, err
	}
	v := &verification{o: o, h: h, conn: conn, topic: h.topic()}
	if h.cfg.Retention > 0 {
		v.expired = o.Now().Add(-h.cfg.Retention.D())
	}
	if v.sums, err = newRollupSums(o.Scratch); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, v.sums.close()) }()
	err = v.run(ctx)
	return v.out, err
}

func (v *verification) run(ctx context.Context) error {
	client, err := v.h.deps.Connect()
	if err != nil {
		return fmt.Errorf("verify the history: %w", err)
	}
	defer client.Close()
	log, id, err := logIntervals(ctx, client, v.topic)
	if err != nil {
		return fmt.Errorf("verify the history: %w", err)
	}
	stored, err := v.h.bounds(ctx, v.conn)
	if err != nil {
		return err
	}
	if known, err := knownTopic(ctx, v.conn, schemas.StatusChangedTopic, v.conn.generation); err != nil {
		return fmt.Errorf("verify the history: %w", err)
	} else if known != nil && *known != uuid.UUID(id) && id != [16]byte{} {
		if err := v.differ(Difference{Kind: NewTopic}); err != nil {
			return err
		}
	}
	// ClickHouse adds up what it has while the log is read.
	g, asking := errgroup.WithContext(ctx)
	if v.expired.IsZero() {
		g.Go(func() error { return v.storedRollups(asking, stored) })
	}
	whole := true
	g.Go(func() (err error) {
		whole, err = v.partitions(asking, log, stored)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return v.rollups(ctx, stored, whole)
}

// partitions compares partition after partition, and says whether every row was.
func (v *verification) partitions(ctx context.Context, log, stored map[int32]interval) (whole bool, err error) {
	all := maps.Clone(log)
	for p := range stored {
		all[p] = interval{}
	}
	whole = true
	for _, p := range slices.Sorted(maps.Keys(all)) {
		l, s := log[p], stored[p]
		if s.from < l.from && s.to > s.from {
			n, err := v.count(ctx, p, interval{s.from, min(s.to, l.from)})
			if err != nil {
				return whole, err
			}
			v.out.Older += n
			whole = whole && n == 0
		}
		if s.to > l.to {
			if err := v.beyond(ctx, p, interval{l.to, s.to}); err != nil {
				return whole, err
			}
		}
		v.out.Behind += max(0, l.to-max(s.to, l.from))
		if err := v.partition(ctx, p, interval{l.from, min(l.to, s.to)}); err != nil {
			return whole, fmt.Errorf("verify the history: %w", err)
		}
	}
	return whole, nil
}

// bounds are the offsets that the history has of each partition of the log.
func (h *History) bounds(ctx context.Context, conn *link) (map[int32]interval, error) {
	out := map[int32]interval{}
	var p int32
	var i interval
	for err := range historysql.Each(ctx, conn, "history: what is stored", []any{&p, &i.from, &i.to}, "SELECT partition, min(offset), max(offset) + 1 FROM event WHERE topic = ? GROUP BY partition", schemas.StatusChangedTopic) {
		if err != nil {
			return nil, err
		}
		out[p] = i
	}
	if h.cfg.Retention <= 0 {
		return out, nil
	}
	var next int64
	for err := range historysql.Each(ctx, conn, "history: what was stored", []any{&p, &next}, "SELECT partition, max(next) FROM consumed_offset WHERE topic = ? AND generation = ? GROUP BY partition", schemas.StatusChangedTopic, conn.generation) {
		if err != nil {
			return nil, err
		}
		i, has := out[p]
		if !has {
			i.from = next
		}
		out[p] = interval{i.from, max(i.to, next)}
	}
	return out, nil
}

const inRange = " FROM event FINAL WHERE topic = ? AND partition = ? AND offset >= ? AND offset < ?"

func (v *verification) args(p int32, i interval) []any {
	return []any{schemas.StatusChangedTopic, p, i.from, i.to}
}

func (v *verification) count(ctx context.Context, p int32, i interval) (n uint64, err error) {
	if err := v.conn.QueryRow(ctx, "SELECT count()"+inRange, v.args(p, i)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("verify the history: count rows: %w", err)
	}
	return n, nil
}

// beyond reports rows at offsets that the log does not have.
func (v *verification) beyond(ctx context.Context, p int32, i interval) error {
	n, err := v.count(ctx, p, i)
	if err != nil {
		return err
	}
	v.out.HistoryRows += n
	hashes, err := v.hashes(ctx, p, i, v.o.Explain)
	if err != nil {
		return err
	}
	for _, r := range hashes {
		if err := v.differ(Difference{Kind: Extra, Topic: schemas.StatusChangedTopic, Partition: p, Offset: r.offset}); err != nil {
			return err
		}
	}
	v.out.Differences += n - uint64(len(hashes))
	return nil
}
