package mapping

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// printed is how many bytes of a record are hashed at a time.
const printed = 4 << 10

// print adds a row to its record's fingerprint: its table, its ordinal and its
// parent's, both relative to the record's, and its values. The values are as
// COPY takes them, which no other values look like. Its line, relative to the
// record's, is no content: it goes into the layout.
func (x *reading) print(p *pendingRow, record int32, values []byte) {
	b := x.prints
	b = append(append(b, p.rule.table.Name...), '\t')
	b = binary.AppendUvarint(b, uint64(p.ordinal-record))
	parent := p.parent - record
	if p.rule.table.Record {
		parent = 0 // lies outside
	}
	b = binary.AppendUvarint(b, uint64(parent))
	b = append(b, values...)
	// FNV-1a's step, over lines: 16777619 is its prime for 32 bits.
	x.layout = (x.layout ^ uint32(p.line-x.frames[p.rule.record.node.depth].line)) * 16777619
	if len(b) >= printed {
		x.hash.Write(b)
		b = b[:0]
	}
	x.prints = b
}

// record hands on a record whose element, and all rows in it, have been read.
func (x *reading) endRecord(f *frame, r *rule) error {
	rec := &x.record
	x.hash.Write(x.prints)
	x.prints = x.prints[:0]
	x.sum = x.hash.Sum(x.sum[:0])
	copy(rec.Fingerprint[:], x.sum)
	x.hash.Reset()
	rec.Layout, x.layout = int32(x.layout), 0

	p := &x.own
	*p = pendingRow{rule: r, ordinal: f.ordinal, line: f.line, column: f.column}
	// The key's fields are one string, cut into pieces.
	x.value, x.ends = x.value[:0], x.ends[:0]
	for _, i := range r.key {
		text, set := x.keyColumn(p, i)
		if !set {
			x.ends = append(x.ends, -1)
			continue
		}
		var err error
		if x.value, err = x.convert(x.value, p, &r.table.Columns[i], text); err != nil {
			return err
		}
		x.ends = append(x.ends, len(x.value))
	}
	rec.Key = cut(string(x.value), x.ends)
	x.hashed = appendKey(x.hashed[:0], r.table.Name, rec.Key)
	rec.Claim = claimOf(x.hashed)
	rec.Subject = ""
	if i := r.table.Subject; i >= 0 {
		if text, set := x.keyColumn(p, i); set {
			if string(text) != x.subject {
				x.subject = string(text)
			}
			rec.Subject = x.subject
		}
	}
	rec.Table, rec.Ordinal, rec.Line, rec.Column = r.table, f.ordinal, f.line, f.column
	rec.ByteFrom, rec.ByteTo = f.from, x.tokens.offset()
	return x.sink.Record(rec)
}

// keyColumn is column for a record's own row, literals included.
func (x *reading) keyColumn(p *pendingRow, i int) ([]byte, bool) {
	s := &p.rule.columns[i]
	if s.depth < 0 {
		x.scratch = append(x.scratch[:0], s.word...)
		return x.scratch, s.word != ""
	}
	return x.column(p, i)
}

// cut makes a key of a text and the ends of its pieces; -1 is an absent one.
func cut(text string, ends []int) []*string {
	pieces, key := make([]string, len(ends)), make([]*string, len(ends))
	from := 0
	for i, to := range ends {
		if to >= 0 {
			pieces[i] = text[from:to]
			key[i] = &pieces[i]
			from = to
		}
	}
	return key
}

// appendKey appends what a claim is the hash of: the table and, for each column
// of the key, whether it is there, its length and its value, so that no two
// keys look alike.
func appendKey(dst []byte, table string, key []*string) []byte {
	dst = append(append(dst, table...), 0)
	for _, field := range key {
		if field == nil {
			dst = append(dst, "-0:"...)
			continue
		}
		dst = strconv.AppendInt(append(dst, '='), int64(len(*field)), 10)
		dst = append(append(dst, ':'), *field...)
	}
	return dst
}

func claimOf(hashed []byte) (id [16]byte) {
	sum := sha256.Sum256(hashed)
	copy(id[:], sum[:])
	return id
}

// Claim returns the identity of a natural key of a record table, given as
// people write it or as Record.Key has it: lists as "{a,b}" or, with one
// element, as that. An error says what keys of the table look like.
func (m *Mapping) Claim(table string, key []*string) ([16]byte, error) {
	t := m.Table(table)
	if t == nil || !t.Record {
		var names []string
		for _, t := range m.Records() {
			names = append(names, t.Name)
		}
		return ID{}, fmt.Errorf("%q is not a table of records: the profile has %s", table, strings.Join(names, ", "))
	}
	var found []ID
	var forms []string
	var wrong error
	for _, k := range m.order {
		for _, r := range k.rules {
			if r.table != t {
				continue
			}
			if form := r.keyForm(); !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
			fields, err := r.keyFields(key)
			if err != nil {
				wrong = err
			}
			if fields == nil {
				continue
			}
			if id := claimOf(appendKey(nil, t.Name, fields)); !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && wrong != nil:
		return ID{}, wrong
	}
	return ID{}, fmt.Errorf("a key of %s is made of %s", table, strings.Join(forms, "; or of "))
}

// keyForm says what the keys of a rule's records are made of.
func (r *rule) keyForm() string {
	var words []string
	for _, i := range r.key {
		word := r.table.Columns[i].Name
		if r.columns[i].word != "" {
			word += " (" + r.columns[i].word + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// keyFields converts a key as given to one as read. Both results are nil if it
// is not a key of the rule's records.
func (r *rule) keyFields(key []*string) ([]*string, error) {
	if len(key) != len(r.key) {
		return nil, nil
	}
	out := make([]*string, len(key))
	for n, i := range r.key {
		c := &r.table.Columns[i]
		if key[n] == nil {
			if r.columns[i].word != "" {
				return nil, nil
			}
			continue
		}
		field, err := c.fromKey(*key[n])
		if err != nil {
			return nil, err
		}
		if word := r.columns[i].word; word != "" {
			if w, _ := c.convert(nil, []byte(word)); string(w) != field {
				return nil, nil
			}
		}
		out[n] = &field
	}
	return out, nil
}

// fromKey converts the text of a column as people or Postgres write it.
func (c *Column) fromKey(text string) (string, error) {
	switch {
	case c.list:
		list, ok := parseArray(text)
		if !ok {
			list = []string{text}
		}
		field := []byte{'{'}
		for i, element := range list {
			if i > 0 {
				field = append(field, ',')
			}
			field = arrayElement(field, []byte(element))
		}
		return string(append(field, '}')), nil
	case c.Type == "boolean" && (text == "t" || text == "f"):
		return text, nil
	}
	field, expected := c.convert(nil, []byte(text))
	if expected != "" {
		return "", fmt.Errorf("%s is %.60q, which is not %s", c.Name, text, expected)
	}
	return string(field), nil
}
