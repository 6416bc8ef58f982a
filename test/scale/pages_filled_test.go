package scale

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/report/reporttest"
	"tributary/sql/history"
	trackersql "tributary/sql/tracker"
)

// fillHistory is ten events of each file: its name, a hosting, a request, the transfer,
// the unzip with control's judgement, and two documents that are judged and loaded. One
// document in sixty fails. Of every hundredth file the first event tells of the session
// instead.
const fillHistory = `INSERT INTO event (topic, partition, offset, event_id, time, stage, run, session, centre, source, entity, file, file_name, action, attempt, outcome, accepted, document, entry, ordinal, phase, phase_id, status, status_id, exception, bytes, rows, look, number, listed_at, started_at, finished_at)
SELECT 'status.changed', file %% 8, intDiv(n, 80) * 10 + k, reinterpretAsUUID(MD5(concat('e', toString(n)))), t, multiIf(k = 3, 'download', k = 4, 'unzip', k IN (6, 7), 'validate', k IN (8, 9), 'insert', 'plan'),
	toUUID('00000000-0000-5000-8000-000000000000'), reinterpretAsUUID(MD5(concat('n', toString(intDiv(file, 100))))), concat('C', toString(file %% 20)), concat('source-', toString(file %% 20)),
	multiIf(k = 0 AND file %% 100 = 0, 'session', k = 0, 'file', k = 1, 'hosting', k < 6, 'download', 'document'), reinterpretAsUUID(MD5(concat('f', toString(file)))), concat('C', toString(file %% 20), '.2020-01-01.', toString(file), '.impc.zip'), 'add',
	k >= 2 ? 1 : 0, k >= 3 ? 'done' : '', k = 5 ? 'done' : '', k >= 6 ? reinterpretAsUUID(MD5(concat('m', toString(file), toString(k %% 2)))) : NULL, k >= 6 ? concat(toString(k %% 2), '.xml') : '', k %% 2,
	multiIf(k = 0, 'zip_name', k = 1, '', k = 2, 'download', k = 3, 'zip_md5', k < 6, 'unzip', k < 8, 'xsd', 'upload'), multiIf(k = 0, 1, k = 1, 0, k = 2, 2, k = 3, 3, k < 6, 4, k < 8, 6, 7),
	multiIf(k = 1, '', k = 2, 'pending', bad, 'failed', 'done'), multiIf(k = 1, 0, k = 2, 1, bad, 5, 3), bad ? concat('exception_', toString(file %% 10)) : '', k = 3 ? 1000 : 0, k >= 8 ? 50 : 0, k BETWEEN 1 AND 5, k = 0 AND file %% 100 = 0 ? 1 + intDiv(file, 100) : 0, k = 1 ? t : NULL, t, t + 1
FROM (SELECT number AS n, intDiv(number, 10) AS file, number %% 10 AS k, file %% 60 = 7 AND k = 6 AS bad, toDateTime64('%s', 6, 'UTC') + toIntervalMillisecond(toInt64(number * %f)) AS t FROM numbers(%d, %d))`

// filled are a tracker with that many files and a history with that many events of the
// same time. With TRIBUTARY_TEST_DIR they are kept there.
func filled(t *testing.T, files, events int) (dsn string, tracker *pgxpool.Pool, conn driver.Conn, years reporttest.Years) {
	t.Helper()
	years = reporttest.YearsOf(files)
	began := time.Now()
	endpoint := enginetest.ClickHouse(t)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	database := fmt.Sprintf("pages_%d_%d", files, events)
	if err := history.Migrate(t.Context(), open, database); err != nil {
		t.Fatal(err)
	}
	conn, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var both errgroup.Group
	both.Go(func() error { return fillEvents(t.Context(), conn, events, years) })
	versions, err := trackersql.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	dsn = enginetest.Kept(t, fmt.Sprintf("pages_%d_of_%d", files, len(versions)), func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := trackersql.Migrate(ctx, pool); err != nil {
			return err
		}
		reporttest.Fill(t, pool, files)
		return nil
	})
	t.Logf("%d files are there after %s", files, time.Since(began).Round(time.Second))
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events are there after %s", events, time.Since(began).Round(time.Second))
	if tracker, err = pg.Open(t.Context(), dsn, "test", 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracker.Close)
	return dsn, tracker, conn, years
}

// fillEvents fills a history, unless it has them all.
func fillEvents(ctx context.Context, conn driver.Conn, events int, years reporttest.Years) error {
	var there uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM event").Scan(&there); err != nil || there == uint64(events) {
		return err
	}
	if err := conn.Exec(ctx, "TRUNCATE TABLE event"); err != nil {
		return err
	}
	each := float64(years.End.Sub(years.Begin).Milliseconds()) / float64(events)
	const chunk = 250_000 // in little memory
	for from := 0; from < events; from += chunk {
		if err := conn.Exec(ctx, fmt.Sprintf(fillHistory, years.Begin.UTC().Format(time.DateTime), each, from, min(chunk, events-from))); err != nil {
			return err
		}
	}
	return nil
}
