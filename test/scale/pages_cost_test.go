package scale

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/sql/history"
	"tributary/sql/history/recipes"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

const (
	// rounds is how often a page of the tracker, and each of its statements, is asked, in
	// turn; the shortest time of each counts, so that what others do on the machine does not.
	rounds = 7
	// most is how many times as long as its slowest statement a page may take, and small how
	// long it takes where that says nothing, as making the page takes longer than asking.
	most  = 5.0
	small = 20 * time.Millisecond
	// warm is after how many rounds Postgres may plan a statement once for all values.
	warm = 6
)

// What each page takes, beside the slowest of its statements alone, and how much memory
// the process takes meanwhile, with TRIBUTARY_PAGES_FILES files and
// TRIBUTARY_PAGES_EVENTS events in the history: make pages-scale.
func TestPagesBesideTheirStatements(t *testing.T) {
	if os.Getenv("TRIBUTARY_PAGES_FILES") == "" {
		t.Skip("make pages-scale does it")
	}
	files := number(t, "TRIBUTARY_PAGES_FILES", 1)
	events := number(t, "TRIBUTARY_PAGES_EVENTS", 10*files)
	_, plain := tracker(t)
	began := time.Now()
	years := reporttest.Fill(t, plain, files)
	t.Logf("%d files after %s", files, time.Since(began).Round(time.Second))
	site := pagestest.Site(t, plain)
	site.Advice = nil // a report reads all files of its centre
	conn := filledHistory(t, events, years.Begin, years.End)
	site.History = func(parameters map[string]string, timeout time.Duration) report.ClickHouse {
		return report.ClickHouse{Conn: conn, Timeout: timeout, Parameters: parameters}
	}
	t.Logf("%d events after %s", events, time.Since(began).Round(time.Second))

	heard := &recorder{}
	cfg := plain.Config()
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, heard
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	handler, routes := served(t, site, pool, years.End)
	all := addresses(t, routes)
	all = slices.DeleteFunc(all, func(a string) bool { return strings.HasPrefix(a, "/analytics/") || strings.Contains(a, "openapi") })
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // VmHWM counts from here
		t.Log(err)
	}
	var slow []string
	t.Logf("%-60s %9s %9s %6s %s", "page", "page", "slowest", "ratio", "statements")
	for _, address := range all {
		heard.listen(true)
		ask(t, handler, address)
		statements := heard.listen(false)
		for range warm {
			ask(t, handler, address)
		}
		whole, alone := time.Duration(math.MaxInt64), make([]time.Duration, len(statements))
		for round := range rounds {
			whole = min(whole, took(func() { ask(t, handler, address) }))
			for i, s := range statements {
				if d := took(func() { s.run(t, pool) }); round == 0 || d < alone[i] {
					alone[i] = d
				}
			}
		}
		slowest := time.Duration(0)
		for _, d := range alone {
			slowest = max(slowest, d)
		}
		line(t, address, whole, slowest, len(statements))
		if slowest > 0 && whole > small && float64(whole) > most*float64(slowest) {
			slow = append(slow, address)
		}
	}
	t.Logf("pages that take more than %s and %.0f times their slowest statement: %d %s", small, most, len(slow), strings.Join(slow, " "))
	questions(t, site, handler, years.End)
	t.Logf("at most %s of memory in this process", peak(t))
}

// questions asks the recipes as pages and alone.
func questions(t *testing.T, site pages.Site, handler http.Handler, now time.Time) {
	t.Helper()
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		given, address := map[string]string{}, "/analytics/"+r.Name
		if _, ok := r.Parameter("until"); ok { // the history's own clock is years ahead
			given["until"] = now.UTC().Format(time.RFC3339)
			address += "?until=" + given["until"]
		}
		values, err := recipe.Values(r, given, now)
		if err != nil {
			t.Fatal(err)
		}
		whole := took(func() { ask(t, handler, address) })
		alone := took(func() {
			if _, err := report.Ask(t.Context(), site.History(values, 20*time.Second), r.Statement, 500); err != nil {
				t.Logf("%s is not answered: %.200v", r.Name, err)
			}
		})
		line(t, "/analytics/"+r.Name, whole, alone, 1)
	}
}

func line(t *testing.T, address string, whole, slowest time.Duration, statements int) {
	t.Helper()
	ratio := "–"
	if slowest > 0 {
		ratio = fmt.Sprintf("%.1f", float64(whole)/float64(slowest))
	}
	t.Logf("%-60s %6.1f ms %6.1f ms %6s %3d", address, float64(whole.Microseconds())/1000, float64(slowest.Microseconds())/1000, ratio, statements)
}

func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// recorder hears which statements a page asks.
type recorder struct {
	mu    sync.Mutex
	on    bool
	asked []statement
}

type statement struct {
	sql  string
	args []any
}

func (s statement) run(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	rows, err := pool.Query(t.Context(), s.sql, s.args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// listen begins, or ends with what was heard.
func (r *recorder) listen(on bool) []statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := r.asked
	r.on, r.asked = on, nil
	return heard
}

// TraceQueryStart notes a statement.
func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on {
		r.asked = append(r.asked, statement{data.SQL, data.Args})
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// fillHistory is ten events of each file: its name, a hosting, a request, the transfer,
// the unzip with control's judgement, and two documents that are judged and loaded. One
// document in sixty fails.
const fillHistory = `INSERT INTO event (topic, partition, offset, event_id, time, stage, run, session, centre, source, entity, file, file_name, action, attempt, outcome, accepted, document, entry, ordinal, phase, phase_id, status, status_id, exception, bytes, rows, started_at, finished_at)
SELECT 'status.changed', file %% 8, intDiv(n, 80) * 10 + k, reinterpretAsUUID(MD5(concat('e', toString(n)))), t, multiIf(k = 3, 'download', k = 4, 'unzip', k IN (6, 7), 'validate', k IN (8, 9), 'insert', 'plan'),
	toUUID('00000000-0000-5000-8000-000000000000'), reinterpretAsUUID(MD5(concat('n', toString(intDiv(file, 100))))), concat('C', toString(file %% 20)), concat('source-', toString(file %% 20)),
	multiIf(k = 0, 'file', k = 1, 'hosting', k < 6, 'download', 'document'), reinterpretAsUUID(MD5(concat('f', toString(file)))), concat('C', toString(file %% 20), '.2020-01-01.', toString(file), '.impc.zip'), 'add',
	k >= 2 ? 1 : 0, k >= 3 ? 'done' : '', k = 5 ? 'done' : '', k >= 6 ? reinterpretAsUUID(MD5(concat('m', toString(file), toString(k %% 2)))) : NULL, k >= 6 ? concat(toString(k %% 2), '.xml') : '', k %% 2,
	multiIf(k = 0, 'zip_name', k = 1, '', k = 2, 'download', k = 3, 'zip_md5', k < 6, 'unzip', k < 8, 'xsd', 'upload'), multiIf(k = 0, 1, k = 1, 0, k = 2, 2, k = 3, 3, k < 6, 4, k < 8, 6, 7),
	multiIf(k = 1, '', k = 2, 'pending', bad, 'failed', 'done'), multiIf(k = 1, 0, k = 2, 1, bad, 5, 3), bad ? concat('exception_', toString(file %% 10)) : '', k = 3 ? 1000 : 0, k >= 8 ? 50 : 0, t, t + 1
FROM (SELECT number AS n, intDiv(number, 10) AS file, number %% 10 AS k, file %% 60 = 7 AND k = 6 AS bad, toDateTime64('%s', 6, 'UTC') + toIntervalMillisecond(toInt64(number * %f)) AS t FROM numbers(%d, %d))`

// filledHistory is a history with that many events in the time between.
func filledHistory(t *testing.T, events int, begin, end time.Time) driver.Conn {
	t.Helper()
	endpoint := enginetest.ClickHouse(t)
	database := enginetest.Database(t, endpoint)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	if err := history.Migrate(t.Context(), open, database); err != nil {
		t.Fatal(err)
	}
	conn, err := open(database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	each := float64(end.Sub(begin).Milliseconds()) / float64(events)
	const chunk = 100_000 // in little memory
	for from := 0; from < events; from += chunk {
		if err := conn.Exec(t.Context(), fmt.Sprintf(fillHistory, begin.UTC().Format(time.DateTime), each, from, min(chunk, events-from))); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// peak is the most memory that the process has had.
func peak(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	said, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(said))
}
