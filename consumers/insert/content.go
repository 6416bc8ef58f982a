package insert

import (
	"encoding/hex"
	"strconv"

	"tributary/internal/mapping"
	"tributary/schemas"
)

// content is the rows of a document, or of a part of it, gathered record by
// record, so that what the warehouse holds already can be left out.
type content struct {
	tables  [][]byte // by the table's index: lines for COPY
	claims  []byte   // lines for COPY, but for where the content lies
	records []record
	ends    []int // of each record's lines, in claims and then in each table
	rows    int64
	size    int // bytes of lines
}

// record is one record of a content.
type record struct {
	identity
	place       // where its content lies if it brings it
	parted bool // some of its rows were sent before the others
}

func newContent(tables int) *content { return &content{tables: make([][]byte, tables)} }

// row takes a row's line.
func (c *content) row(r *mapping.Row) {
	i := r.Table.Index
	c.tables[i] = append(c.tables[i], r.Line...)
	c.rows++
	c.size += len(r.Line)
}

// record takes a record whose rows are all here, or were sent before.
func (c *content) record(ev *schemas.DocumentOrdered, r *mapping.Record, parted bool) {
	before := len(c.claims)
	c.claims = appendClaim(c.claims, ev, r)
	c.size += len(c.claims) - before
	c.records = append(c.records, record{identity{r.Claim, r.Fingerprint, r.Layout}, place{ev.Position, r.Ordinal, r.Line}, parted})
	c.ends = append(c.ends, len(c.claims))
	for _, t := range c.tables {
		c.ends = append(c.ends, len(t))
	}
}

// lines returns the part of the i-th record in what is numbered like ends.
func (c *content) lines(i, column int, all []byte) []byte {
	n := len(c.tables) + 1
	from := 0
	if i > 0 {
		from = c.ends[(i-1)*n+column]
	}
	return all[from:c.ends[i*n+column]]
}

// claimColumns are those of warehouse.claim in the order of appendClaim and
// appendPlace.
const claimColumns = `position, ordinal, record_type, claim, centre, natural_key, subject, fingerprint, layout, line, col, byte_from, byte_to,
	tombstone, is_current, content_position, content_ordinal, line_shift`

// appendClaim appends a claim's line, but for its end: where its content lies.
// It arrives as the current one, unless it says that the key is gone; the
// election corrects that.
func appendClaim(dst []byte, ev *schemas.DocumentOrdered, r *mapping.Record) []byte {
	dst = strconv.AppendInt(dst, ev.Position, 10)
	dst = strconv.AppendInt(append(dst, '\t'), int64(r.Ordinal), 10)
	dst = append(append(dst, '\t'), r.Table.Name...)
	dst = appendID(append(dst, '\t'), r.Claim)
	dst = appendText(append(dst, '\t'), centreOf(ev))
	dst = appendKey(append(dst, '\t'), r.Key)
	dst = appendText(append(dst, '\t'), r.Subject)
	dst = appendID(append(dst, '\t'), r.Fingerprint)
	for _, n := range [...]int64{int64(r.Layout), int64(r.Line), int64(r.Column), r.ByteFrom, r.ByteTo} {
		dst = strconv.AppendInt(append(dst, '\t'), n, 10)
	}
	if ev.Action == schemas.Delete {
		return append(dst, "\tt\tf"...)
	}
	return append(dst, "\tf\tt"...)
}

// appendPlace ends the line of a claim, of a record that begins at a line, with
// where its content lies.
func appendPlace(dst []byte, line int, p place) []byte {
	for _, n := range [...]int64{p.position, int64(p.ordinal), int64(line - p.line)} {
		dst = strconv.AppendInt(append(dst, '\t'), n, 10)
	}
	return append(dst, '\n')
}

func appendID(dst []byte, id mapping.ID) []byte { return hex.AppendEncode(dst, id[:]) }

// appendKey appends an array of texts, escaped for COPY.
func appendKey(dst []byte, key []*string) []byte {
	dst = append(dst, '{')
	for i, field := range key {
		if i > 0 {
			dst = append(dst, ',')
		}
		if field == nil {
			dst = append(dst, "NULL"...)
			continue
		}
		dst = append(dst, '"')
		from := 0
		for to := range len(*field) {
			// A backslash for the array is two for COPY.
			switch (*field)[to] {
			case '"':
				dst = append(appendText(dst, (*field)[from:to]), `\\"`...)
				from = to + 1
			case '\\':
				dst = append(appendText(dst, (*field)[from:to]), `\\\\`...)
				from = to + 1
			}
		}
		dst = append(appendText(dst, (*field)[from:]), '"')
	}
	return append(dst, '}')
}
