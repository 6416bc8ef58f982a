package history

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// row is a record's row.
func (h *History) row(topic string, rec *kgo.Record) ([]any, error) {
	c := cells{row: make([]any, 0, 80)}
	err := (&reader{codec: h.deps.Codec}).write(&c, topic, rec)
	return c.row, err
}

// cells is a rowWriter that keeps a row as values that clickhouse-go takes.
type cells struct {
	row     []any
	columns []string // their names, kept where this is not nil
}

func (c *cells) add(column string, v any) {
	c.row = append(c.row, v)
	if c.columns != nil {
		c.columns = append(c.columns, column)
	}
}

func (c *cells) text(column string, s string)         { c.add(column, s) }
func (c *cells) word(column string, s string)         { c.add(column, s) }
func (c *cells) number8(column string, n uint8)       { c.add(column, n) }
func (c *cells) number32(column string, n int32)      { c.add(column, n) }
func (c *cells) number64(column string, n int64)      { c.add(column, n) }
func (c *cells) identity(column string, id uuid.UUID) { c.add(column, id) }
func (c *cells) moment(column string, t time.Time)    { c.add(column, bounded(t)) }
func (c *cells) list(column string, v any)            { c.add(column, v) }

func (c *cells) optionalID(column string, s string) {
	var id *uuid.UUID
	if s != "" {
		u := identity(s)
		id = &u
	}
	c.add(column, id)
}

func (c *cells) optionalMoment(column string, t *time.Time) { c.add(column, moment(t)) }

// columns are the names of the columns of a row, in their order.
func columns() []string {
	c := cells{columns: make([]string, 0, 80)}
	writeRow(&c, "", &kgo.Record{}, &schemas.Message{}, &schemas.StatusChanged{}, "")
	return c.columns
}

// columnList is columns as a statement lists them.
func columnList() string { return strings.Join(columns(), ", ") }
