package poll

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/producers/sourcestate"
	"tributary/schemas"
	exceptions "tributary/schemas/exception"
	"tributary/sql/control"
)

// end records the poll's end. If what there is to tell is refused, the poll ends
// as failed, and tells that instead: nothing that a server says keeps a session
// open.
func (s *Poller) end(ctx context.Context, conn *pgxpool.Conn, p control.Poll, c counts, o outcome) error {
	var db pg.Beginner = conn
	broken := conn.Conn().IsClosed() // as by a statement that was broken off; only a complete listing needs its table
	if broken {
		db = s.deps.Pool
	}
	err := s.endOnce(ctx, db, p, c, o)
	if shrunk := (*shrunkError)(nil); errors.As(err, &shrunk) {
		s.deps.Log.Warn("the listing isn't believed; what it showed is recorded, nothing is concluded from what it lacks", "source", p.Source, "error", shrunk)
		err = s.endOnce(ctx, db, p, c, outcome{state: "broken_off", exception: directoryShrunk, message: text(shrunk)})
	}
	lost := !broken && conn.Conn().IsClosed()
	if err == nil || ctx.Err() != nil || lost || !permanent(err) {
		return err
	}
	s.deps.Log.Error("the poll's end can't be recorded as it was; it is recorded as failed", "source", p.Source, "error", text(err))
	return s.endOnce(ctx, s.deps.Pool, p, counts{}, outcome{state: "failed", exception: unrecorded, message: "how the poll ended can't be recorded: " + refusal(err)})
}

// permanent tells an error that trying again repeats from one of the database's
// state and from a lease that is lost.
func permanent(err error) bool {
	var e *pgconn.PgError
	return dataError(err) || !errors.As(err, &e) && !errors.Is(err, pg.ErrLeaseLost)
}

// endOnce records the poll's end, its event, and what a complete listing lacks.
func (s *Poller) endOnce(ctx context.Context, db pg.Beginner, p control.Poll, c counts, o outcome) error {
	now := s.deps.Now()
	state := o.state
	var rests bool
	err := pg.InTx(ctx, db, func(tx pgx.Tx) (err error) {
		sound, err := control.CheckEnding(ctx, tx, p)
		if err != nil {
			return err
		}
		// First, since it may draw a revision, which comes before the source's row.
		if end := o.end(now); !sound || end.Failed || end.NotBefore.After(end.At) {
			if rests, err = sourcestate.Conclude(ctx, tx, s.deps.Outbox, p.Source, s.limits(), end); err != nil {
				return err
			}
		}
		if state == "complete" && !c.window {
			if c.gone, err = s.missing(ctx, tx, p, now); err != nil {
				return err
			}
		}
		if state == "complete" && (c.ignored.total > 0 || p.Ignored > 0) {
			if err := control.PutIgnored(ctx, tx, p.Source, c.ignored.total, c.ignored.first); err != nil {
				return err
			}
		}
		if err := c.kept.note(ctx, tx, now); err != nil {
			return err
		}
		if err := control.EndPoll(ctx, tx, p, state, o.exception, o.message, now); err != nil {
			return err
		}
		var closed *control.Session
		if !c.found() {
			if closed, err = control.CloseEmpty(ctx, tx, p, now); err != nil {
				return err
			}
		}
		if changed := c.found() || c.ripen > 0; changed || state == "complete" {
			p.NoChecksumsAt = c.noChecksumsAt(p, state, now)
			if err := control.CountUnchanged(ctx, tx, p, changed, now); err != nil {
				return err
			}
		}
		if err := putCheck(ctx, tx, p, c.trace, o, now); err != nil {
			return err
		}
		if c.taken = p.Taken; c.found() || c.taken != (control.Taken{}) {
			if c.taken, err = control.StopTaking(ctx, tx, p, c.waiting); err != nil {
				return err
			}
		}
		if state == "complete" || state == "minimal" {
			if err := s.after(ctx, tx, p, c, now); err != nil {
				return err
			}
			if err := s.goBy(ctx, tx, p, c); err != nil {
				return err
			}
			if err := s.keepTwins(ctx, tx, p, c); err != nil {
				return err
			}
		}
		if err := s.keepClock(ctx, tx, p, &c, state == "complete" && !c.window, now); err != nil {
			return err
		}
		if err := s.leaveAlone(ctx, tx, p, o.after); err != nil {
			return err
		}
		return s.tellEnd(ctx, tx, p, c, o, closed, now)
	})
	if err == nil && rests {
		s.tellRest(p, o)
	}
	return err
}

// tellEnd tells how the poll ended and, where that has closed it, its session. Nothing
// waits for what a poll tells that found nothing, unless a person waits for the round.
func (s *Poller) tellEnd(ctx context.Context, tx pgx.Tx, p control.Poll, c counts, o outcome, closed *control.Session, now time.Time) error {
	told := []schemas.Message{taskEvent(p, c, o, now)}
	if closed != nil {
		told = append(told, closed.Closed(stage, now))
	}
	if p.Once || c.found() || o.state != "complete" && o.state != "minimal" {
		return s.deps.Outbox.Append(ctx, tx, told...)
	}
	return s.deps.Outbox.AppendUnhurried(ctx, tx, told...)
}

// after has a source due soon again of which a poll to the end has left something that
// the next may take up, and lets one rest of which it has left nothing, if once is
// enough.
func (s *Poller) after(ctx context.Context, tx pgx.Tx, p control.Poll, c counts, now time.Time) error {
	switch {
	case c.unsettled > 0 || c.nextTakesMore():
		return control.SetDue(ctx, tx, p.Source, now.Add(s.cfg.Settle.D()))
	case !p.Rests:
		return nil
	case c.waiting.Entries == 0 && c.ripen == 0:
		return control.Rest(ctx, tx, p)
	}
	return nil
}

// limits are those of the configuration. What a source shows beyond what it may is
// never less by another poll.
func (s *Poller) limits() sourcestate.Limits {
	sooner := map[string]int{}
	if s.cfg.SuspendAfter > 0 {
		sooner = s.cfg.SuspendSooner.Numbers()
	}
	sooner[class(tooManyEntries)] = 1
	return sourcestate.Limits{After: s.cfg.SuspendAfter, Probe: s.cfg.ProbeInterval.D(), Sooner: sooner}
}

// class is that of an exception; empty: it is in none.
func class(exception string) string {
	c, _ := exceptions.ClassOf(exception)
	return c.Name
}

// end is what the outcome says of its source. What a member can't do or can't
// record is not the source's fault, and suspends nothing.
func (o outcome) end(now time.Time) sourcestate.End {
	failed := o.state == "failed" && o.exception != unrecorded && o.exception != misconfigured
	return sourcestate.End{Failed: failed, Class: class(o.exception), Why: o.exception + ": " + o.message, At: now, NotBefore: now.Add(o.after)}
}

// tellRest logs that a poll has suspended its source, or ended that.
func (s *Poller) tellRest(p control.Poll, o outcome) {
	if o.state == "failed" {
		s.deps.Log.Error("the source is suspended: only probes go there until one shows something, or tributary sources resume says so", "source", p.Source,
			"probe_interval", s.cfg.ProbeInterval.D(), "error", o.message)
		return
	}
	s.deps.Log.Info("the source answers again and is no longer suspended", "source", p.Source)
}

// missing records what a complete listing lacks, and returns how many files are
// gone. It holds a chunk of them at a time; the transaction is one, since a
// poll that is repeated must not count twice what it lacks.
func (s *Poller) missing(ctx context.Context, tx pgx.Tx, p control.Poll, now time.Time) (n int, err error) {
	changed, err := control.CountMissing(ctx, tx, p)
	if err != nil || changed == 0 {
		return 0, err
	}
	if err := s.shrunk(ctx, tx, p); err != nil {
		return 0, err
	}
	for after := zero; ; {
		files, err := control.MarkGone(ctx, tx, p, s.cfg.GoneAfter, after, chunk)
		if err != nil || len(files) == 0 {
			return n, err
		}
		if err := s.tellGone(ctx, tx, p, files, gone, "no source shows the file any more; it was gone before it was fetched", now); err != nil {
			return 0, err
		}
		n, after = n+len(files), files[len(files)-1].File
	}
}

// tellGone tells what is gone from a source, and ends the files that nobody else
// will ever tell of.
func (s *Poller) tellGone(ctx context.Context, tx pgx.Tx, p control.Poll, files []control.Vanished, exception, message string, now time.Time) error {
	events := make([]schemas.Message, 0, 2*len(files))
	for _, v := range files {
		events = append(events, goneEvents(p, v, now)...)
	}
	if err := s.deps.Outbox.Append(ctx, tx, events...); err != nil {
		return err
	}
	return s.endUnfetched(ctx, tx, p, files, exception, message, now)
}
