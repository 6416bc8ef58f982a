// Package plans watches how Postgres executes the statements of a test: how many
// rows and pages each looks at, and whether the rows that it is given or gives
// account for that.
package plans

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
)

// Watcher collects, with Postgres's own auto_explain, how every statement was
// executed that goes through the pools it opens; those of triggers included. The
// zero value is ready.
type Watcher struct {
	// Given names temporary tables: their rows are given to statements.
	Given []string
	// Large names tables that no statement may read whole.
	Large []string

	mu     sync.Mutex
	on     bool
	given  map[asked][2]int
	worst  map[string]execution // by text of the statement
	totals map[string]Total
}

// Total is all executions of a statement.
type Total struct {
	Calls       int
	Work, Pages float64       // rows that it was given or gave, and pages that it looked at
	Took        time.Duration // of the clock
}

// asked is a statement of a connection. Of each it is known how many rows the
// arguments held the last two times: Postgres tells how a statement went in a
// transaction only when the next one is bound.
type asked struct {
	conn *pgconn.PgConn
	sql  string
}

// execution is one execution of a statement.
type execution struct {
	work    float64 // rows that it was given or gave
	touched float64 // rows of tables that it looked at
	pages   float64 // pages that it looked at
	whole   string  // a large table that it read whole
	plan    string
}

// node is a node of a plan, as EXPLAIN prints it.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Joined   float64 `json:"Rows Removed by Join Filter"`
	Recheck  float64 `json:"Rows Removed by Index Recheck"`
	Hit      float64 `json:"Shared Hit Blocks"`
	Read     float64 `json:"Shared Read Blocks"`
	Plans    []node  `json:"Plans"`
}

// Pool opens a pool whose statements are watched. Where the module is not
// installed the test is skipped, or fails if engines are required.
func (p *Watcher) Pool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	cfg.ConnConfig.Tracer = p
	cfg.ConnConfig.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) { p.notice(t, c, n.Message) }
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
			SET auto_explain.log_buffers = on; SET auto_explain.log_timing = off; SET auto_explain.log_format = json;
			SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = warning`)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := pool.Ping(t.Context()); err != nil {
		if strings.Contains(err.Error(), "auto_explain") {
			enginetest.Missing(t, "Postgres's module auto_explain")
		}
		t.Fatal(err)
	}
	return pool
}

// Watch forgets what was seen and sees everything from now on.
func (p *Watcher) Watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on, p.worst, p.totals, p.given = true, map[string]execution{}, map[string]Total{}, map[asked][2]int{}
}

// TraceQueryStart counts the elements of arrays that a statement is given.
func (p *Watcher) TraceQueryStart(ctx context.Context, c *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	n := 0
	for _, a := range data.Args {
		if v := reflect.ValueOf(a); v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
			n = max(n, v.Len())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on {
		key := asked{c.PgConn(), Words(data.SQL)}
		p.given[key] = [2]int{n, p.given[key][0]}
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (p *Watcher) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (p *Watcher) notice(t testing.TB, conn *pgconn.PgConn, message string) {
	head, text, ok := strings.Cut(message, "plan:\n")
	if !ok {
		return
	}
	var ms float64
	if _, err := fmt.Sscanf(head, "duration: %f ms", &ms); err != nil {
		t.Errorf("how long a statement took can't be read: %v: %s", err, head)
	}
	var said struct {
		Text string `json:"Query Text"`
		Plan node   `json:"Plan"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Errorf("a plan can't be read: %v\n%s", err, text)
		return
	}
	e := execution{pages: said.Plan.Hit + said.Plan.Read, plan: text}
	e.add(said.Plan, true, p.Given)
	e.whole = said.Plan.whole(p.Large)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return
	}
	key := Words(said.Text)
	given := p.given[asked{conn, key}]
	e.work += float64(max(given[0], given[1]))
	sum := p.totals[key]
	p.totals[key] = Total{sum.Calls + 1, sum.Work + e.work, sum.Pages + e.pages, sum.Took + time.Duration(ms*float64(time.Millisecond))}
	if was, ok := p.worst[key]; !ok || was.whole == "" && (e.whole != "" || e.excess() > was.excess()) {
		p.worst[key] = e
	}
}

// add counts a node and what is below it.
func (e *execution) add(n node, result bool, given []string) {
	rows := n.Rows * n.Loops
	switch {
	case n.Relation != "" && slices.Contains(given, n.Relation) || n.Type == "Function Scan" || n.Type == "Result" || n.Type == "ProjectSet":
		e.work += rows
	case n.Type == "ModifyTable":
		// What it changes comes from below.
		for _, c := range n.Plans {
			e.add(c, true, given)
		}
		return
	case n.Relation != "" || strings.Contains(n.Type, "Scan"):
		e.touched += rows + (n.Filtered+n.Recheck)*n.Loops
	}
	e.touched += n.Joined * n.Loops
	if result {
		e.work += rows
	}
	for _, c := range n.Plans {
		e.add(c, false, given)
	}
}

// whole is one of the large tables that the node, or one below it, reads whole.
func (n node) whole(large []string) string {
	if n.Type == "Seq Scan" && n.Loops > 0 && slices.Contains(large, n.Relation) {
		return n.Relation
	}
	for _, c := range n.Plans {
		if table := c.whole(large); table != "" {
			return table
		}
	}
	return ""
}

// What an execution may look at: a little anyway, and so much for each row that
// it is given or gives.
const (
	freeRows, rowsEach   = 10_000, 300
	freePages, pagesEach = 4000, 100
)

// excess is by how much an execution is more than its work accounts for; below
// one is well.
func (e execution) excess() float64 {
	return max(e.touched/(freeRows+rowsEach*e.work), e.pages/(freePages+pagesEach*e.work))
}

// Words is a statement with single spaces.
func Words(sql string) string { return strings.Join(strings.Fields(sql), " ") }

// Allowance is what a statement may look at beyond the rows that it is given or
// gives.
type Allowance struct {
	Reason string
	Work   int // rows
}

// Check reports every statement that read more than its work accounts for; to
// that of those that begin with a text in allow, the allowance is added.
func (p *Watcher) Check(t testing.TB, allow map[string]Allowance) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("%d different statements were executed", len(p.worst))
	for _, sql := range slices.Sorted(maps.Keys(p.worst)) {
		e := p.worst[sql]
		for begin, a := range allow {
			if strings.HasPrefix(sql, Words(begin)) {
				e.work += float64(a.Work)
			}
		}
		if e.whole != "" {
			t.Errorf("a statement reads %s whole:\n%s\n%s", e.whole, sql, e.plan)
		}
		if e.excess() > 1 {
			t.Errorf("a statement looks at %.0f rows and %.0f pages for %.0f:\n%s\n%s", e.touched, e.pages, e.work, sql, e.plan)
		} else if testing.Verbose() {
			t.Logf("%6d times, at most %6.0f rows and %6.0f pages for %5.0f: %.110s", p.totals[sql].Calls, e.touched, e.pages, e.work, sql)
		}
	}
}

// Totals are those of all statements that were executed, by their texts with single spaces.
func (p *Watcher) Totals() map[string]Total {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.totals)
}

// Seen tells whether a statement was executed that holds a text, with single
// spaces.
func (p *Watcher) Seen(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for sql := range p.worst {
		if strings.Contains(sql, part) {
			return true
		}
	}
	return false
}
