package poll

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// judged is what is to be recorded of one entry.
type judged struct {
	listed   control.Listed
	sighting control.Sighting
	file     *schemas.Record // how the file stands, where that changes
	records  []schemas.Record
	tally    tally
	takes    control.Taken
}

// unfit tells that a file whose name is good can't be fetched as it is shown here.
func (j judged) unfit() bool { return j.listed.Invalid != "" && j.sighting.Exception == "" }

// record records a chunk. An entry that is refused is recorded as rejected, with
// nothing but its name; if that is refused too, the poll says so.
func (s *Poller) record(ctx context.Context, conn *pgxpool.Conn, p polled, rows []control.Listed, c *counts) error {
	now := s.deps.Now()
	store := func(all []judged) error {
		if len(all) == 0 {
			return nil
		}
		err := s.store(ctx, conn, p, all, now)
		for _, j := range all {
			if err == nil {
				c.tally.add(j.tally)
			}
		}
		return err
	}
	refuse := func(l control.Listed, cause error) error {
		l.Size, l.ModTime, l.Attributes, l.Invalid, l.Message = -1, nil, nil, entryRefused, refusal(cause)
		all, err := s.judgeAll(p, []control.Listed{l}, now, c, nil)
		if err == nil {
			err = store(all)
		}
		if dataError(err) {
			c.refused.add(l.Action, l.Name, err)
			return nil
		}
		return err
	}
	all, err := s.judgeAll(p, rows, now, c, refuse)
	if err != nil {
		return err
	}
	return isolate(all, store, func(j judged, cause error) error { return refuse(j.listed, cause) })
}

// judgeAll judges entries and returns those that say something new; refuse gets
// those whose events can't be made.
func (s *Poller) judgeAll(p polled, rows []control.Listed, now time.Time, c *counts, refuse func(control.Listed, error) error) ([]judged, error) {
	all := make([]judged, 0, len(rows))
	for _, l := range rows {
		c.clock.finds(l, p.Clock.Looked)
		j, err := s.judge(p, l, now)
		switch {
		case dataError(err) && refuse != nil:
			err = refuse(l, err)
		case err != nil:
		case j.sighting.File == "":
			c.tally.add(j.tally)
		default:
			all = append(all, j)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// store records entries with their events in one transaction.
func (s *Poller) store(ctx context.Context, conn *pgxpool.Conn, p polled, all []judged, now time.Time) error {
	seen := make([]control.Sighting, 0, len(all))
	var takes control.Taken
	for _, j := range all {
		seen, takes = append(seen, j.sighting), takes.Plus(j.takes)
	}
	return pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		if err := control.CheckPoll(ctx, tx, p.Poll); err != nil {
			return err
		}
		files, err := control.Record(ctx, tx, p.Poll, now, seen)
		if err != nil {
			return err
		}
		if err := outbox.Append(ctx, tx, control.Schema, entryEvents(all, files)); err != nil {
			return err
		}
		if err := s.endUnfit(ctx, tx, p.Poll, all, now); err != nil {
			return err
		}
		day, _ := p.source.Day(now)
		return control.CountPoll(ctx, tx, p.Poll, day, takes)
	})
}

// entryEvents are the events of entries, of which files have been recorded: that of a
// file is left out where another poll has recorded it meanwhile, and all that is
// wrong is this source's entry of it.
func entryEvents(all []judged, files map[string]bool) []schemas.Record {
	var records []schemas.Record
	for _, j := range all {
		if j.file != nil && (j.listed.Invalid == "" || j.sighting.Centre == nil || files[j.sighting.File]) {
			records = append(records, *j.file)
		}
		records = append(records, j.records...)
	}
	return records
}

// endUnfit ends files that are only shown any more in ways that nothing can be
// fetched, and that nobody has fetched.
func (s *Poller) endUnfit(ctx context.Context, tx pgx.Tx, p control.Poll, all []judged, now time.Time) error {
	var unfit, refused []control.Vanished
	for _, j := range all {
		v := control.Vanished{File: j.sighting.File, Look: j.sighting.Look}
		switch {
		case !j.unfit():
		case j.listed.Invalid == centreNotHosted:
			refused = append(refused, v)
		default:
			unfit = append(unfit, v)
		}
	}
	if err := s.endUnfetched(ctx, tx, p, refused, centreNotHosted, "only sources that may not show files of its centre show the file any more", now); err != nil {
		return err
	}
	return s.endUnfetched(ctx, tx, p, unfit, gone, "no source shows the file any more in a way that it can be fetched", now)
}

// endUnfetched ends those of the files that nobody else will ever tell of.
func (s *Poller) endUnfetched(ctx context.Context, tx pgx.Tx, p control.Poll, files []control.Vanished, exception, message string, now time.Time) error {
	if len(files) == 0 {
		return nil
	}
	ids := make([]string, 0, len(files))
	looks := make(map[string]int32, len(files))
	for _, v := range files {
		ids = append(ids, v.File)
		looks[v.File] = v.Look
	}
	ended, err := control.EndUnfetched(ctx, tx, ids, exception, message)
	if err != nil {
		return err
	}
	events := make([]schemas.Message, 0, len(ended))
	for _, f := range ended {
		events = append(events, unfetchedEvent(p, f, looks[f.File], exception, message, now))
	}
	return s.deps.Outbox.Append(ctx, tx, events...)
}
