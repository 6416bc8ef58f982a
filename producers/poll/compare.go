package poll

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	"tributary/sql/control"
)

// The states of a hosting; gone is also the exception of a file that ended so.
const (
	present = "present"
	gone    = "gone"
)

// centreNotHosted is the exception of an entry that its source may not show: it is
// of another centre, which hosts does not list. The file may lie elsewhere.
const centreNotHosted = "centre_not_hosted_here"

// canonical spells a centre as file names are read.
func (s *Poller) canonical(centre string) string {
	if name, ok := s.deps.Centres.Lookup(centre); ok {
		return name
	}
	return centre
}

// zero sorts before every file's id.
const zero = "00000000-0000-0000-0000-000000000000"

// compare records, chunk by chunk, what the listing shows that is not known: of
// what is new or changed no more than a poll takes up.
func (s *Poller) compare(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	if err := s.forgetNoChecksums(ctx, conn, p.Poll, c); err != nil {
		return err
	}
	if err := c.twins.find(ctx, conn); err != nil {
		return err
	}
	leaves := p.source.Leaves()
	if leaves {
		// What is only shown otherwise is not changed.
		if err := s.sameTimes(ctx, conn, p, c); err != nil {
			return err
		}
		if err := s.leaveSome(ctx, conn, p, c); err != nil {
			return err
		}
	}
	hosts := p.source.Shown(s.canonical)
	if c.listed <= control.ShownAtOnce {
		// Of few entries it is soon seen that none differs, whatever their times are exact to.
		if rows, err := control.Compare(ctx, conn, p.Source, p.Number, hosts, zero, 1, false); err != nil || len(rows) == 0 {
			return err
		}
	}
	if err := s.deps.Centres.Renew(ctx); err != nil { // names are judged from here on
		return err
	}
	hosts = p.source.Shown(s.canonical)
	if !leaves {
		if err := s.sameTimes(ctx, conn, p, c); err != nil {
			return err
		}
	}
	bounds, bounded, err := s.bounds(ctx, conn, p, c.listed)
	if err != nil {
		return err
	}
	if bounded {
		if c.waiting, err = control.ChooseTurn(ctx, conn, p.Source, p.Number, hosts, bounds); err != nil {
			return err
		}
	}
	for after := zero; ; {
		rows, err := control.Compare(ctx, conn, p.Source, p.Number, hosts, after, chunk, bounded)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		after = rows[len(rows)-1].File
		if err := s.record(ctx, conn, p, rows, c); err != nil {
			return err
		}
	}
}

// judge decides what one entry is: which look, whether it has settled, whether
// its name keeps the convention, whether it can be fetched. An entry that says
// nothing new has no sighting.
func (s *Poller) judge(p polled, l control.Listed, now time.Time) (judged, error) {
	w := control.Sighting{File: l.File, Name: l.Name, Action: l.Action, Look: l.Look, Size: l.Size, ModTime: l.ModTime, Precision: l.Precision, ListedAt: now, State: present}
	name, bad := s.deps.Profile.ParseZip(l.Name, s.deps.Centres)
	if bad == nil {
		date := name.Date.Format(time.DateOnly)
		w.Centre, w.FileDate, w.FileInc = &name.Centre, &date, &name.Increment
		if l.Invalid == "" && !p.source.MayShow(name.Centre, l.Action) {
			l.Invalid, l.Message = centreNotHosted, text(errors.New(p.source.Refusal(name.Centre, l.Action)))
		}
	}
	j := judged{listed: l}
	if l.Invalid == centreNotHosted {
		j.tally.notHosted = 1
	}
	unfit := bad == nil && l.Invalid != ""
	if unfit {
		w.State = gone // what can't be fetched is no hosting for plan
	}
	fresh := l.State != w.State || l.Moved()
	if fresh {
		w.Look++
	} else if l.ListedAt != nil {
		w.ListedAt = *l.ListedAt
	}
	switch {
	case bad != nil:
		w.Exception, w.Message = bad.Exception, bad.Message
		w.Class, w.Settled = "rejected", true
		j.tally.rejected = 1
	case unfit:
		w.Class, w.Settled = "rejected", true
		j.tally.rejected = 1
		// What this server says of the entry is no fault of the file, which other
		// sources may show as well; only where nothing else is known of it, that
		// is how it stands.
		if w.Exception = l.Exception; !l.Known || l.Unread {
			w.Exception, w.Message = l.Invalid, l.Message
		}
	case p.Once || !now.Before(w.ListedAt.Add(s.cfg.Settle.D())):
		w.Class, w.Settled = "announced", true
	default:
		w.Class = "unsettled"
		j.tally.unsettled, j.tally.grow = 1, only(l.Action)
	}
	if w.Class != "announced" && !fresh && l.Exception == w.Exception {
		return j, nil
	}
	if fresh {
		j.takes = l.Takes()
		if l.Hosted {
			j.tally.changed = 1
		} else {
			j.tally.fresh, j.tally.came = 1, only(l.Action)
		}
	}
	if fresh {
		j.tally.largest = max(l.Size, 0) // a size that can't be read is -1
	}
	j.sighting = w
	return j, s.events(p.Poll, &j, fresh, now)
}

// events are what is told of a judged entry.
func (s *Poller) events(p control.Poll, j *judged, fresh bool, now time.Time) error {
	l, w := j.listed, &j.sighting
	var messages []schemas.Message
	if !l.Known || l.Exception != w.Exception {
		r, err := s.deps.Outbox.Codec.Encode(fileEvent(p, *w, l.Exception, now))
		if err != nil {
			return &entryError{err}
		}
		j.file = &r
	}
	if w.State == gone && l.State == present {
		messages = append(messages, goneEvent(p, control.Vanished{File: w.File, Name: w.Name, Action: w.Action, Centre: centreOf(*w), Look: w.Look, Size: w.Size}, now))
	}
	messages = append(messages, hostingEvent(p, *w, l, now))
	if w.Class == "announced" {
		messages = append(messages, discovered(p, *w, fresh && l.State == present, now))
	}
	for _, m := range messages {
		r, err := s.deps.Outbox.Codec.Encode(m)
		if err != nil {
			return &entryError{err}
		}
		if m.Topic == schemas.FileDiscoveredTopic && w.Class == "announced" {
			w.Event, w.Headers = r.Value, r.Headers
		}
		j.records = append(j.records, r)
	}
	return nil
}
