package history

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
	historysql "tributary/sql/history"
)

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
	at := interval{i.from, v.end(i, i.from)}
	var got []hashed
	next := func() error {
		err := v.span(ctx, p, at, got)
		got = got[:0]
		at = interval{at.to, v.end(i, at.to)}
		return err
	}
	err := readLog(ctx, v.h.deps.Connect, v.topic, map[int32]interval{p: i}, func(_ int32, records []*kgo.Record) error {
		hashes, err := v.hash(records)
		if err != nil {
			return err
		}
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
	for err == nil && at.from < i.to {
		err = next()
	}
	return err
}

// end is where the range that begins at an offset ends.
func (v *verification) end(i interval, from int64) int64 {
	return min(i.to, (from/v.o.Range+1)*v.o.Range)
}

// hash makes the rows of records, as the sink does, and takes their hashes.
func (v *verification) hash(records []*kgo.Record) ([]hashed, error) {
	out := make([]hashed, len(records))
	for i, rec := range records {
		row, err := v.h.row(schemas.StatusChangedTopic, rec)
		if err != nil {
			return nil, fmt.Errorf("partition %d at offset %d: %w", rec.Partition, rec.Offset, err)
		}
		out[i].offset = rec.Offset
		if out[i].hash, v.buf, err = hashRow(v.buf, row); err != nil {
			return nil, err
		}
		out[i].expired = !v.expired.IsZero() && rowTime(row).Before(v.expired)
		if err := v.sums.add(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// span compares one range.
func (v *verification) span(ctx context.Context, p int32, i interval, log []hashed) error {
	s := Span{Topic: schemas.StatusChangedTopic, Partition: p, From: i.from, To: i.to, LogRecords: uint64(len(log))}
	var want, have uint64
	for _, r := range log {
		want += r.hash
	}
	if err := v.conn.QueryRow(ctx, "SELECT count(), sum("+rowHash()+")"+inRange, v.args(p, i)...).Scan(&s.HistoryRows, &have); err != nil {
		return fmt.Errorf("checksum of the history: %w", err)
	}
	before := v.out.Differences
	if s.HistoryRows != s.LogRecords || want != have {
		rows, err := v.hashes(ctx, p, i, 0)
		if err != nil {
			return err
		}
		if s.Expired, err = v.compare(ctx, p, log, rows); err != nil {
			return err
		}
	}
	s.LogChecksum, s.HistoryChecksum = fmt.Sprintf("%016x", want), fmt.Sprintf("%016x", have)
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
