package scale

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/own"
	"tributary/queries/recipe"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
	"tributary/web/question"
)

const (
	// rounds is how often a page of the tracker, and each of its statements, is asked, in
	// turn; the shortest time of each counts, so that what others do on the machine does not.
	rounds = 7
	// most is how many times as long as its slowest statement a page may take, and small how
	// long it takes where that says nothing, as making the page takes longer than asking.
	most  = 5.0
	small = 20 * time.Millisecond
	// warm is after how many rounds Postgres may plan a statement once for all values, on
	// each of the connections that a page takes.
	warm = 3 * 6
	// patience bounds how long one page is asked for the rounds, above two.
	patience = 20 * time.Second
	// connections is how many the pages have.
	connections = 4
	// mostMemory bounds the process that makes the pages, in bytes, however much there is.
	mostMemory = 300 << 20
)

// What each page takes, beside the slowest of its statements alone, and how much memory
// the process takes meanwhile, with TRIBUTARY_PAGES_FILES files and
// TRIBUTARY_PAGES_EVENTS events in the history: make pages-scale.
func TestPagesBesideTheirStatements(t *testing.T) {
	if os.Getenv("TRIBUTARY_PAGES_FILES") == "" {
		t.Skip("make pages-scale does it")
	}
	files := number(t, "TRIBUTARY_PAGES_FILES", 1)
	dsn, plain, conn, years := filled(t, files, number(t, "TRIBUTARY_PAGES_EVENTS", 10*files))
	site := pagestest.Site(t, plain)
	site.Advice = nil // a report reads all files of its centre
	site.History = func(parameters map[string]string, timeout time.Duration) report.ClickHouse {
		return report.ClickHouse{Conn: conn, Timeout: timeout, Parameters: parameters}
	}
	m := measure{heard: &recorder{}}
	cfg := plain.Config()
	cfg.MaxConns, cfg.ConnConfig.Tracer = connections, m.heard
	var err error
	if m.pool, err = pgxpool.NewWithConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer m.pool.Close()
	var routes []access.Route
	m.handler, routes = served(t, site, m.pool, years.End)
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // VmHWM counts from here
		t.Log(err)
	}
	t.Logf("%-60s %9s %9s %6s %9s %s", "page", "page", "slowest", "ratio", "together", "statements")
	week := "/own/weeks/" + own.Name(own.Monday(years.End).Add(-own.Week))
	for _, address := range append(addresses(t, routes), "/own", "/own/feed.xml", week) {
		if !strings.HasPrefix(address, "/analytics/") && !strings.Contains(address, "openapi") && !handedOutWhole(address) {
			m.page(t, address)
		}
	}
	m.questions(t, site, years.End)
	if kB := peak(t); kB > mostMemory>>10 {
		t.Errorf("%d MB of memory in this process, more than %d", kB>>10, mostMemory>>20)
	} else {
		t.Logf("at most %d MB of memory in this process", kB>>10)
	}
	t.Run("by index", func(t *testing.T) { byIndex(t, dsn, plain, years, files) })
}

// measure compares pages with their statements.
type measure struct {
	heard   *recorder
	pool    *pgxpool.Pool
	handler http.Handler
}

// page asks for a page, and for each of its statements alone, in turn.
func (m measure) page(t *testing.T, address string) {
	t.Helper()
	m.heard.listen(true)
	ask(t, m.handler, address)
	statements := m.heard.listen(false)
	for began, n := time.Now(), 0; n < warm && time.Since(began) < patience; n++ {
		ask(t, m.handler, address)
	}
	whole, alone := time.Duration(math.MaxInt64), make([]time.Duration, len(statements))
	for began, round := time.Now(), 0; round < 2 || round < rounds && time.Since(began) < patience; round++ {
		whole = min(whole, took(func() { ask(t, m.handler, address) }))
		for i, s := range statements {
			if d := took(func() { s.run(t, m.pool) }); round == 0 || d < alone[i] {
				alone[i] = d
			}
		}
	}
	compare(t, address, whole, alone)
}

// questions asks the recipes as pages and alone.
func (m measure) questions(t *testing.T, site pages.Site, now time.Time) {
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
		whole, alone := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for range 2 {
			whole = min(whole, took(func() { ask(t, m.handler, address) }))
			alone = min(alone, took(func() {
				if _, err := report.Ask(t.Context(), site.History(values, question.RecipeTime), r.Statement, question.Rows); err != nil {
					t.Errorf("%s is not answered within %s: %.200v", r.Name, question.RecipeTime, err)
				}
			}))
		}
		compare(t, address, whole, []time.Duration{alone})
	}
}

// compare tells of a page and its statements. One is too slow that takes longer than can
// be told from nothing and longer than most times its slowest statement.
func compare(t *testing.T, address string, whole time.Duration, alone []time.Duration) {
	t.Helper()
	var slowest, together time.Duration
	for _, d := range alone {
		slowest, together = max(slowest, d), together+d
	}
	ratio := "–"
	if slowest > 0 {
		ratio = fmt.Sprintf("%.1f", float64(whole)/float64(slowest))
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	t.Logf("%-60s %6.1f ms %6.1f ms %6s %6.1f ms %3d", address, ms(whole), ms(slowest), ratio, ms(together), len(alone))
	if slowest > 0 && whole > small && float64(whole) > most*float64(slowest) {
		t.Errorf("%s takes %s, more than %.0f times its slowest statement", address, whole, most)
	}
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

// peak is the most memory that the process has had, in kB.
func peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	said, _, _ := bytes.Cut(rest, []byte("kB"))
	kB, err := strconv.Atoi(string(bytes.TrimSpace(said)))
	if err != nil {
		t.Fatal(err)
	}
	return kB
}
