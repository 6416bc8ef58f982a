package poll

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/clock"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// Nothing that is new or changed is told by a server's clock: whether a file has settled,
// and what is gone, is seen by our own. What a time is compared with is the time that the
// same server showed before. So clocks matter where a server shows the same time in
// another way: less exactly, without its year, or in its zone's time of now. A disk with FAT
// forgets odd seconds once it is read anew.

// old is how long ago a file was changed that tells whether all times have moved: an
// overwritten one has the time of then.
const old = 48 * time.Hour

// clockwork is what a poll learns of the clock of its server.
type clockwork struct {
	session  *remote.Clock
	began    time.Time // the listing
	ended    time.Time
	coarsest time.Duration
	even     clock.Even
	yearless bool
	newest   *clock.Find // of the newest file that is found
	moved    time.Duration
	is       clock.Clock // what is known after it
}

func (s *Poller) clockwork(p polled) *clockwork {
	return &clockwork{session: &remote.Clock{Now: s.deps.Now, Ahead: p.Clock.Guess()}, began: s.deps.Now(), is: p.Clock}
}

// shows notes how an entry of a file shows its time.
func (w *clockwork) shows(e remote.Entry) {
	if !e.ModTime.IsZero() {
		w.coarsest, w.yearless = max(w.coarsest, e.Precision), w.yearless || e.Yearless
		w.even.Shows(e.ModTime, e.Precision)
	}
}

// milliseconds are how exact the time of an entry is.
func milliseconds(precision time.Duration) int32 {
	return int32(min(precision, 24*time.Hour) / time.Millisecond) //nolint:gosec // a day has fewer than fit
}

// sameTimes compares the times of a listing with those that are known as exactly as
// both are shown, after it has found out whether all have moved at once.
func (s *Poller) sameTimes(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	w := c.clock
	finest := milliseconds(w.even.Exact())
	all, err := control.Differences(ctx, conn, p.Source, s.deps.Now().Add(w.session.Ahead-old), finest)
	if err != nil {
		return err
	}
	if by, moved := clock.MovedBy(all); moved {
		n, err := control.MoveTimes(ctx, conn, p.Source, by, finest)
		if err != nil {
			return err
		}
		w.moved = by
		s.deps.Log.Info("the server shows the times of all files otherwise, as where its zone changes to or from daylight saving: they are the same files", "source", p.Source, "by", by, "files", n)
	}
	if w.coarsest < time.Minute && !w.yearless && finest == 0 && w.coarsest == p.Clock.Precision {
		return nil
	}
	return control.SameTimes(ctx, conn, p.Source, finest)
}

// finds notes what a file that has another look says of the server's clock. Only what a
// complete listing lacked, or was still growing, changed since we looked.
func (w *clockwork) finds(l control.Listed, looked time.Time) {
	if w == nil || l.ModTime == nil || l.Invalid != "" {
		return
	}
	grew := l.Hosted && l.State == present && !l.Settled && l.Size > l.HostedSize && l.HostedModTime != nil && l.ModTime.After(*l.HostedModTime)
	before := looked
	if grew {
		before = *l.ListedAt
	}
	if l.Hosted && !grew || before.IsZero() {
		return
	}
	f := clock.Sighting(*l.ModTime, time.Duration(l.Precision)*time.Millisecond, before, w.ended, grew)
	if w.newest == nil || f.Least > w.newest.Least {
		w.newest = &f
	}
}

// learned is what is known of the clock after the poll.
func (w *clockwork) learned(complete bool, now time.Time) clock.Clock {
	is := w.is
	if complete {
		is.Looked, is.Precision, is.Yearless, is.Zones = w.began, max(w.coarsest, w.even.Exact()), w.yearless, w.session.Zones()
	}
	if w.moved != 0 {
		is.Moved, is.MovedAt = w.moved, now
	}
	if least, most, told := w.session.Told(); told {
		is.Told = &clock.Bounds{Least: &least, Most: &most}
	}
	if w.newest != nil {
		is.Found(*w.newest)
	}
	return is
}

// keepClock stores what a poll has learned, and tells where that is a finding: that the
// clock is wrong, otherwise wrong than before, or right again.
func (s *Poller) keepClock(ctx context.Context, tx pgx.Tx, p control.Poll, c *counts, complete bool, now time.Time) error {
	if c.clock == nil {
		return nil
	}
	was, is := p.Clock, c.clock.learned(complete, now)
	by, skewed := is.Skewed()
	tell := skewed == was.Since.IsZero()
	switch {
	case skewed && (was.Since.IsZero() || (by-was.Skew).Abs() > clock.Tolerance):
		is.Skew, is.Since, tell = by, now, true
	case !skewed:
		is.Skew, is.Since = 0, time.Time{}
	}
	c.clock.is = is
	if err := control.PutClock(ctx, tx, p.Source, is); err != nil {
		return err
	}
	if !tell {
		return nil
	}
	s.deps.Log.Warn(skewText(is), "source", p.Source, "server", p.Server)
	return s.deps.Outbox.Append(ctx, tx, schemas.Message{
		ID:    schemas.EventID(stage, schemas.LiveRun, p.ID, "clock"),
		Topic: schemas.StatusChangedTopic, Key: p.Source, Stage: stage, Subject: "source " + p.Source, Time: now,
		Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: p.Session, Centre: p.Centre, Source: p.Source}, Entity: schemas.EntitySource,
			Server: p.Server, Note: schemas.NoteClockSkewed, Message: skewText(is), Attributes: map[string]string{"clock_skew": is.Skew.String()}},
	})
}

// skewText says to people how wrong a clock is.
func skewText(is clock.Clock) string {
	switch {
	case is.Skew > 0:
		return fmt.Sprintf("the server's clock is ahead of ours by %s or more: the times of its files are not to be believed, but nothing is concluded from them", is.Skew.Round(time.Second))
	case is.Skew < 0:
		return fmt.Sprintf("the server's clock is behind ours by %s or more: the times of its files are not to be believed, but nothing is concluded from them", (-is.Skew).Round(time.Second))
	}
	return "the server's clock is right, as far as is known"
}

// attributes are what the poll's event tells of the clock.
func (w *clockwork) attributes(to map[string]string) {
	if w == nil {
		return
	}
	if w.moved != 0 {
		to["times_moved"] = w.moved.String()
	}
	if text := w.is.Text(); text != "" {
		to["clock"] = text
	}
}
