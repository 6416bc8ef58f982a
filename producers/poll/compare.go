package poll

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
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

func (s *Poller) record(ctx context.Context, conn *pgxpool.Conn, p control.Poll, rows []control.Listed, c *counts) error {
	now := s.Now()
	var seen []control.Sighting
	var records []schemas.Record
	for _, l := range rows {
		sighting, messages, err := s.judge(p, l, now, c)
		if err != nil {
			return err
		}
		if sighting == nil {
			continue
		}
		seen = append(seen, *sighting)
		for _, m := range messages {
			r, err := s.Outbox.Codec.Encode(m)
			if err != nil {
				return err
			}
			records = append(records, r)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		if err := control.CheckPoll(ctx, tx, p); err != nil {
			return err
		}
		if err := control.Record(ctx, tx, p, now, seen); err != nil {
			return err
		}
		return pg.AppendOutbox(ctx, tx, control.Schema, records)
	})
}

// judge decides what one entry is: which look, whether it has settled, whether
// its name keeps the convention. It returns nil for an entry that says nothing
// new.
func (s *Poller) judge(p control.Poll, l control.Listed, now time.Time, c *counts) (*control.Sighting, []schemas.Message, error) {
	w := control.Sighting{File: l.File, Name: l.Name, Action: l.Action, Look: l.Look, Size: l.Size, ModTime: l.ModTime, ListedAt: now}
	fresh := !l.Hosted || l.State == "gone" || l.Size != l.HostedSize || !sameTime(l.ModTime, l.HostedModTime)
	if fresh {
		w.Look++
	} else if l.ListedAt != nil {
		w.ListedAt = *l.ListedAt
	}
	name, bad := s.Profile.ParseZip(l.Name, s.Centres)
	if bad != nil {
		w.Exception, w.Message = bad.Exception, bad.Message
		w.Class, w.Settled = "rejected", true
		c.rejected++
		if !fresh && l.Exception == w.Exception {
			return nil, nil, nil
		}
	} else {
		date := name.Date.Format(time.DateOnly)
		w.Centre, w.FileDate, w.FileInc = &name.Centre, &date, &name.Increment
		w.Settled = p.Once || !now.Before(w.ListedAt.Add(s.Config.Poll.Settle.D()))
		w.Class = "unsettled"
		if w.Settled {
			w.Class = "announced"
		}
		if !w.Settled {
			c.unsettled++
			if !fresh && l.Exception == "" {
				return nil, nil, nil
			}
		}
	}
	if fresh && l.Hosted {
		c.changed++
	} else if fresh {
		c.fresh++
	}
	var messages []schemas.Message
	if !l.Known || l.Exception != w.Exception {
		messages = append(messages, fileEvent(p, w, now))
	}
	messages = append(messages, hostingEvent(p, w, now))
	if w.Class == "announced" {
		m := discovered(p, w, fresh && l.Hosted && l.State != "gone", now)
		r, err := s.Outbox.Codec.Encode(m)
		if err != nil {
			return nil, nil, err
		}
		w.Event, w.Headers = r.Value, r.Headers
		messages = append(messages, m)
	}
	return &w, messages, nil
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
