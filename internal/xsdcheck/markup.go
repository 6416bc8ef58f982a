package xsdcheck

import (
	"bytes"
	"strings"
)

// after returns the size of what ends with mark; 0 if it doesn't end.
func after(b []byte, mark string) int {
	if i := bytes.Index(b, []byte(mark)); i >= 0 {
		return i + len(mark)
	}
	return 0
}

// tagSize returns the size of a start tag, whose values may contain any >.
func tagSize(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '>':
			return i + 1
		case '"', '\'':
			end := bytes.IndexByte(b[i+1:], b[i])
			if end < 0 {
				return 0
			}
			i += end + 1
		}
	}
	return 0
}

func nameSize(raw []byte) int {
	for i, b := range raw {
		switch b {
		case ' ', '\t', '\r', '\n', '/', '=':
			return i
		}
	}
	return len(raw)
}

func split(raw []byte) (prefix, local string) {
	prefix, local, found := strings.Cut(string(raw), ":")
	if !found {
		return "", prefix
	}
	return prefix, local
}

// attributes reads what follows the name in a start tag.
func attributes(raw []byte) []attribute {
	var all []attribute
	raw = raw[nameSize(raw):]
	for {
		raw = bytes.TrimLeft(raw, " \t\r\n/")
		size := nameSize(raw)
		if size == 0 {
			return all
		}
		prefix, local := split(raw[:size])
		raw = bytes.TrimLeft(raw[size:], " \t\r\n=")
		if len(raw) == 0 {
			return all
		}
		end := bytes.IndexByte(raw[1:], raw[0])
		if end < 0 {
			return all
		}
		all = append(all, attribute{prefix, local, string(raw[1 : 1+end])})
		raw = raw[end+2:]
	}
}

// offsets finds where lines and columns are in a text that is read from the
// beginning. They must be asked for in order.
type offsets struct {
	text  []byte
	line  int // of begin, from 1
	begin int
}

// at returns the offset of a place, or -1 if the text doesn't reach it.
func (o *offsets) at(line, column int) int {
	for o.line < line {
		i := bytes.IndexByte(o.text[o.begin:], '\n')
		if i < 0 {
			return -1
		}
		o.begin += i + 1
		o.line++
	}
	if at := o.begin + column - 1; o.line == line && at < len(o.text) {
		return max(at, 0)
	}
	return -1
}

// lineAndColumn is the inverse of at, for an offset in the text.
func lineAndColumn(text []byte, offset int) (line, column int) {
	before := text[:offset]
	return 1 + bytes.Count(before, []byte{'\n'}), offset - bytes.LastIndexByte(before, '\n')
}
