// Package schedule opens sessions: at each tick it takes the sources that are
// due, never one that is still being polled, which is counted as an overrun, and
// records a poll for each. It also announces centres and sources as they are configured.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/source"
	"tributary/producers/sourcestate"
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
	Log     *slog.Logger
	Now     func() time.Time
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
		tick := time.NewTicker(s.cfg.Schedule.Tick.D())
		defer tick.Stop()
		for {
			err := s.turn(ctx, &synced)
			if err != nil && ctx.Err() == nil {
				s.deps.Log.Warn("no session can be opened now; trying again", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
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
	if err := s.overruns(ctx); err != nil {
		return err
	}
	_, err := s.Open(ctx, false)
	if errors.Is(err, ErrNothingDue) {
		return nil
	}
	return err
}

// Sync stores the configured centres and sources and announces what changed.
func (s *Scheduler) Sync(ctx context.Context) error {
	now := s.deps.Now()
	return pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		revision, err := control.NextCount(ctx, tx, "revision")
		if err != nil {
			return err
		}
		var events []schemas.Message
		for _, c := range centres.Merge(s.deps.Profile, s.cfg) {
			changed, err := control.PutCentre(ctx, tx, c, revision)
			if err != nil {
				return err
			}
			if changed {
				events = append(events, centreEvent(c, revision, now))
			}
		}
		var ids, news []string
		for _, src := range s.cfg.Sources {
			row := s.row(src)
			ids = append(ids, row.ID)
			changed, err := control.PutSource(ctx, tx, row, revision)
			if err != nil {
				return err
			}
			if changed {
				news = append(news, row.ID)
			}
		}
		removed, err := control.RemoveSources(ctx, tx, ids, revision)
		if err != nil {
			return err
		}
		for _, row := range removed {
			news = append(news, row.ID)
		}
		told, err := sourceEvents(ctx, tx, news, revision, now)
		if err != nil {
			return err
		}
		events = append(events, told...)
		return s.deps.Outbox.Append(ctx, tx, events...)
	})
}

func (s *Scheduler) row(src config.Source) control.Source {
	parts := source.Describe(src)
	row := control.Source{ID: src.ID, Centre: s.canonical(src.Centre), Server: parts.Server, Protocol: parts.Protocol, URL: parts.URL,
		AccessKey: parts.AccessKey, State: src.State, MaxSessions: src.MaxSessions, Interval: src.Interval.D(), Hosts: src.Shown(s.canonical)}
	if row.State == "" {
		row.State = "available"
	}
	if row.MaxSessions <= 0 {
		row.MaxSessions = s.cfg.Plan.MaxSessions
	}
	if row.Interval <= 0 {
		row.Interval = s.cfg.Schedule.Interval.D()
	}
	return row
}

// canonical spells a configured centre as the profile does; the
// configuration's check has refused unknown ones.
func (s *Scheduler) canonical(centre string) string {
	set, err := centres.Set(s.deps.Profile, s.cfg)
	if err != nil {
		return centre
	}
	if name, ok := set.Lookup(centre); ok {
		return name
	}
	return centre
}

// ErrNothingDue says that no source is due, or all that are due are still
// being polled.
var ErrNothingDue = errors.New("no source is due")

// Open opens a session with the sources that are due; with once, all
// available sources count as due. It returns the session's id, or
// ErrNothingDue.
func (s *Scheduler) Open(ctx context.Context, once bool) (string, error) {
	now := s.deps.Now()
	id := uuid.NewString()
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
		if len(due) == 0 {
			return ErrNothingDue
		}
		polls := map[string]control.DueSource{}
		for _, d := range due {
			polls[schemas.ID("poll", id, d.ID)] = d
			if err := control.SetDue(ctx, tx, d.ID, now.Add(time.Duration(float64(d.Interval)*s.spread()))); err != nil {
				return err
			}
		}
		if err := control.OpenSession(ctx, tx, id, number, once, now, polls); err != nil {
			return err
		}
		return s.deps.Outbox.Append(ctx, tx, sessionEvent(id, number, now, len(due)))
	})
	if err != nil {
		return "", err
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

func centreEvent(c centres.Centre, revision int64, now time.Time) schemas.Message {
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, c.ShortName, "centre", fmt.Sprint(revision)), Topic: schemas.StatusChangedTopic,
		Key: c.ShortName, Stage: stage, Subject: "centre " + c.ShortName, Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: schemas.LiveRun, Centre: c.ShortName}, Entity: schemas.EntityCentre, Revision: revision,
			Attributes: map[string]string{"full_name": c.FullName, "email": c.Email, "phone": c.Phone, "address": c.Address,
				"imits_name": c.IMITSName, "active": strconv.FormatBool(c.Active)},
		},
	}
}

// sourceEvents tell how sources stand that have changed: a suspended one stays so.
func sourceEvents(ctx context.Context, tx pgx.Tx, ids []string, revision int64, now time.Time) ([]schemas.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := control.Standings(ctx, tx, ids...)
	if err != nil {
		return nil, err
	}
	events := make([]schemas.Message, 0, len(all))
	for _, st := range all {
		events = append(events, sourcestate.Event(st, revision, "", now))
	}
	return events, nil
}
