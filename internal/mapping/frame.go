package mapping

// value is what a capture read.
type value struct {
	set bool
	buf []byte // elements of a list end in a zero byte
}

// frame is an open element.
type frame struct {
	node    *node
	values  []value
	ordinal int32 // of the row that it makes
	pending []pendingRow
	text    []byte
	line    int
	column  int
	from    int64 // where it begins
}

// pendingRow is a row to be written, now or at the end of an enclosing element.
type pendingRow struct {
	rule    *rule
	ordinal int32
	parent  int32
	line    int
	column  int
	values  [][]byte // nil where it is absent, or taken when it is written
	set     []bool
}

func (f *frame) open(n *node, t *tokens) {
	f.node, f.line, f.column, f.from = n, t.tagLine, t.tagColumn, t.tagOffset
	f.pending, f.text = f.pending[:0], f.text[:0]
	for len(f.values) < len(n.lists) {
		f.values = append(f.values, value{})
	}
	for i := range n.lists {
		f.values[i].set, f.values[i].buf = false, f.values[i].buf[:0]
	}
}
