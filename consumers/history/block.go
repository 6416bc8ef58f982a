package history

import (
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// block is a rowWriter that keeps rows column by column, in the form that
// clickhouse-go takes as a whole. Handing rows over one by one takes longer, most
// of it for boxes around values and for columns that grow. A block is used again
// and again.
type block struct {
	columns []blockColumn
	at      int // the column that comes next
	rows    int
	boxed   map[string]any // words seen, each in its box
}

// blockColumn is a column of a block; one of its slices is used.
type blockColumn struct {
	strings []string
	bytes   []uint8
	ints    []int32
	longs   []int64
	ids     []uuid.UUID
	times   []time.Time
	nulls   []bool // of ids or times, where there may be none
	boxes   []any  // words; and lists and maps, which are handed over one by one
}

// mostBoxed bounds how many different words are kept in boxes.
const mostBoxed = 10_000

// blockRows is how many rows an insert gathers before the driver takes them, in whose own
// columns they wait: so what they are gathered in stays small, and is used again.
const blockRows = 1000

func newBlock() *block { return &block{boxed: map[string]any{}} }

// next is the column that comes next.
func (b *block) next() *blockColumn {
	if b.at == len(b.columns) {
		b.columns = append(b.columns, blockColumn{})
	}
	b.at++
	return &b.columns[b.at-1]
}

// end ends a row.
func (b *block) end() {
	b.at = 0
	b.rows++
}

func (b *block) text(_ string, s string) {
	c := b.next()
	c.strings = append(c.strings, s)
}

func (b *block) word(_ string, s string) {
	c := b.next()
	c.boxes = append(c.boxes, b.box(s))
}

// box is a word in its box. A column of words takes nothing for an empty one.
func (b *block) box(s string) any {
	if s == "" {
		return nil
	}
	v, known := b.boxed[s]
	if !known {
		if len(b.boxed) == mostBoxed {
			clear(b.boxed)
		}
		v = s
		b.boxed[s] = v
	}
	return v
}

func (b *block) number8(_ string, n uint8) {
	c := b.next()
	c.bytes = append(c.bytes, n)
}

func (b *block) number32(_ string, n int32) {
	c := b.next()
	c.ints = append(c.ints, n)
}

func (b *block) number64(_ string, n int64) {
	c := b.next()
	c.longs = append(c.longs, n)
}

func (b *block) identity(_ string, id uuid.UUID) {
	c := b.next()
	c.ids = append(c.ids, id)
}

func (b *block) moment(_ string, t time.Time) {
	c := b.next()
	c.times = append(c.times, bounded(t))
}

func (b *block) optionalID(_ string, s string) {
	c := b.next()
	var id uuid.UUID
	if s != "" {
		id = identity(s)
	}
	c.ids, c.nulls = append(c.ids, id), append(c.nulls, s == "")
}

func (b *block) optionalMoment(_ string, t *time.Time) {
	c := b.next()
	var at time.Time
	if t != nil {
		at = bounded(*t)
	}
	c.times, c.nulls = append(c.times, at), append(c.nulls, t == nil)
}

func (b *block) list(_ string, v any) {
	c := b.next()
	c.boxes = append(c.boxes, v)
}

// appendTo hands the rows over to a batch whose columns are the same, and a
// column generation.
func (b *block) appendTo(batch driver.Batch, generation uint64) error {
	for i := range b.columns {
		if err := b.columns[i].appendTo(batch.Column(i)); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	generations := make([]uint64, b.rows)
	for i := range generations {
		generations[i] = generation
	}
	return batch.Column(len(b.columns)).Append(generations)
}

func (c *blockColumn) appendTo(to driver.BatchColumn) error {
	switch {
	case c.strings != nil:
		return to.Append(c.strings)
	case c.bytes != nil:
		return to.Append(c.bytes)
	case c.ints != nil:
		return to.Append(c.ints)
	case c.longs != nil:
		return to.Append(c.longs)
	case c.nulls != nil && c.ids != nil:
		return to.Append(pointers(c.ids, c.nulls))
	case c.nulls != nil:
		return to.Append(pointers(c.times, c.nulls))
	case c.ids != nil:
		return to.Append(c.ids)
	case c.times != nil:
		return to.Append(c.times)
	}
	for _, v := range c.boxes {
		if err := to.AppendRow(v); err != nil {
			return err
		}
	}
	return nil
}

// pointers are pointers to values, nil where a value is null.
func pointers[T any](values []T, nulls []bool) []*T {
	out := make([]*T, len(values))
	for i := range values {
		if !nulls[i] {
			out[i] = &values[i]
		}
	}
	return out
}

// reset forgets the rows and keeps the memory.
func (b *block) reset() {
	b.at, b.rows = 0, 0
	for i := range b.columns {
		c := &b.columns[i]
		clear(c.strings)
		clear(c.boxes)
		*c = blockColumn{c.strings[:0], c.bytes[:0], c.ints[:0], c.longs[:0], c.ids[:0], c.times[:0], c.nulls[:0], c.boxes[:0]}
	}
}
