package history

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/broker"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// benchEnv is how many events TestRebuildAgainstPlainInsert takes.
const benchEnv = "TRIBUTARY_HISTORY_EVENTS"

// leastShare is how fast a rebuild is at least, against a plain INSERT of
// prepared blocks; mostMemory is what the process takes at most, in bytes.
const (
	leastShare = 0.5
	mostMemory = 500 << 20
)

// TestRebuildAgainstPlainInsert rebuilds a history and, before and after it,
// inserts blocks of the same rows that were prepared; then it verifies and asks
// every rollup. Its last line is the summary.
func TestRebuildAgainstPlainInsert(t *testing.T) {
	events, err := strconv.Atoi(os.Getenv(benchEnv))
	if err != nil {
		t.Skip("measured by make bench-history")
	}
	l := benchLog(t, events)
	h, conn := fresh(t)
	if _, err := h.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(MemoryLimit)) // as the commands do
	before := plainInsert(t, l, h, conn)
	clearPeak(t)
	out := l.rebuild(t, h, RebuildOptions{})
	rebuildMemory := peak(t)
	after := plainInsert(t, l, h, conn)
	rate := float64(out.Rows) / out.Took.Seconds()
	plain := (before + after) / 2
	clearPeak(t)
	start := time.Now()
	v, err := h.Verify(t.Context(), l.connect, VerifyOptions{Prefix: l.prefix, Scratch: t.TempDir()})
	if err != nil || !v.Equal() || v.LogRecords != uint64(events) || v.RollupsEqual != v.Rollups || v.Rollups == 0 {
		t.Errorf("after the rebuild: %+v, %v", v, err)
	}
	verified := time.Since(start)
	verifyMemory := peak(t)
	fmt.Printf("%d events: plain INSERT %.0f and %.0f rows/s, rebuild %.0f rows/s (%.2f, at least %.2f), verify %.0f rows/s; memory of rebuild %d MB, of verify %d MB (at most %d)\n",
		events, before, after, rate, rate/plain, leastShare, float64(events)/verified.Seconds(), rebuildMemory>>20, verifyMemory>>20, mostMemory>>20)
	if rate < leastShare*plain {
		t.Errorf("a rebuild takes %.0f rows/s, %.2f of a plain INSERT", rate, rate/plain)
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

// plainInsert inserts blocks that were prepared, one after another, and gives
// the rows per second.
func plainInsert(t *testing.T, l *testLog, h *History, conn driver.Conn) float64 {
	t.Helper()
	const blocks, size = 6, 40_000 // each block holds a connection until it is sent
	table := shadowPrefix + "plain"
	if err := historysql.CreateEvent(t.Context(), conn, table, 1); err != nil {
		t.Fatal(err)
	}
	defer exec(t, conn, "DROP TABLE "+table+" SYNC")
	log, _, err := logIntervals(t.Context(), l.client, l.topic)
	if err != nil {
		t.Fatal(err)
	}
	var prepared []driver.Batch
	rows := 0
	enough := errors.New("enough")
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0}))
	err = readLog(t.Context(), l.connect, l.topic, log, func(_ int32, records []*kgo.Record) error {
		for _, r := range records {
			if rows%size == 0 {
				if len(prepared) == blocks {
					return enough
				}
				b, err := conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+columnList()+", generation)") //nolint:clickhouselint // sent below
				if err != nil {
					return err
				}
				prepared = append(prepared, b)
			}
			row, err := h.row(schemas.StatusChangedTopic, r)
			if err != nil {
				return err
			}
			if err := prepared[len(prepared)-1].Append(append(row, uint64(1))...); err != nil {
				return err
			}
			rows++
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
	start := time.Now()
	for _, b := range prepared {
		if err := b.Send(); err != nil {
			t.Fatal(err)
		}
	}
	return float64(rows) / time.Since(start).Seconds()
}

// clearPeak forgets the most memory that the process has had.
func clearPeak(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Logf("the memory includes what came before: %v", err)
	}
}

// peak is the most memory that the process has had, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kilobytes, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kilobytes << 10
}
