// Package history keeps every record of the event log in ClickHouse, each
// once.
//
// There is no state but ClickHouse's own. Where to read on from is the
// greatest offset it holds of a partition; records are inserted per partition,
// in order, one insert being one part, which is there as a whole or not at
// all. An insert that was repeated because its answer was lost is recognised
// by a token made of its offsets, and whatever else might come twice is
// replaced, because a record's place in the log is the table's key.
package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/stage"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// Name of the role and of its consumer group, without the prefix.
const Name = "history"

// Open connects to a database of ClickHouse; an empty name is the server's
// default.
type Open func(database string) (driver.Conn, error)

// History inserts batches of the event log into ClickHouse. It is a
// stage.Sink, safe for concurrent use. ClickHouse need not be up: every call
// fails until it is.
type History struct {
	open     Open
	database string
	codec    *schemas.Codec
	log      *slog.Logger

	mu    sync.Mutex
	conn  driver.Conn             // nil until the tables are there
	ahead map[partition]positions // guarded by mu
}

type partition struct {
	topic string
	id    int32
}

// positions tell what was read apart from what is stored: the log's last
// offsets need not have records.
type positions struct{ stored, read int64 }

// New returns a history that writes to the named database, which it creates
// when first asked for a position. Nothing is sent yet.
func New(open Open, database string, codec *schemas.Codec, log *slog.Logger) *History {
	return &History{open: open, database: database, codec: codec, log: log, ahead: map[partition]positions{}}
}

// Applier returns what feeds the history from Kafka; its Run is the role. Any
// number of members may run: Kafka shares the partitions out.
func (h *History) Applier(cfg config.History, prefix string, connect kafka.Factory, metrics *stage.Metrics) *stage.Applier {
	return stage.NewApplier(stage.ApplierConfig{
		Name: Name, Prefix: prefix, Topics: []string{schemas.StatusChangedTopic}, MaxRecords: cfg.Batch, MaxWait: cfg.Wait.D(),
	}, connect, h, h.log, metrics)
}

// Close gives up the connection.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		return nil
	}
	err := h.conn.Close()
	h.conn = nil
	return err
}

// ready connects and makes the tables, once.
func (h *History) ready(ctx context.Context) (driver.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		return h.conn, nil
	}
	if err := historysql.Migrate(ctx, h.open, h.database); err != nil {
		return nil, err
	}
	conn, err := h.open(h.database)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	h.conn = conn
	return conn, nil
}

// Position returns the offset after the last one stored of a partition.
func (h *History) Position(ctx context.Context, topic string, id int32) (int64, error) {
	conn, err := h.ready(ctx)
	if err != nil {
		return 0, err
	}
	at, err := position(ctx, conn, topic, id)
	if err != nil {
		h.again(conn)
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.ahead[partition{topic, id}]; p.stored == at && p.read > at {
		return p.read, nil
	}
	return at, nil
}

func position(ctx context.Context, conn driver.Conn, topic string, id int32) (int64, error) {
	rows, err := conn.Query(ctx, `SELECT offset FROM event WHERE topic = ? AND partition = ?
		ORDER BY topic DESC, partition DESC, offset DESC LIMIT 1`, topic, id)
	if err != nil {
		return 0, fmt.Errorf("history: position of %s/%d: %w", topic, id, err)
	}
	defer rows.Close()
	next := int64(0)
	for rows.Next() {
		if err := rows.Scan(&next); err != nil {
			return 0, fmt.Errorf("history: position of %s/%d: %w", topic, id, err)
		}
		next++
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("history: position of %s/%d: %w", topic, id, err)
	}
	return next, nil
}

// Apply inserts the records of a batch, range by range. What is stored already
// is left out, so that a batch that was stored in part can come again. It
// returns pg.ErrMoved (by errors.Is) where records before a range are missing.
func (h *History) Apply(ctx context.Context, batch []stage.Range) error {
	conn, err := h.ready(ctx)
	if err != nil {
		return err
	}
	for _, r := range batch {
		if err := h.apply(ctx, conn, r); err != nil {
			h.again(conn)
			return err
		}
	}
	return nil
}

// again makes the next call connect and look after the tables anew: what
// failed may be another ClickHouse by then, or an empty one.
func (h *History) again(conn driver.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != conn {
		return
	}
	h.conn = nil
	if err := conn.Close(); err != nil {
		h.log.Debug("close the connection to ClickHouse", "error", err)
	}
}

func (h *History) apply(ctx context.Context, conn driver.Conn, r stage.Range) error {
	at, err := h.Position(ctx, r.Topic, r.Partition)
	if err != nil {
		return err
	}
	if at < r.From {
		return fmt.Errorf("history: %s/%d is stored up to %d, the batch begins at %d: %w", r.Topic, r.Partition, at, r.From, pg.ErrMoved)
	}
	records := r.Records
	for len(records) > 0 && records[0].Offset < at {
		records = records[1:]
	}
	stored := at
	if len(records) > 0 {
		if err := h.insert(ctx, conn, r, max(at, r.From), records); err != nil {
			return err
		}
		stored = records[len(records)-1].Offset + 1
	} else if at >= r.To {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead[partition{r.Topic, r.Partition}] = positions{stored: stored, read: r.To}
	return nil
}

// insert sends records as one block, named by the offsets it spans.
func (h *History) insert(ctx context.Context, conn driver.Conn, r stage.Range, from int64, records []*kgo.Record) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert":               0,
		"insert_deduplicate":         1,
		"insert_deduplication_token": fmt.Sprintf("%s/%d/%d-%d", r.Topic, r.Partition, from, r.To),
	}))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO event ("+columnList()+")") //nolint:clickhouselint // aborted below; Close would end an INSERT that failed as if it were whole
	if err != nil {
		return fmt.Errorf("history: insert %d records of %s/%d: %w", len(records), r.Topic, r.Partition, err)
	}
	defer batch.Abort() //nolint:errcheck // after Send there is nothing to abort
	for _, rec := range records {
		values, err := h.row(r.Topic, rec)
		if err != nil {
			return fmt.Errorf("history: %s/%d at offset %d: %w", r.Topic, r.Partition, rec.Offset, err)
		}
		if err := batch.Append(values...); err != nil {
			return fmt.Errorf("history: %s/%d at offset %d: %w", r.Topic, r.Partition, rec.Offset, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("history: insert %d records of %s/%d: %w", len(records), r.Topic, r.Partition, err)
	}
	return nil
}

// row is a record's row. A record that is no event is kept as unreadable; one
// of a newer version is an error, schemas.ErrUnknownSchema by errors.Is, since
// an upgrade will read it.
func (h *History) row(topic string, rec *kgo.Record) ([]any, error) {
	m, e, err := h.decode(rec)
	if errors.Is(err, schemas.ErrUnknownSchema) {
		return nil, err
	}
	reason := ""
	if err != nil {
		reason, e = err.Error(), &schemas.StatusChanged{}
		if m.Time.IsZero() {
			m.Time = time.Unix(0, 0)
		}
	}
	return values(topic, rec, m, e, reason)
}
