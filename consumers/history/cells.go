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
	err := (&reader{codec: h.codec}).write(&c, topic, rec)
	return c.row, err
}

// cells is a rowWriter that keeps a row as values that clickhouse-go takes.
type cells struct{ row []any }

func (c *cells) add(v any)                       { c.row = append(c.row, v) }
func (c *cells) text(_ string, s string)         { c.add(s) }
func (c *cells) word(_ string, s string)         { c.add(s) }
func (c *cells) number8(_ string, n uint8)       { c.add(n) }
func (c *cells) number32(_ string, n int32)      { c.add(n) }
func (c *cells) number64(_ string, n int64)      { c.add(n) }
func (c *cells) identity(_ string, id uuid.UUID) { c.add(id) }
func (c *cells) moment(_ string, t time.Time)    { c.add(bounded(t)) }
func (c *cells) list(_ string, v any)            { c.add(v) }

func (c *cells) optionalID(_ string, s string) {
	var id *uuid.UUID
	if s != "" {
		u := identity(s)
		id = &u
	}
	c.add(id)
}

func (c *cells) optionalMoment(_ string, t *time.Time) { c.add(moment(t)) }

// columns are the names of the columns of a row, in their order.
func columns() []string {
	var n names
	writeRow(&n, "", &kgo.Record{}, &schemas.Message{}, &schemas.StatusChanged{}, "")
	return n
}

// columnList is columns as a statement lists them.
func columnList() string { return strings.Join(columns(), ", ") }

// names is a rowWriter that keeps the names of the columns.
type names []string

func (n *names) add(column string)                          { *n = append(*n, column) }
func (n *names) text(column string, _ string)               { n.add(column) }
func (n *names) word(column string, _ string)               { n.add(column) }
func (n *names) number8(column string, _ uint8)             { n.add(column) }
func (n *names) number32(column string, _ int32)            { n.add(column) }
func (n *names) number64(column string, _ int64)            { n.add(column) }
func (n *names) identity(column string, _ uuid.UUID)        { n.add(column) }
func (n *names) optionalID(column string, _ string)         { n.add(column) }
func (n *names) moment(column string, _ time.Time)          { n.add(column) }
func (n *names) optionalMoment(column string, _ *time.Time) { n.add(column) }
func (n *names) list(column string, _ any)                  { n.add(column) }
