package poll

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/remote/connectors"
	"tributary/internal/watch"
	"tributary/schemas"
	"tributary/sql/control"
)

const (
	// patience is how many times as long as its last poll took a source is left alone
	// before a change wakes it again, so that what is woken costs a quarter of the time at most.
	patience = 3
	// lull is how long it is left alone at least.
	lull = time.Second
)

// waker has local directories polled as soon as something changes there, rather than
// when their interval is over. What is new, changed or gone is the poll's to find out.
type waker struct {
	s      *Poller
	states map[string]watch.State // as they were told last, by source
}

// Wake watches local directories, and has those polled in which something changes, until
// ctx ends. What can't be watched is polled by its interval, as ever.
func (s *Poller) Wake(ctx context.Context) error {
	w := &waker{s: s}
	return watch.New(watch.Deps{Dirs: w.dirs, Changed: w.changed, Pause: w.pause, Lost: w.lost, Report: w.report}).Run(ctx)
}

// dirs are the directories of sources that may be polled before their interval is over.
func (w *waker) dirs(ctx context.Context) (map[string][]string, error) {
	urls, err := control.Waking(ctx, w.s.deps.Pool)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]string, len(urls))
	for id, url := range urls {
		t, err := connectors.All().ParseURL(url)
		if err != nil {
			continue // its polls say what is wrong with it
		}
		for _, action := range schemas.Actions() {
			all[id] = append(all[id], filepath.Join(t.Base, action))
		}
	}
	return all, nil
}

func (w *waker) changed(ctx context.Context, id string) bool {
	woken, err := control.Wake(ctx, w.s.deps.Pool, id, w.s.deps.Now())
	return err == nil && woken
}

// pause is how long a source that was woken is left alone: until then a file that was
// found has not settled, either.
func (w *waker) pause(id string) time.Duration {
	return max(lull, w.s.cfg.Settle.D(), patience*w.s.took.of(id))
}

func (w *waker) lost(why error) {
	w.s.deps.Log.Info("events of local directories were lost; all of them are polled", "error", why)
}

// report logs where a source is watched no more, or again.
func (w *waker) report(states map[string]watch.State, whys map[string]error) {
	counts := map[watch.State]int{}
	for id, state := range states {
		counts[state]++
		was := w.states[id]
		switch {
		case was == state, was == "" && state == watch.Watched:
		case state == watch.Watched:
			w.s.deps.Log.Info("changes in the source's directories are seen again", "source", id)
		case state == watch.Exhausted:
			w.s.deps.Log.Warn("changes in the source's directories are not seen: the system has no watch left for them; it is polled by its interval alone; raise fs.inotify.max_user_watches and max_user_instances",
				"source", id, "state", string(state), "error", whys[id])
		default:
			w.s.deps.Log.Warn("changes in the source's directories are not seen; it is polled by its interval alone", "source", id, "state", string(state), "error", whys[id])
		}
	}
	for _, state := range watch.States() {
		w.s.local.WithLabelValues(string(state)).Set(float64(counts[state]))
	}
	w.states = states
}

// newLocal registers how local directories are watched; without a registry nobody reads it.
func newLocal(reg prometheus.Registerer) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_poll_local_sources",
		Help: "Local directories that are polled as soon as something changes there, by whether this member sees that: watched, watches_exhausted or unreachable. The latter are polled by their interval alone."}, []string{"state"})
	if reg != nil {
		reg.MustRegister(g)
	}
	return g
}

// lasted is how long the last poll of each source took that this member ran.
type lasted struct {
	mu sync.Mutex
	by map[string]time.Duration
}

func (l *lasted) set(id string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]time.Duration{}
	}
	l.by[id] = took
}

func (l *lasted) of(id string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[id]
}
