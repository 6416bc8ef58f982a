package scale

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/sql/control"
	"tributary/test/wait"
)

// restEach is how often control's roles together may ask it in a second while nothing
// happens: poll twice and once for what sources left, plan and sequence twice, publish,
// replays and the leases about once each; and some more for what connects.
const restEach = 18

// asking counts the statements of a pool by their text, those that begin and end
// transactions included.
type asking struct {
	mu    sync.Mutex
	asked map[string]int
	all   int
}

func (a *asking) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[d.SQL]++
	a.all++
	return ctx
}

func (*asking) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (a *asking) sum() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all
}

// most are the statements that were asked most since the last call.
func (a *asking) most() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []string
	for _, sql := range slices.SortedFunc(maps.Keys(a.asked), func(x, y string) int { return a.asked[y] - a.asked[x] }) {
		lines = append(lines, fmt.Sprintf("%d times: %.100s", a.asked[sql], strings.Join(strings.Fields(sql), " ")))
	}
	clear(a.asked)
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// Roles that have nothing to do ask control seldom, and with one statement each: none
// begins a transaction, or takes a lock, to find nothing.
func TestControlAtRest(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(enginetest.Filled(t, "control", control.Migrate))
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{asked: map[string]int{}}
	cfg.MaxConns, cfg.ConnConfig.Tracer = 8, a
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := newWorld(t, pool, 0)
	w.cfg.Sequence, w.cfg.Plan = config.Default().Sequence, config.Default().Plan
	w.start()
	reach := func(n int) time.Time {
		for a.sum() < n {
			select {
			case <-t.Context().Done():
				t.Fatal("the roles ask nothing any more")
			case <-time.After(10 * time.Millisecond):
			}
		}
		return time.Now()
	}
	// The first stretches hold what begins. The slower the machine, the less is asked: only
	// too often is wrong.
	eventually(t, wait.Patience(), func() string {
		const stretch = 2 * restEach
		from := a.sum()
		_ = a.most()
		began := reach(from)
		reach(from + stretch)
		each := stretch / time.Since(began).Seconds()
		if each > restEach {
			return fmt.Sprintf("roles at rest ask control %.1f times a second, more than %d:\n%s", each, restEach, a.most())
		}
		t.Logf("roles at rest ask control %.1f times a second", each)
		return ""
	})
}
