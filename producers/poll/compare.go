package poll

import (
	"context"
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

// zero sorts before every file's id.
const zero = "00000000-0000-0000-0000-000000000000"

// compare records, chunk by chunk, what the listing shows that is not known.
func (s *Poller) compare(ctx context.Context, conn *pgxpool.Conn, p control.Poll, c *counts) error {
	after := zero
	for {
		rows, err := control.Compare(ctx, conn, p.Source, after, chunk)
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
func (s *Poller) judge(p control.Poll, l control.Listed, now time.Time) (judged, error) {
	j := judged{listed: l}
	w := control.Sighting{File: l.File, Name: l.Name, Action: l.Action, Look: l.Look, Size: l.Size, ModTime: l.ModTime, ListedAt: now, State: present}
	name, bad := s.Profile.ParseZip(l.Name, s.Centres)
	unfit := bad == nil && l.Invalid != ""
	if bad == nil {
		date := name.Date.Format(time.DateOnly)
		w.Centre, w.FileDate, w.FileInc = &name.Centre, &date, &name.Increment
	}
	if unfit {
		w.State = gone // what can't be fetched is no hosting for plan
	}
	fresh := !l.Hosted || l.State != w.State || l.Size != l.HostedSize || !sameTime(l.ModTime, l.HostedModTime)
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
		if w.Exception = l.Exception; !l.Known {
			w.Exception, w.Message = l.Invalid, l.Message
		}
	case p.Once || !now.Before(w.ListedAt.Add(s.Config.Poll.Settle.D())):
		w.Class, w.Settled = "announced", true
	default:
		w.Class = "unsettled"
		j.tally.unsettled = 1
	}
	if w.Class != "announced" && !fresh && l.Exception == w.Exception {
		return j, nil
	}
	if fresh && l.Hosted {
		j.tally.changed = 1
	} else if fresh {
		j.tally.fresh = 1
	}
	j.sighting = w
	return j, s.events(p, &j, fresh, now)
}

// events are what is told of a judged entry.
func (s *Poller) events(p control.Poll, j *judged, fresh bool, now time.Time) error {
	l, w := j.listed, &j.sighting
	var messages []schemas.Message
	if !l.Known || l.Exception != w.Exception {
		messages = append(messages, fileEvent(p, *w, l.Exception, now))
	}
	if w.State == gone && l.State == present {
		messages = append(messages, goneEvent(p, control.Vanished{File: w.File, Name: w.Name, Action: w.Action, Centre: centreOf(*w), Look: w.Look, Size: w.Size}, now))
	}
	messages = append(messages, hostingEvent(p, *w, l, now))
	if w.Class == "announced" {
		messages = append(messages, discovered(p, *w, fresh && l.Hosted && l.State != gone, now))
	}
	for _, m := range messages {
		r, err := s.Outbox.Codec.Encode(m)
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

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
