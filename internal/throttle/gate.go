package throttle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tributary/internal/deadline"
)

const (
	// fresh is how long what holds is believed: definitions change, and hours pass.
	fresh = 15 * time.Second
	// storeTimeout bounds a question to the store.
	storeTimeout = 2 * time.Second
	// portion is the part of a second's bytes that are noted at once, so that a store is
	// told four times a second.
	portion = 4
	// step is the longest wait that is not told of.
	step = time.Second / 4
)

// Gate is what one session asks before it asks its server. A nil Gate is open.
type Gate struct {
	store Store
	own   Server // as the session knows it, until the store has answered
	id    string // of the source
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	server Server
	bounds []Bound
	read   time.Time
	crawl  time.Duration // what the server itself asks for
	owed   int64         // bytes that are not noted yet

	asks, bytes *rate.Limiter // this session's share, without an answer of the store
}

// NewGate makes the gate of a session to a server. own is what is known of it without
// the store: at least the source itself.
func NewGate(store Store, own Server, source string, now func() time.Time, log *slog.Logger) *Gate {
	return &Gate{store: store, own: own, id: source, log: log, now: now, server: own,
		asks: rate.NewLimiter(rate.Inf, 1), bytes: rate.NewLimiter(rate.Inf, 1)}
}

// AtLeast has the gate keep a pause that the server itself asks for, which counts like
// one that is configured for it, from now on; 0: it asks for none.
func (g *Gate) AtLeast(ctx context.Context, pause time.Duration) {
	if g == nil {
		return
	}
	g.mu.Lock()
	if g.crawl != pause {
		g.crawl, g.read = pause, time.Time{}
	}
	server := g.server.Name
	g.mu.Unlock()
	_, err := within(context.WithoutCancel(ctx), func(ctx context.Context) (time.Duration, error) { return 0, g.store.Heed(ctx, server, pause) })
	if err != nil {
		g.log.Debug("the store can't be told what pause the server asks for; this session keeps to it", "source", g.id, "error", err)
	}
}

// Paced tells whether anything bounds how often the server may be asked.
func (g *Gate) Paced(ctx context.Context) bool { return g != nil && len(asking(g.hold(ctx))) > 0 }

// Ask waits until the server may be asked for one thing; answered is to be called when it
// has answered, or won't. Limits that package deadline has made of ctx stand still
// meanwhile.
func (g *Gate) Ask(ctx context.Context) (answered func(), err error) {
	open := func() {}
	if g == nil {
		return open, nil
	}
	defer deadline.Hold(ctx)()
	for {
		bounds := asking(g.hold(ctx))
		if len(bounds) == 0 {
			return open, ctx.Err()
		}
		wait, err := within(ctx, func(ctx context.Context) (time.Duration, error) { return g.store.Claim(ctx, bounds) })
		if err != nil {
			g.log.Debug("the store does not say when the server may be asked; the session keeps to its share", "source", g.id, "error", err)
			return open, sleep(ctx, g.asks.Reserve().Delay(), nil)
		}
		if wait == 0 {
			return sync.OnceFunc(func() { g.answered(ctx, bounds) }), nil
		}
		if err := sleep(ctx, wait, nil); err != nil {
			return nil, err
		}
	}
}

func (g *Gate) answered(ctx context.Context, bounds []Bound) {
	_, err := within(context.WithoutCancel(ctx), func(ctx context.Context) (time.Duration, error) { return 0, g.store.Answered(ctx, bounds) })
	if err != nil {
		g.log.Debug("the store can't be told that the server has answered", "source", g.id, "error", err)
	}
}

// Took notes bytes that came, and waits as long as they are more than may have come.
// waited, unless it is nil, is told of each second of that, or what is left of one.
func (g *Gate) Took(ctx context.Context, n int64, waited func(time.Duration)) error {
	if g == nil {
		return nil
	}
	bounds := taking(g.hold(ctx))
	owed := g.due(bounds, n)
	if owed == 0 {
		return nil
	}
	defer deadline.Hold(ctx)()
	wait, err := within(ctx, func(ctx context.Context) (time.Duration, error) { return g.store.Spend(ctx, bounds, owed) })
	if err != nil {
		g.log.Debug("the store does not say how fast bytes may come; the session keeps to its share", "source", g.id, "error", err)
		wait = g.share(owed)
	}
	return sleep(ctx, wait, waited)
}

// share is how long this session waits for so many bytes, alone.
func (g *Gate) share(n int64) (wait time.Duration) {
	for burst := int64(g.bytes.Burst()); n > 0; n -= burst {
		wait = g.bytes.ReserveN(time.Now(), int(min(n, burst))).Delay()
	}
	return wait
}

// due counts bytes, and returns those that are to be noted now.
func (g *Gate) due(bounds []Bound, n int64) (owed int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owed += n; len(bounds) == 0 {
		g.owed = 0
		return 0
	}
	for _, b := range bounds {
		if g.owed >= b.Rate/portion {
			owed = g.owed
		}
	}
	g.owed -= owed
	return owed
}

// Close notes what came last. It waits for nothing but the store.
func (g *Gate) Close(ctx context.Context) {
	if g == nil {
		return
	}
	g.mu.Lock()
	owed, bounds := g.owed, taking(g.bounds)
	g.owed = 0
	g.mu.Unlock()
	if owed == 0 || len(bounds) == 0 {
		return
	}
	_, _ = within(ctx, func(ctx context.Context) (time.Duration, error) { return g.store.Spend(ctx, bounds, owed) }) // a quarter of a second's bytes at most
}

// hold is what holds now.
func (g *Gate) hold(ctx context.Context) []Bound {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if age := now.Sub(g.read); age >= 0 && age < fresh {
		return g.bounds
	}
	ask, cancel := context.WithTimeout(ctx, storeTimeout)
	is, err := g.store.Server(ask, g.id)
	cancel()
	if err == nil {
		g.server = is
	} else {
		g.log.Debug("the store does not say how fast the server may be asked; what is known counts", "source", g.id, "error", err)
	}
	if g.bounds, err = g.server.Bounds(g.id, now); err != nil {
		g.log.Warn("how fast a server may be asked can't be read of all its sources: upgrade this member if a newer program has defined them", "server", g.server.Name, "error", err)
	}
	g.bounds = withPause(g.bounds, ServerName(g.server.Name), g.crawl)
	g.read = now
	g.limitShare()
	return g.bounds
}

// withPause adds a pause to the bound of that name.
func withPause(all []Bound, name string, pause time.Duration) []Bound {
	if pause == 0 {
		return all
	}
	for i, b := range all {
		if b.Name == name {
			all[i].Limit = b.tighter(Limit{Pause: pause})
			return all
		}
	}
	return append([]Bound{{name, Limit{Pause: pause}}}, all...)
}

// limitShare has the session's own limiters allow its share of what holds.
func (g *Gate) limitShare() {
	all := Limit{}
	for _, b := range g.bounds {
		all = all.tighter(b.Limit)
	}
	sessions := max(g.server.Sessions, 1)
	g.asks.SetLimit(rate.Every(max(all.Every, all.Pause) * time.Duration(sessions)))
	if all.Rate == 0 {
		g.bytes.SetLimit(rate.Inf)
		return
	}
	own := max(all.Rate/int64(sessions), 1)
	g.bytes.SetLimit(rate.Limit(own))
	g.bytes.SetBurst(int(own))
}

// within asks the store, for no longer than it may take.
func within(ctx context.Context, ask func(context.Context) (time.Duration, error)) (time.Duration, error) {
	asking, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return ask(asking)
}

// sleep waits, and tells of each step of it.
func sleep(ctx context.Context, wait time.Duration, waited func(time.Duration)) error {
	for ; wait > 0 && ctx.Err() == nil; wait -= step {
		timer := time.NewTimer(min(wait, step))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		if waited != nil {
			waited(min(wait, step))
		}
	}
	return ctx.Err()
}
