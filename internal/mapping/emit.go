package mapping

import (
	"bytes"
	"strconv"
)

// postpone keeps a row, with the values of the elements that end before it is
// written, until the element that it waits for ends.
func (x *reading) postpone(p *pendingRow) error {
	r := p.rule
	p.values, p.set = make([][]byte, len(r.columns)), make([]bool, len(r.columns))
	for i, s := range r.columns {
		if s.depth <= r.emit {
			continue
		}
		if v := &x.frames[s.depth].values[s.slot]; v.set {
			p.values[i], p.set[i] = bytes.Clone(v.buf), true
			x.waitingBytes += len(v.buf)
		}
	}
	holder := &x.frames[r.emit]
	holder.pending = append(holder.pending, *p)
	if x.waiting++; x.waiting > maxPending || x.waitingBytes > maxPendingBytes {
		return x.wrong(TooLarge, holder.line, holder.column, "the element %s holds more than %d rows or %d bytes", holder.node.name, maxPending, maxPendingBytes)
	}
	return nil
}

// emit writes a row.
func (x *reading) emit(p *pendingRow) error {
	r, t := p.rule, p.rule.table
	line := append(append(x.line[:0], x.position...), '\t')
	x.row.Record = 0
	if r.record != nil {
		x.row.Record = x.frames[r.record.node.depth].ordinal
		if t.Under != nil {
			line = append(strconv.AppendInt(line, int64(x.row.Record), 10), '\t')
		}
	}
	line = strconv.AppendInt(line, int64(p.ordinal), 10)
	if t.HasParentColumn {
		line = strconv.AppendInt(append(line, '\t'), int64(p.parent), 10)
	}
	line = strconv.AppendInt(append(line, '\t'), int64(p.line), 10)
	values := len(line)
	for i := range t.Columns {
		s := &r.columns[i]
		if s.depth < 0 {
			line = append(line, '\t')
			if s.literal != nil {
				line = append(line, s.literal...)
			} else {
				line = append(line, '\\', 'N')
			}
			continue
		}
		text, set := x.column(p, i)
		if !set {
			line = append(line, '\t', '\\', 'N')
			continue
		}
		var err error
		if line, err = x.field(append(line, '\t'), p, &t.Columns[i], text); err != nil {
			return err
		}
	}
	line = append(line, '\n')
	x.line = line
	if r.record != nil {
		x.print(p, x.row.Record, line[values:])
	}
	x.row.Table, x.row.Line, x.row.Ordinal, x.row.SourceLine = t, line, p.ordinal, p.line
	return x.sink.Row(&x.row)
}

// column returns the text of a row's column that is no literal.
func (x *reading) column(p *pendingRow, i int) ([]byte, bool) {
	s := &p.rule.columns[i]
	var text []byte
	var set bool
	if p.values != nil && s.depth > p.rule.emit {
		text, set = p.values[i], p.set[i]
	} else {
		v := &x.frames[s.depth].values[s.slot]
		text, set = v.buf, v.set
	}
	if set && p.rule.table.Columns[i].zone {
		text = zoneOf(text)
		set = len(text) > 0
	}
	return text, set
}

// field appends a column's value as COPY takes it.
func (x *reading) field(line []byte, p *pendingRow, c *Column, text []byte) ([]byte, error) {
	if c.Type == "text" && !c.short {
		return escape(line, text), nil
	}
	var err error
	if x.value, err = x.convert(x.value[:0], p, c, text); err != nil {
		return line, err
	}
	return escape(line, x.value), nil
}

// convert appends a column's value as Postgres reads it.
func (x *reading) convert(dst []byte, p *pendingRow, c *Column, text []byte) ([]byte, error) {
	if c.list {
		dst = append(dst, '{')
		for first := true; len(text) > 0; first = false {
			to := bytes.IndexByte(text, 0)
			if c.short && to > maxShort {
				return dst, x.tooLong(p, c, text[:to])
			}
			if !first {
				dst = append(dst, ',')
			}
			dst = arrayElement(dst, text[:to])
			text = text[to+1:]
		}
		return append(dst, '}'), nil
	}
	if c.short && len(text) > maxShort && c.Type == "text" {
		return dst, x.tooLong(p, c, text)
	}
	dst, expected := c.convert(dst, text)
	if expected != "" {
		return dst, x.wrong(ValueRange, p.line, p.column, "%s is %.60q, but the warehouse can hold %s there", c.Name, text, expected)
	}
	return dst, nil
}

func (x *reading) tooLong(p *pendingRow, c *Column, text []byte) error {
	return x.wrong(ValueRange, p.line, p.column, "%s is %.60q… of %d bytes, but it may be a text of at most %d bytes", c.Name, text, len(text), maxShort)
}
