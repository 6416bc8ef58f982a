package history

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/broker"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// benchEnv is how many events TestRebuildAgainstPlainInsert takes, roundsEnv
// how often it measures.
const (
	benchEnv  = "TRIBUTARY_HISTORY_EVENTS"
	roundsEnv = "TRIBUTARY_HISTORY_ROUNDS"
)

// leastShare is how fast a rebuild is at least, against a plain INSERT of
// prepared blocks; mostMemory is what the process takes at most, in bytes.
const (
	leastShare = 0.5
	mostMemory = 500 << 20
)

// TestRebuildAgainstPlainInsert rebuilds a history and, before it, inserts
// blocks of the same rows, which were prepared, into a table that is defined in
// the same way; round by round. Then it verifies. A round's line gives what was
// done per second, and what it cost in time of the processor. The last line is
// the summary, with medians.
func TestRebuildAgainstPlainInsert(t *testing.T) {
	events, err := strconv.Atoi(os.Getenv(benchEnv))
	if err != nil {
		t.Skip("measured by make bench-history")
	}
	rounds, err := strconv.Atoi(os.Getenv(roundsEnv))
	if err != nil {
		rounds = 3
	}
	l := benchLog(t, events)
	h, _ := fresh(t)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine := childProcess(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(MemoryLimit)) // as the commands do
	var shares, cpuShares []float64
	var rebuildMemory, engineMemory int64
	for round := range rounds {
		plain := plainInsert(t, l, h, engine)
		clearPeak(t, self, engine)
		rebuilt := measure(engine, func() int64 { return l.rebuild(t, h, RebuildOptions{}).Rows })
		if rebuilt.rows != int64(events) {
			t.Fatalf("%d rows rebuilt, want %d", rebuilt.rows, events)
		}
		rebuildMemory, engineMemory = max(rebuildMemory, peak(t, self)), max(engineMemory, peak(t, engine))
		shares = append(shares, rebuilt.rate()/plain.rate())
		cpuShares = append(cpuShares, plain.perRow()/rebuilt.perRow())
		fmt.Printf("round %d: plain INSERT %s; rebuild %s; %.2f of its rows per second, %.2f per second of the processor\n",
			round+1, plain, rebuilt, shares[round], cpuShares[round])
	}
	clearPeak(t, self, engine)
	start := time.Now()
	v, err := l.reader(h).Verify(t.Context(), VerifyOptions{Scratch: t.TempDir()})
	if err != nil || !v.Equal() || v.LogRecords != uint64(events) || v.RollupsEqual != v.Rollups || v.Rollups == 0 {
		t.Errorf("after the rebuild: %+v, %v", v, err)
	}
	verified := time.Since(start)
	verifyMemory, verifyEngine := peak(t, self), peak(t, engine)
	share := median(shares)
	fmt.Printf("%d events: a rebuild stores %.2f of the rows per second of a plain INSERT (at least %.2f), %.2f per second of the processor; verify %.0f rows/s; "+
		"memory of rebuild %d MB, of verify %d MB (at most %d), of the engine beside them %d and %d MB\n",
		events, share, leastShare, median(cpuShares), float64(events)/verified.Seconds(),
		rebuildMemory>>20, verifyMemory>>20, mostMemory>>20, engineMemory>>20, verifyEngine>>20)
	if share < leastShare {
		t.Errorf("a rebuild stores %.2f of the rows per second of a plain INSERT", share)
	}
	if max(rebuildMemory, verifyMemory) > mostMemory {
		t.Errorf("%d and %d MB of memory", rebuildMemory>>20, verifyMemory>>20)
	}
}

// TestRollupTimes asks every rollup of as many events, which ClickHouse makes.
// One in a hundred is told twice.
func TestRollupTimes(t *testing.T) {
	events, err := strconv.Atoi(os.Getenv(benchEnv))
	if err != nil {
		t.Skip("measured by make bench-history")
	}
	h, conn := fresh(t)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const chunk = 250_000 // what ClickHouse makes at once, in bounded memory
	for from := 0; from < events; from += chunk {
		exec(t, conn, fmt.Sprintf(`INSERT INTO event (topic, partition, offset, event_id, time, stage, centre, source, entity, file, file_name, document, entry, phase, phase_id, status, status_id,
			exception, bytes, rows, started_at, finished_at)
		SELECT 'status.changed', number %% 3, intDiv(number, 3), toUUID(UUIDNumToString(MD5(toString(if(number %% 100 = 99, number - 1, number))))),
			toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalMillisecond(number * 100) AS at, 'validate', concat('C', toString(number %% 12)), concat('source-', toString(number %% 15)), 'document',
			toUUID(UUIDNumToString(MD5(toString(intDiv(number, 20))))), concat('H.', toString(intDiv(number, 20)), '.impc.zip'),
			toUUID(UUIDNumToString(MD5(toString(intDiv(number, 4))))), concat('doc', toString(intDiv(number, 4))), ['xml_name', 'xsd', 'upload', 'overview'][number %% 4 + 1], number %% 4 + 5,
			if(number %% 50 = 0, 'failed', 'done'), if(number %% 50 = 0, 5, 3), if(number %% 50 = 0, 'invalid_document', ''), number %% 100000, number %% 50, at - toIntervalMillisecond(number %% 5000), at
		FROM numbers(%d, %d)`, from, min(chunk, events-from)))
	}
	var out []string
	for _, r := range []string{"throughput_minute", "throughput_hour", "throughput_day", "latency", "failures", "failures_day", "once", "repeat"} {
		what := "sum(cityHash64(*))"
		if r == "once" {
			what = "count()"
		}
		start := time.Now()
		var sum uint64
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_memory_usage": 1 << 30}))
		if err := conn.QueryRow(ctx, "SELECT "+what+" FROM "+r).Scan(&sum); err != nil {
			t.Errorf("%s: %v", r, err)
		}
		out = append(out, fmt.Sprintf("%s %.1f s", r, time.Since(start).Seconds()))
	}
	fmt.Printf("rollups of %d events: %s\n", events, strings.Join(out, ", "))
}

// benchLog is a log of events as documents and downloads have them, on a broker
// that keeps them on disk; one in a hundred is told twice.
func benchLog(t *testing.T, events int) *testLog {
	t.Helper()
	b, err := broker.Open(broker.Options{DataDir: filepath.Join(enginetest.Dir(t), "kafka"), Addr: "127.0.0.1:0", NoSync: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	settings := config.Default().Kafka
	l := &testLog{connect: kafka.NewFactory(settings, b.Addrs(), slog.New(slog.DiscardHandler)), prefix: settings.TopicPrefix,
		topic: kafka.TopicName(settings.TopicPrefix, schemas.StatusChangedTopic), codec: codec(t)}
	if l.client, err = l.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.client.Close)
	l.create(t, 3)
	random := rand.New(rand.NewPCG(1, 2))
	failed := make(chan error, 1)
	for n := range events {
		r := benchRecord(t, l, n, random)
		l.client.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := l.client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	return l
}

func benchRecord(t testing.TB, l *testLog, n int, random *rand.Rand) *kgo.Record {
	file := fmt.Sprintf("H.2026-%02d-%02d.%02d.impc.zip", n/30000%12+1, n/1000%28+1, n/20%50)
	at := time.Date(2026, 1, 1, 0, 0, n/10, random.IntN(1e9), time.UTC)
	begun := at.Add(-time.Duration(random.IntN(5000)) * time.Millisecond)
	e := &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", fmt.Sprint(n/100000)), Centre: fmt.Sprint("C", n%12), Source: fmt.Sprint("source-", n%15)},
		FileRef: schemas.FileRef{File: schemas.FileID("add", file), FileName: file, Action: "add"}, Entity: schemas.EntityDocument, Attempt: 1,
		Phase: string(schemas.Phases()[2+n%8]), Status: "done", StartedAt: &begun, FinishedAt: &at, Bytes: int64(random.IntN(1e6)), Rows: int64(n % 50),
		DocumentRef: schemas.DocumentRef{Document: schemas.ID("document", fmt.Sprint(n/4)), Entry: fmt.Sprint("doc", n/4, ".experiment.impc.xml"), Ordinal: int32(n % 20)},
		FileDate:    "2026-01-01", FileInc: 1, Outcome: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	if n%50 == 0 {
		e.Status, e.Exception = "failed", "invalid_document"
		e.Errors = []schemas.ErrorDetail{{Line: 3, Column: 9, Exception: "invalid_document", Message: "element value: not a number"}}
	}
	id := n
	if n%100 == 99 {
		id--
	}
	record, err := l.codec.Encode(schemas.Message{ID: schemas.ID("bench", fmt.Sprint(id)), Topic: schemas.StatusChangedTopic, Stage: "validate", Subject: "add/" + file, Time: at, Body: e})
	if err != nil {
		t.Fatal(err)
	}
	r := kafka.ToKgo("test", record)
	r.Topic, r.Key = l.topic, []byte(file)
	return r
}

// plainInsert inserts blocks that were prepared, one after another, of as many
// rows as a rebuild's, in the order of the log; at most mostPlain rows. Their
// preparation is not measured, but for what the engine does meanwhile with what
// was inserted.
func plainInsert(t *testing.T, l *testLog, h *History, engine int) cost {
	t.Helper()
	conn, err := h.deps.Open(h.deps.Database) // a connection keeps the memory of its blocks
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	const blocks, size, mostPlain = 5, 50_000, 500_000 // each block holds a connection until it is sent
	table := builtPrefix + "plain"
	if err := historysql.CreateEvent(t.Context(), conn, table, 1); err != nil {
		t.Fatal(err)
	}
	defer exec(t, conn, "DROP TABLE "+table+" SYNC")
	log, _, err := logIntervals(t.Context(), l.client, l.topic)
	if err != nil {
		t.Fatal(err)
	}
	r := &rebuild{h: h, conn: &link{conn, 1, newLostParts()}, built: table, generation: 1, o: RebuildOptions{Batch: size}}
	var prepared []*filler
	var total cost
	send := func() {
		sent := measure(0, func() (rows int64) {
			for _, f := range prepared {
				rows += int64(f.rows)
				if err := f.send(); err != nil {
					t.Fatal(err)
				}
			}
			return rows
		})
		prepared = nil
		total.rows, total.wall, total.self = total.rows+sent.rows, total.wall+sent.wall, total.self+sent.self
	}
	enough := errors.New("enough")
	all := measure(engine, func() int64 {
		err = readLog(t.Context(), l.connect, l.topic, log, func(_ int32, records []*kgo.Record) error {
			for len(records) > 0 {
				if len(prepared) == 0 || prepared[len(prepared)-1].rows == size {
					if len(prepared) == blocks {
						send()
					}
					if total.rows == mostPlain {
						return enough
					}
					prepared = append(prepared, &filler{r: r, reader: reader{codec: h.deps.Codec}, block: newBlock()})
				}
				f := prepared[len(prepared)-1]
				n := min(len(records), size-f.rows, pieceRows)
				if err := f.add(t.Context(), records[:n]); err != nil {
					return err
				}
				records = records[n:]
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			t.Fatal(err)
		}
		send()
		return 0
	})
	total.engine = all.engine
	return total
}
