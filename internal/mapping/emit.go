package mapping

import (
	"bytes"
	"crypto/sha1"
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
	line = strconv.AppendInt(line, int64(p.ordinal), 10)
	if t.Parent != nil {
		line = strconv.AppendInt(append(line, '\t'), int64(p.parent), 10)
	}
	if t.Claims {
		x.key = x.key[:0]
		hash := sha1.New()
		hash.Write([]byte(t.Name))
		for _, i := range r.key {
			text, set := x.column(p, i)
			if err := x.convert(p, i, text, set); err != nil {
				return err
			}
			var mark [12]byte // presence and length, so that no two keys look alike
			if set {
				mark[0] = '='
			}
			hash.Write(append(strconv.AppendInt(mark[:1], int64(len(x.field)), 10), ':'))
			hash.Write(x.field)
			if len(x.key) > 0 {
				x.key = append(x.key, ' ')
			}
			x.key = append(x.key, x.field...)
		}
		sum := hash.Sum(nil)
		copy(x.row.Claim[:], sum)
		line = strconv.AppendInt(append(line, '\t'), int64(p.line), 10)
		line = strconv.AppendInt(append(line, '\t'), int64(p.column), 10)
		line = appendUUID(append(line, '\t'), x.row.Claim)
		if x.doc.Tombstone {
			line = append(line, "\tt\tf"...)
		} else {
			line = append(line, "\tf\tt"...)
		}
	}
	for i := range t.Columns {
		text, set := x.column(p, i)
		if !set {
			line = append(line, "\t\\N"...)
			continue
		}
		if err := x.convert(p, i, text, set); err != nil {
			return err
		}
		line = escape(append(line, '\t'), x.field)
	}
	line = append(line, '\n')
	x.line = line
	x.row.Table, x.row.Line, x.row.Key, x.row.SourceLine, x.row.SourceColumn = t, x.line, x.key, p.line, p.column
	return x.sink(&x.row)
}

// column returns the text of a row's column.
func (x *reading) column(p *pendingRow, i int) ([]byte, bool) {
	s := &p.rule.columns[i]
	switch {
	case s.depth < 0:
		x.scratch = append(x.scratch[:0], s.literal...)
		return x.scratch, s.literal != ""
	case p.values != nil && s.depth > p.rule.emit:
		return p.values[i], p.set[i]
	}
	v := &x.frames[s.depth].values[s.slot]
	return v.buf, v.set
}

// convert puts a column's value, as Postgres reads it, into x.field.
func (x *reading) convert(p *pendingRow, i int, text []byte, set bool) error {
	x.field = x.field[:0]
	if !set {
		return nil
	}
	c := &p.rule.table.Columns[i]
	if c.list {
		x.field = append(x.field, '{')
		for len(text) > 0 {
			to := bytes.IndexByte(text, 0)
			if len(x.field) > 1 {
				x.field = append(x.field, ',')
			}
			x.field = arrayElement(x.field, text[:to])
			text = text[to+1:]
		}
		x.field = append(x.field, '}')
		return nil
	}
	var expected string
	if x.field, expected = c.convert(x.field, text); expected != "" {
		return x.wrong(ValueRange, p.line, p.column, "%s is %.60q, but the warehouse can hold %s there", c.Name, text, expected)
	}
	return nil
}

func appendUUID(dst []byte, id Claim) []byte {
	const hex = "0123456789abcdef"
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hex[b>>4], hex[b&15])
	}
	return dst
}
