// Package history keeps every record of the event log in ClickHouse, each
// once.
//
// There is no state but ClickHouse's own. Where to read on from is the
// greatest offset it holds of a partition, unless ClickHouse has lost parts of
// the table: then it is the first offset that is missing. Records are inserted per partition,
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// Name of the role and of its consumer group, without the prefix.
const Name = "history"

// Open connects to a database of ClickHouse; an empty name is the server's
// default.
type Open func(database string) (driver.Conn, error)

// Deps are what a History works with.
type Deps struct {
	Open     Open
	Database string // is created when a position is first asked for
	Codec    *schemas.Codec
	Prefix   string        // of topics and groups
	Connect  kafka.Factory // nil: only Apply and Position are called
	Log      *slog.Logger
}

// History inserts batches of the event log into ClickHouse. It is a
// sink.Store, safe for concurrent use. ClickHouse need not be up: every call
// fails until it is.
type History struct {
	cfg   config.History
	deps  Deps
	quiet *kafka.Quiet

	mu    sync.Mutex
	conn  *link                   // nil until the tables are there
	ahead map[partition]positions // guarded by mu
}

// link is a connection, and the generation of the table that was read before
// any position on it.
type link struct {
	driver.Conn
	generation uint64
	lost       *lostParts
}

type partition struct {
	topic string
	id    int32
}

// positions tell what was read apart from what is stored: the log's last
// offsets need not have records.
type positions struct{ stored, read int64 }

// New makes a History.
func New(cfg config.History, d Deps) *History {
	return &History{cfg: cfg, deps: d, quiet: kafka.NewQuiet(time.Now), ahead: map[partition]positions{}}
}

// Applier returns what feeds the history from Kafka; its Run is the role. Any
// number of members may run: Kafka shares the partitions out.
func (h *History) Applier(metrics *member.Metrics) *sink.Applier {
	return sink.New(sink.Config{
		Name: Name, Prefix: h.deps.Prefix, Topics: []string{schemas.StatusChangedTopic}, MaxRecords: h.cfg.Batch, MaxWait: h.cfg.Wait.D(), Lull: h.cfg.Wait.D() / lullShare,
	}, h.deps.Connect, h, h.deps.Log, metrics)
}

// lullShare is the part of the longest wait after which a block is inserted as it is,
// where nothing more comes. Each costs ClickHouse some files per column, and a merge
// later, however few rows it has: four polls in two seconds shall not make four of them.
const lullShare = 2

// topic is the full name of the event log.
func (h *History) topic() string { return kafka.TopicName(h.deps.Prefix, schemas.StatusChangedTopic) }

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

// Prepare connects and makes the tables, unless that is done. It may be called
// again after it failed. A server that is too old is refused with a
// *storeversion.TooOldError.
func (h *History) Prepare(ctx context.Context) error {
	_, err := h.ready(ctx)
	return err
}

// ready connects and makes the tables, once.
func (h *History) ready(ctx context.Context) (*link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		return h.conn, nil
	}
	if err := historysql.Migrate(ctx, h.deps.Open, h.deps.Database); err != nil {
		return nil, err
	}
	conn, err := h.deps.Open(h.deps.Database)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if err := historysql.Expire(ctx, conn, liveTable, h.cfg.Retention.D()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	generation, err := generationOf(ctx, conn, liveTable)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	h.conn = &link{conn, generation, newLostParts()}
	return h.conn, nil
}

// liveTable is the table that is read and that the sink writes to.
const liveTable = "event"

// generationOf is the generation of the rows that a table takes. Whoever
// inserts knows it from before he read the positions that the insert goes on
// from, and sends it along: a table that was put in the place of another
// meanwhile refuses the rows, which might leave a gap in it.
func generationOf(ctx context.Context, conn driver.Conn, table string) (uint64, error) {
	var text string
	if err := conn.QueryRow(ctx, `SELECT default_expression FROM system.columns
		WHERE database = currentDatabase() AND table = ? AND name = 'generation'`, table).Scan(&text); err != nil {
		return 0, fmt.Errorf("history: generation of the table %s: %w", table, err)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("history: generation of the table %s: %w", table, err)
	}
	return n, nil
}

// Apply inserts the records of a batch as one block. What is stored already is
// left out, so that a batch can come again. It returns pg.ErrMoved (by
// errors.Is) where records before a range are missing.
func (h *History) Apply(ctx context.Context, batch []sink.Range) error {
	conn, err := h.ready(ctx)
	if err != nil {
		return err
	}
	if err := h.apply(ctx, conn, batch); err != nil {
		h.failed(ctx, conn, err)
		return err
	}
	return nil
}

// failed looks after what a call has met.
func (h *History) failed(ctx context.Context, conn *link, err error) {
	h.detach(ctx, conn, err)
	h.again(conn)
}

// again makes the next call connect and look after the tables anew: what
// failed may be another ClickHouse by then, or an empty one.
func (h *History) again(conn *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != conn {
		return
	}
	h.conn = nil
	if err := conn.Close(); err != nil {
		h.deps.Log.Debug("close the connection to ClickHouse", "error", err)
	}
}

func (h *History) apply(ctx context.Context, conn *link, batch []sink.Range) error {
	at, err := h.positions(ctx, conn, batch)
	if err != nil {
		return err
	}
	var missing []sink.Range // what is not stored yet, from where it is not
	for _, r := range batch {
		next := at[partition{r.Topic, r.Partition}]
		if next < r.From {
			return fmt.Errorf("history: %s/%d is stored up to %d, the batch begins at %d: %w", r.Topic, r.Partition, next, r.From, pg.ErrMoved)
		}
		for len(r.Records) > 0 && r.Records[0].Offset < next {
			r.Records = r.Records[1:]
		}
		if len(r.Records) > 0 || next < r.To {
			r.From = max(next, r.From)
			missing = append(missing, r)
		}
	}
	if err := h.insert(ctx, conn, missing); err != nil {
		return err
	}
	if err := h.stored(ctx, conn, missing); err != nil {
		return err
	}
	if h.cfg.Retention > 0 {
		ends := map[partition]int64{}
		for _, r := range missing {
			ends[partition{r.Topic, r.Partition}] = r.To
		}
		if err := noteOffsets(ctx, conn, ends, conn.generation); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range missing {
		p := partition{r.Topic, r.Partition}
		stored := at[p]
		if n := len(r.Records); n > 0 {
			stored = r.Records[n-1].Offset + 1
		}
		h.ahead[p] = positions{stored: stored, read: r.To}
	}
	return nil
}

// insert sends records as one block, which ClickHouse stores whole or not at
// all, named by the offsets that it spans.
func (h *History) insert(ctx context.Context, conn *link, ranges []sink.Range) error {
	var spans []string
	var count int
	for _, r := range ranges {
		if len(r.Records) > 0 {
			spans = append(spans, fmt.Sprintf("%s/%d/%d-%d", r.Topic, r.Partition, r.From, r.To))
			count += len(r.Records)
		}
	}
	if count == 0 {
		return nil
	}
	mark, err := conn.lost.mark(ctx)
	if err != nil {
		return err
	}
	token := mark + strings.Join(spans, ",")
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert":               0,
		"insert_deduplicate":         1,
		"insert_deduplication_token": token,
	}))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO event ("+columnList()+", generation)") //nolint:clickhouselint // aborted below; Close would end an INSERT that failed as if it were whole
	if err != nil {
		return fmt.Errorf("history: insert %d records of %s: %w", count, token, err)
	}
	defer batch.Abort() //nolint:errcheck // after Send there is nothing to abort
	b, rd := newBlock(), reader{codec: h.deps.Codec}
	for _, r := range ranges {
		for some := range slices.Chunk(r.Records, blockRows) {
			b.reset()
			for _, rec := range some {
				if err := rd.write(b, r.Topic, rec); err != nil {
					return fmt.Errorf("history: %w", &sink.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: rec.Offset, Err: err})
				}
				b.end()
			}
			if err := b.appendTo(batch, conn.generation); err != nil {
				return fmt.Errorf("history: insert %d records of %s: %w", count, token, err)
			}
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("history: insert %d records of %s: %w", count, token, err)
	}
	return nil
}
