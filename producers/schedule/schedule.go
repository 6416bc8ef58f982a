// Package schedule opens sessions: at each tick it takes the sources that are
// due, never one that is still being polled, which is counted as an overrun, nor one
// outside of its window, and records a poll for each. It moves windows on, ends
// maintenances that have an end, and announces centres and sources as they are
// configured.
package schedule

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

const stage = "schedule"

// Deps are what a Scheduler works with.
type Deps struct {
	Profile *profile.Profile
	Pool    *pgxpool.Pool
	Outbox  outbox.Outbox
	Lease   pg.Lease
	// Opened is told of each session that opens, unless it still holds that one did; nil:
	// nobody is told.
	Opened chan<- struct{}
	Log    *slog.Logger
	Now    func() time.Time
}

// Scheduler opens sessions under a lease, so that any number may run.
type Scheduler struct {
	cfg  config.Config
	deps Deps
}

// New makes a Scheduler of the sources that are configured.
func New(cfg config.Config, d Deps) *Scheduler { return &Scheduler{cfg: cfg, deps: d} }

// Run announces the configuration and opens sessions until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	s.deps.Lease.Keep(ctx, func(err error) { s.deps.Log.Warn("no session can be opened now; trying again", "error", err) }, func(ctx context.Context, _ int64) error {
		synced := false
		for range backoff.Every(ctx, s.cfg.Schedule.Tick.D()) {
			err := s.turn(ctx, &synced)
			if err != nil && ctx.Err() == nil {
				s.deps.Log.Warn("no session can be opened now; trying again", "error", err)
			}
		}
		return nil
	})
	return nil
}

func (s *Scheduler) turn(ctx context.Context, synced *bool) error {
	if !*synced {
		if err := s.Sync(ctx); err != nil {
			return err
		}
		*synced = true
	}
	is, err := control.FindToSchedule(ctx, s.deps.Pool, s.deps.Now())
	if err != nil {
		return err
	}
	is.Windows = is.Windows || is.SetBack // which closes all windows, so that the next ones are found
	for _, step := range []struct {
		due bool
		do  func(context.Context) error
	}{{is.SetBack, s.setBack}, {is.Maintained, s.endMaintenance}, {is.Windows, s.windows}, {is.Overruns, s.overruns}} {
		if !step.due {
			continue
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if !is.Sources && !is.Maintained && !is.Windows { // which may have made some due
		return nil
	}
	if _, err = s.Open(ctx, false); errors.Is(err, ErrNothingDue) {
		return nil
	}
	return err
}

// Sync stores what the configuration declares and announces what changed.
func (s *Scheduler) Sync(ctx context.Context) error {
	r := sources.Registry{Config: s.cfg, Profile: s.deps.Profile, Outbox: s.deps.Outbox, Now: s.deps.Now}
	n := 0
	err := pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) (err error) {
		n, err = r.Sync(ctx, tx, false, r.ByConfiguration())
		return err
	})
	if replaced := (*sources.ReplacedError)(nil); errors.As(err, &replaced) {
		s.deps.Log.Warn(replaced.Error())
		return nil
	}
	if err == nil && n == 0 {
		s.deps.Log.Warn("there is no source, so nothing is listed: add what is to be listed below sources, or with tributary sources add")
	}
	return err
}

// ErrNothingDue says that no source is due, or all that are due are still
// being polled, or outside of their windows.
var ErrNothingDue = errors.New("no source is due")

// Open opens a session with the sources that are due; with once, all
// available sources inside their windows count as due. It returns the session's id,
// or ErrNothingDue. A source whose next time can't be computed is taken out.
func (s *Scheduler) Open(ctx context.Context, once bool) (string, error) {
	now := s.deps.Now()
	id := uuid.NewString()
	var bad []broken
	err := pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		// The counter comes first: its lock makes whoever opens sessions at the
		// same time take turns, so that each sees the polls of the others.
		number, err := control.NextCount(ctx, tx, "session")
		if err != nil {
			return err
		}
		due, err := control.DueSources(ctx, tx, now, once)
		if err != nil {
			return err
		}
		polls := map[string]control.DueSource{}
		for _, d := range due {
			next, err := s.next(d.Definition, d.Interval, d.Unchanged, now)
			if err != nil {
				bad = append(bad, broken{d.ID, d.Definition, err})
				continue
			}
			polls[schemas.ID("poll", id, d.ID)] = d
			if err := control.SetDue(ctx, tx, d.ID, next); err != nil {
				return err
			}
		}
		if len(polls) == 0 {
			return ErrNothingDue
		}
		if err := control.OpenSession(ctx, tx, id, number, once, now, polls); err != nil {
			return err
		}
		opened := sessionEvent(id, number, now, len(polls))
		if once {
			return s.deps.Outbox.Append(ctx, tx, opened)
		}
		return s.deps.Outbox.AppendUnhurried(ctx, tx, opened) // whatever the polls find is behind it
	})
	if out := s.takeOut(ctx, bad); out != nil {
		s.deps.Log.Warn("sources that can't be scheduled are not taken out yet; trying again", "error", out)
	}
	if err != nil {
		return "", err
	}
	select {
	case s.deps.Opened <- struct{}{}:
	default:
	}
	s.deps.Log.Debug("session opened", "session", id)
	return id, nil
}

// spread is by how much an interval is multiplied, so that sources don't stay due
// together.
func (s *Scheduler) spread() float64 { return 1 + s.cfg.Schedule.Jitter*(2*rand.Float64()-1) }

func sessionEvent(id string, number int64, now time.Time, sources int) schemas.Message {
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, id, "session_opened"), Topic: schemas.StatusChangedTopic,
		Key: id, Stage: stage, Subject: "session " + strconv.FormatInt(number, 10), Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: schemas.LiveRun, Session: id}, Entity: schemas.EntitySession,
			Status: string(schemas.Running), Number: number, StartedAt: &now,
			Attributes: map[string]string{"sources": strconv.Itoa(sources)},
		},
	}
}
