package history

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tributary/internal/stage/sink"
	"tributary/schemas"
	historysql "tributary/sql/history"
)

// rangesAhead is how many ranges ClickHouse may be ahead of the log.
const rangesAhead = 4

// hashed is a row or a record.
type hashed struct {
	offset  int64
	hash    uint64
	expired bool // its row may be gone
}

// hashes are the rows of an interval, in order; at most limit, if that is not 0.
func (v *verification) hashes(ctx context.Context, p int32, i interval, limit int) ([]hashed, error) {
	text := "SELECT offset, " + rowHash() + inRange + " ORDER BY offset"
	if limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", limit)
	}
	var out []hashed
	var r hashed
	for err := range historysql.Each(ctx, v.conn, "read rows of the history", []any{&r.offset, &r.hash}, text, v.args(p, i)...) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// differ counts a difference, and names it as long as they are few.
func (v *verification) differ(d Difference) error {
	v.out.Differences++
	if v.o.Difference == nil || v.named >= v.o.Explain {
		return nil
	}
	v.named++
	return v.o.Difference(d)
}

// partition compares an interval of a partition, range by range.
func (v *verification) partition(ctx context.Context, p int32, i interval) error {
	if i.from >= i.to {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	stored := make(chan counted, rangesAhead)
	g.Go(func() error {
		for at := v.first(i); at.from < at.to; at = v.after(i, at) {
			c, err := v.counted(ctx, p, at)
			if err != nil {
				return err
			}
			if err := sink.Send(ctx, stored, c); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error { return v.ranges(ctx, p, i, stored) })
	return g.Wait()
}

// ranges reads the log, and compares each range as soon as it is read.
func (v *verification) ranges(ctx context.Context, p int32, i interval, stored <-chan counted) error {
	at := v.first(i)
	var got []hashed
	next := func() error {
		var have counted
		select {
		case have = <-stored:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := v.span(ctx, p, at, got, have)
		got = got[:0]
		at = v.after(i, at)
		return err
	}
	err := v.hashLog(ctx, p, i, func(hashes []hashed) error {
		for _, r := range hashes {
			for r.offset >= at.to {
				if err := next(); err != nil {
					return err
				}
			}
			got = append(got, r)
		}
		return nil
	})
	for err == nil && at.from < at.to {
		err = next()
	}
	return err
}

// first is the first range of an interval; after is the one that follows. Behind the
// last one comes one that is empty.
func (v *verification) first(i interval) interval { return v.after(i, interval{to: i.from}) }

func (v *verification) after(i, at interval) interval {
	return interval{at.to, min(i.to, (at.to/v.o.Range+1)*v.o.Range)}
}

// counted are the rows of a range that are stored, and the sum of their hashes.
type counted struct{ rows, sum uint64 }

func (v *verification) counted(ctx context.Context, p int32, i interval) (c counted, err error) {
	if err := v.conn.QueryRow(ctx, "SELECT count(), sum("+rowHash()+")"+inRange, v.args(p, i)...).Scan(&c.rows, &c.sum); err != nil {
		return c, fmt.Errorf("checksum of the history: %w", err)
	}
	return c, nil
}

// span compares one range.
func (v *verification) span(ctx context.Context, p int32, i interval, log []hashed, have counted) error {
	s := Span{Topic: schemas.StatusChangedTopic, Partition: p, From: i.from, To: i.to, LogRecords: uint64(len(log)), HistoryRows: have.rows}
	var want uint64
	for _, r := range log {
		want += r.hash
	}
	before := v.out.Differences
	if s.HistoryRows != s.LogRecords || want != have.sum {
		rows, err := v.hashes(ctx, p, i, 0)
		if err != nil {
			return err
		}
		if s.Expired, err = v.compare(ctx, p, log, rows); err != nil {
			return err
		}
	}
	s.LogChecksum, s.HistoryChecksum = fmt.Sprintf("%016x", want), fmt.Sprintf("%016x", have.sum)
	s.Equal = v.out.Differences == before
	v.out.Ranges++
	if !s.Equal {
		v.out.RangesDifferent++
	}
	v.out.LogRecords += s.LogRecords
	v.out.HistoryRows += s.HistoryRows
	v.out.Expired += s.Expired
	if v.o.Span == nil {
		return nil
	}
	return v.o.Span(s)
}

// compare looks at a range row by row.
func (v *verification) compare(ctx context.Context, p int32, log, rows []hashed) (expired uint64, err error) {
	for len(log) > 0 || len(rows) > 0 {
		d := Difference{Topic: schemas.StatusChangedTopic, Partition: p}
		switch {
		case len(rows) == 0 || len(log) > 0 && log[0].offset < rows[0].offset:
			d.Kind, d.Offset = Missing, log[0].offset
			if log[0].expired {
				d.Kind = ""
				expired++
			}
			log = log[1:]
		case len(log) == 0 || rows[0].offset < log[0].offset:
			d.Kind, d.Offset = Extra, rows[0].offset
			rows = rows[1:]
		default:
			if log[0].hash != rows[0].hash {
				d.Kind, d.Offset = Changed, log[0].offset
				if v.o.Difference != nil && v.named < v.o.Explain {
					if d.Columns, err = v.explain(ctx, p, d.Offset); err != nil {
						return expired, err
					}
				}
			}
			log, rows = log[1:], rows[1:]
		}
		if d.Kind == "" {
			continue
		}
		if err := v.differ(d); err != nil {
			return expired, err
		}
	}
	return expired, nil
}
