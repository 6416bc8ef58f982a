package asof

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// What bounds the events that are written at a time, and so memory.
const (
	chunk      = 20_000   // events
	chunkBytes = 32 << 20 // of text: one event may tell of many errors
)

// TooLargeError says that an answer needs more events than are allowed.
type TooLargeError struct {
	Events, Max int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer needs %d events, more than the %d that are allowed: ask about one file, centre, source or session, or allow more with --max-events",
		e.Events, e.Max)
}

// limit counts the events to be read, and refuses too many.
func (p *past) limit(ctx context.Context, parts []part) error {
	n, err := p.count(ctx, parts)
	if err != nil {
		return err
	}
	most := p.MaxEvents
	if most <= 0 {
		most = DefaultMaxEvents
	}
	if n > most {
		return &TooLargeError{Events: n, Max: most}
	}
	p.all = n
	return nil
}

// fill adds the events of the parts to the tables.
func (p *past) fill(ctx context.Context, parts []part) error {
	var events []Event
	var places []stored // of the events
	bytes := 0
	flush := func() error {
		err := p.flush(ctx, events, places)
		events, places, bytes = events[:0], places[:0], 0
		return err
	}
	for _, part := range parts {
		if err := p.read(ctx, part, func(s stored) error {
			if s.unreadable == "" && s.At.IsZero() {
				s.unreadable = "the event has no time"
			}
			if s.unreadable != "" {
				return p.odd(ctx, s)
			}
			events = append(events, s.Event)
			places = append(places, stored{topic: s.topic, partition: s.partition, offset: s.offset})
			bytes += weight(s.Event)
			if len(events) < p.chunkSize() && bytes < p.chunkRoom() {
				return nil
			}
			return flush()
		}); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return p.statistics(ctx)
}

// weight is about how many bytes of text of any length an event has.
func weight(e Event) int {
	n := len(e.FileName) + len(e.Entry) + len(e.Message) + len(e.Outcome)
	for _, x := range e.Errors {
		n += len(x.Exception) + len(x.Message)
	}
	for k, v := range e.Attributes {
		n += len(k) + len(v)
	}
	return n
}

// flush writes one chunk, in a transaction of its own: a long one would keep
// the database from cleaning up behind the live tracker.
func (p *past) flush(ctx context.Context, events []Event, places []stored) error {
	if len(events) == 0 {
		return nil
	}
	var unplaced []int
	err := pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) (err error) {
		unplaced, err = p.write(ctx, tx, events)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the rows of the past: %w", err)
	}
	for _, i := range unplaced {
		s := places[i]
		s.unreadable = "the event cannot be placed"
		if err := p.odd(ctx, s); err != nil {
			return err
		}
	}
	p.done += int64(len(events))
	if p.Progress != nil {
		p.Progress(p.done, p.all)
	}
	if p.done >= 2*p.seen {
		return p.statistics(ctx)
	}
	return nil
}

// odd notes a record that the tracker passes over.
func (p *past) odd(ctx context.Context, s stored) error {
	return pg.Exec(ctx, p, "note an unreadable record", "INSERT INTO tracker.unreadable (topic, partition, log_offset, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
		s.topic, s.partition, s.offset, pg.Text(s.unreadable))
}

// statistics tells the planner what the tables hold, once they have doubled and
// at the end: nobody else does so for temporary tables. A few rows need none.
func (p *past) statistics(ctx context.Context) error {
	if p.done < int64(p.chunkSize())/2 || p.done == p.seen {
		return nil
	}
	p.seen = p.done
	names, err := pg.List(ctx, p.conn, "list the temporary tables", pgx.RowTo[string], "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r'")
	if err != nil {
		return err
	}
	if _, err := p.conn.Exec(ctx, "ANALYZE "+strings.Join(names, ", ")); err != nil {
		return fmt.Errorf("analyze the temporary tables: %w", err)
	}
	return nil
}
