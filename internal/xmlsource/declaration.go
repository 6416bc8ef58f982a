package xmlsource

import "bytes"

func space(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// encodingOf finds the encoding that an XML declaration names: the extent of
// encoding="name" in decl, and the name. A declaration that breaks the grammar
// before that names nothing, and the parser refuses it.
func encodingOf(decl []byte) (start, end int, name string) {
	const open, closing = len("<?xml"), len("?>")
	if len(decl) < open+closing {
		return 0, 0, ""
	}
	limit := len(decl) - closing
	for i := open; i < limit; {
		if !space(decl[i]) {
			return 0, 0, ""
		}
		i = skipSpace(decl, i, limit)
		start = i
		for i < limit && decl[i] != '=' && !space(decl[i]) {
			i++
		}
		key := decl[start:i]
		i = skipSpace(decl, i, limit)
		if len(key) == 0 || i >= limit || decl[i] != '=' {
			return 0, 0, ""
		}
		i = skipSpace(decl, i+1, limit)
		if i >= limit || decl[i] != '"' && decl[i] != '\'' {
			return 0, 0, ""
		}
		length := bytes.IndexByte(decl[i+1:limit], decl[i])
		if length < 0 {
			return 0, 0, ""
		}
		value := decl[i+1 : i+1+length]
		i += length + 2
		if string(key) == "encoding" {
			return start, i, string(value)
		}
	}
	return 0, 0, ""
}

func skipSpace(b []byte, i, limit int) int {
	for i < limit && space(b[i]) {
		i++
	}
	return i
}
