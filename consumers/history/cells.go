package history

import (
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// row is a record's row.
func (h *History) row(topic string, rec *kgo.Record) ([]any, error) {
	c := cells{row: make([]any, 0, 80)}
	err := (&reader{codec: h.codec}).write(&c, topic, rec)
	return c.row, err
}

// cells is a rowWriter that keeps a row as values that clickhouse-go takes.
type cells struct{ row []any }

func (c *cells) add(v any)             { c.row = append(c.row, v) }
func (c *cells) text(s string)         { c.add(s) }
func (c *cells) word(s string)         { c.add(s) }
func (c *cells) number8(n uint8)       { c.add(n) }
func (c *cells) number32(n int32)      { c.add(n) }
func (c *cells) number64(n int64)      { c.add(n) }
func (c *cells) identity(id uuid.UUID) { c.add(id) }
func (c *cells) moment(t time.Time)    { c.add(bounded(t)) }
func (c *cells) list(v any)            { c.add(v) }

func (c *cells) optionalID(s string) {
	var id *uuid.UUID
	if s != "" {
		u := identity(s)
		id = &u
	}
	c.add(id)
}

func (c *cells) optionalMoment(t *time.Time) { c.add(moment(t)) }
