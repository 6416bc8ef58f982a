package notify

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/backoff"
	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/notice"
	"tributary/internal/stage"
	"tributary/schemas"
)

const (
	// window is how many records of a partition are in hand: those behind the oldest
	// that is not delivered, nearly all of which nobody asked for.
	window = 1000
	// firstPause and longestPause bound the pauses between attempts.
	firstPause   = time.Second
	longestPause = time.Minute
	// refusals is how often a target refuses a notice before it is a dead letter.
	refusals = 5
	// remembered is how many notices a member remembers as delivered, so that it tells
	// what many events say only once.
	remembered = 10_000
)

// Results of a delivery, as the metric names them.
const (
	resultDelivered = "delivered"
	resultFailed    = "failed"
	resultRefused   = "refused"
)

// sender tells one target each notice at once. It is a stage.Stage without outputs:
// what Work returns nil for is delivered, and committed then.
type sender struct {
	target string
	to     notice.Target
	rules  rules
	pages  string // Deps.Pages
	giveUp time.Duration
	told   *prometheus.CounterVec
	quiet  *kafka.Quiet
	log    *slog.Logger
	now    func() time.Time
	pauses backoff.Exponential

	mu       sync.Mutex // held for a moment, never while something is sent
	failures int        // in a row, of the target and not of a notice
	since    time.Time  // the first of them
	next     time.Time  // before which nothing is sent
	last     error
	recent   map[string]bool
	order    []string // of recent, the oldest first
}

func (n *Notify) newSender(target string, to notice.Target) *sender {
	return &sender{target: target, to: to, rules: of(n.cfg.Rules, target), pages: n.deps.Pages, giveUp: n.cfg.GiveUpAfter.D(), told: n.told, quiet: kafka.NewQuiet(n.deps.Now),
		log: n.deps.Log.With("target", target), now: n.deps.Now, pauses: backoff.Exponential{Base: firstPause, Max: n.deps.longestPause}, recent: map[string]bool{}}
}

// Work delivers what a record leads to. An error of the target is transient until that
// has been away for too long; then each of its notices is tried a few times, and given up.
func (s *sender) Work(ctx context.Context, in stage.Input) error {
	for _, n := range s.rules.wanted(in.Message) {
		if s.remembers(n.ID) {
			continue
		}
		if err := s.ready(); err != nil {
			return stage.Transient(err)
		}
		crashpoint.At(Name, "deliver", "before")
		err := s.to.Deliver(ctx, n.At(s.pages))
		if ctx.Err() != nil && err != nil {
			return ctx.Err() // its partition was given up, or the process stops
		}
		if err := s.ended(n, err); err != nil {
			return err
		}
		crashpoint.At(Name, "deliver", "after")
	}
	return nil
}

// Fail has no failed end: nobody waits for a notice.
func (s *sender) Fail(schemas.Message, error) []schemas.Message { return nil }

// ready is an error while the target is left in peace after a failure.
func (s *sender) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 || s.givingUp() || !s.now().Before(s.next) {
		return nil
	}
	return s.last
}

// givingUp tells whether the target has been away for too long.
func (s *sender) givingUp() bool { return s.failures > 0 && s.now().Sub(s.since) >= s.giveUp }

// ended notes how a delivery ended, and returns what the stage makes of it.
func (s *sender) ended(n notice.Notice, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.told.WithLabelValues(s.target, resultDelivered).Inc()
		s.failures, s.last = 0, nil
		s.remember(n.ID)
		return nil
	case notice.IsRefused(err):
		s.told.WithLabelValues(s.target, resultRefused).Inc()
		s.failures, s.last = 0, nil
		return err
	}
	s.told.WithLabelValues(s.target, resultFailed).Inc()
	now := s.now()
	if s.failures++; s.failures == 1 {
		s.since = now
	}
	s.last, s.next = err, now.Add(s.pauses.Jittered(s.failures))
	const msg = "a notice can't be delivered; it and what follows for this target wait"
	if missed, ok := s.quiet.Due(msg); ok {
		s.log.Warn(msg, "error", schemas.Clean(err.Error()), "since", s.since, "not_logged", missed)
	}
	if s.givingUp() {
		// The words stay the same, by which the runtime counts.
		return fmt.Errorf("the target %s could not be reached for %s", s.target, s.giveUp)
	}
	return stage.Transient(err)
}

// remembers tells whether this member has delivered a notice lately.
func (s *sender) remembers(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent[id]
}

func (s *sender) remember(id string) {
	if s.recent[id] = true; len(s.order) < remembered {
		s.order = append(s.order, id)
		return
	}
	delete(s.recent, s.order[0])
	s.order = append(s.order[1:], id)
}
