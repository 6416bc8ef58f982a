// Package poll lists sources and records what is new, changed or gone.
//
// A poll is taken by lease under its server's credit. The listing is streamed
// into a temporary table and compared with what is known as sets; what differs
// is recorded in chunks, each with its events in the outbox, and a crash may
// repeat a chunk: events have the same ids again. A poll always ends, as
// complete, broken off or failed, and only a complete one tells what is gone.
package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/internal/remote"
	"tributary/internal/source"
	"tributary/schemas"
	"tributary/sql/control"
)

const stage = "poll"

// Poller lists the sources that it is configured with.
type Poller struct {
	Config  config.Config
	Sources map[string]config.Source // by id
	Profile *profile.Profile
	Centres profile.Centres
	Pool    *pgxpool.Pool
	Outbox  pg.Outbox
	Holder  string        // who takes polls: host and process
	TTL     time.Duration // of a poll's lease
	Log     *slog.Logger
	Now     func() time.Time
	Dial    func(context.Context, remote.Config) (remote.Session, error)
}

// idle is how long a worker waits when no poll is due.
const idle = 200 * time.Millisecond

// Run lists due sources until ctx ends.
func (s *Poller) Run(ctx context.Context) error {
	ids := make([]string, 0, len(s.Sources))
	for id := range s.Sources {
		ids = append(ids, id)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range min(s.Config.Poll.Parallelism, max(1, len(ids))) {
		g.Go(func() error { return s.work(ctx, ids) })
	}
	return g.Wait()
}

func (s *Poller) work(ctx context.Context, ids []string) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		p, ok, err := control.TakePoll(ctx, s.Pool, s.Holder, ids, s.Now(), s.TTL)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("no poll can be taken now; trying again", "error", err)
			timer.Reset(5 * idle)
			continue
		}
		if !ok {
			timer.Reset(idle)
			continue
		}
		s.one(ctx, p)
		timer.Reset(0)
	}
}

// one runs a poll and records how it ended. What goes wrong is the poll's
// outcome, recorded and logged here, and never stops the poller.
func (s *Poller) one(ctx context.Context, p control.Poll) {
	log := s.Log.With("source", p.Source, "session", p.Session)
	bounded, cancel := context.WithTimeout(ctx, s.Config.Poll.Timeout.D())
	defer cancel()
	held, lost := context.WithCancelCause(bounded)
	defer lost(nil)
	go s.renew(held, lost, p)

	err := s.poll(held, p, log)
	switch {
	case err == nil:
	case errors.Is(err, pg.ErrLeaseLost) || errors.Is(context.Cause(held), pg.ErrLeaseLost):
		log.Warn("the poll was taken over by another member; this one stops")
	case ctx.Err() != nil:
		// Stopping: the poll is given back at once rather than when its lease ends.
		back, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		if err := control.PostponePoll(back, s.Pool, p, s.Now(), "", ""); err != nil {
			log.Warn("the poll could not be given back; its lease will end", "error", err)
		}
	default:
		log.Warn("the poll could not be recorded; it will be taken again when its lease ends", "error", err)
	}
}

func (s *Poller) renew(ctx context.Context, lost context.CancelCauseFunc, p control.Poll) {
	tick := time.NewTicker(s.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := control.RenewPoll(ctx, s.Pool, p, s.TTL); errors.Is(err, pg.ErrLeaseLost) {
				lost(pg.ErrLeaseLost)
				return
			}
		}
	}
}

// poll lists and records. Only errors of the database are returned: an error
// of the source is an outcome.
func (s *Poller) poll(ctx context.Context, p control.Poll, log *slog.Logger) error {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("poll of %s: %w", p.Source, err)
	}
	defer conn.Release()
	if err := control.CreateListing(ctx, conn); err != nil {
		return err
	}
	cfg, err := source.Remote(s.Sources[p.Source], s.Config.Poll.ConnectTimeout, s.Config.Poll.IdleTimeout)
	if err != nil {
		return s.end(ctx, conn, p, counts{}, "failed", "misconfigured", err.Error())
	}
	var c counts
	listErr := s.list(ctx, cfg, conn, p, &c)
	outOfTime := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if listErr != nil && outOfTime {
		listErr = fmt.Errorf("%w: %w", errTimedOut, listErr)
	}
	var dbErr *storeError
	if errors.As(listErr, &dbErr) || ctx.Err() != nil && !outOfTime {
		return listErr
	}
	// A poll that ran out of its budget is recorded with a context of its own.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Config.Poll.Timeout.D())
	defer cancel()
	if listErr != nil && p.Attempts < s.Config.Poll.Attempts && retriable(listErr) {
		wait := min(time.Second<<(p.Attempts-1), time.Minute)
		log.Warn("listing failed; trying again", "error", listErr, "attempt", p.Attempts, "in", wait)
		return control.PostponePoll(record, conn, p, s.Now().Add(wait), exception(listErr), text(listErr))
	}
	if err := s.compare(record, conn, p, &c); err != nil {
		return err
	}
	switch {
	case listErr == nil:
		log.Info("source listed", "listed", c.listed, "new", c.fresh, "changed", c.changed, "unsettled", c.unsettled, "rejected", c.rejected)
		return s.end(record, conn, p, c, "complete", "", "")
	case c.listed > 0:
		log.Warn("listing broke off; what it showed is recorded, nothing is concluded from what it lacks", "error", listErr)
		return s.end(record, conn, p, c, "broken_off", exception(listErr), text(listErr))
	default:
		log.Warn("source cannot be listed", "error", listErr)
		return s.end(record, conn, p, c, "failed", exception(listErr), text(listErr))
	}
}

// text is an error's text, fit for Postgres: servers answer in any encoding.
func text(err error) string {
	return strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "\uFFFD")
}

func exception(err error) string {
	if errors.Is(err, errTooMany) {
		return "listing_too_long"
	}
	if errors.Is(err, errTimedOut) {
		return "poll_timed_out"
	}
	return remote.Exception(err)
}

// retriable tells whether listing again at once may help.
func retriable(err error) bool {
	if errors.Is(err, errTooMany) || errors.Is(err, errTimedOut) {
		return false
	}
	switch remote.ClassOf(err) {
	case remote.Auth, remote.HostKey, remote.Misconfigured, remote.Permission:
		return false
	}
	return true
}

// end records the poll's end, its event, and what a complete listing lacks.
func (s *Poller) end(ctx context.Context, conn *pgxpool.Conn, p control.Poll, c counts, state, exception, message string) error {
	now := s.Now()
	return pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		if err := control.CheckPoll(ctx, tx, p); err != nil {
			return err
		}
		if state == "complete" {
			var err error
			if c.gone, err = s.missing(ctx, tx, p, now); err != nil {
				return err
			}
		}
		if err := control.EndPoll(ctx, tx, p, state, exception, message, now); err != nil {
			return err
		}
		if c.unsettled > 0 && state == "complete" {
			if err := control.SetDue(ctx, tx, p.Source, now.Add(s.Config.Poll.Settle.D())); err != nil {
				return err
			}
		}
		return s.Outbox.Append(ctx, tx, taskEvent(p, c, state, exception, message, now))
	})
}

// missing records what a complete listing lacks, and returns how many files are
// gone. It holds a chunk of them at a time; the transaction is one, since a
// poll that is repeated must not count twice what it lacks.
func (s *Poller) missing(ctx context.Context, tx pgx.Tx, p control.Poll, now time.Time) (gone int, err error) {
	if err := control.CountMissing(ctx, tx, p); err != nil {
		return 0, err
	}
	for after := zero; ; {
		files, err := control.MarkGone(ctx, tx, p, s.Config.Poll.GoneAfter, after, chunk)
		if err != nil || len(files) == 0 {
			return gone, err
		}
		events := make([]schemas.Message, 0, 2*len(files))
		for _, v := range files {
			events = append(events, goneEvents(p, v, now)...)
		}
		if err := s.Outbox.Append(ctx, tx, events...); err != nil {
			return 0, err
		}
		gone, after = gone+len(files), files[len(files)-1].File
	}
}
