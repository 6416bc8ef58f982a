package mapping

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// decode appends the characters of raw to dst: references are resolved, line
// ends normalised and, in an attribute, white space made blanks.
func (t *tokens) decode(dst, raw []byte, attr, literal bool) ([]byte, error) {
	if ordinary(raw) {
		return append(dst, raw...), nil
	}
	from := len(dst)
	if bytes.IndexByte(raw, '\r') < 0 && (literal || bytes.IndexByte(raw, '&') < 0) && (!attr || !bytes.ContainsAny(raw, "\t\n")) {
		dst = append(dst, raw...)
		return dst, t.checkText(dst[from:])
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '&' && !literal:
			end := bytes.IndexByte(raw[i:], ';')
			if end < 0 {
				return dst, t.wrong("a reference does not end")
			}
			var err error
			if dst, err = t.reference(dst, string(raw[i+1:i+end])); err != nil {
				return dst, err
			}
			i += end
		case c == '\r':
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
			if attr {
				dst = append(dst, ' ')
			} else {
				dst = append(dst, '\n')
			}
		case attr && (c == '\t' || c == '\n'):
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst, t.checkText(dst[from:])
}

// ordinary says that a text is what it is wherever it stands: visible ASCII
// and blanks, without references.
func ordinary(raw []byte) bool {
	for _, c := range raw {
		if c < ' ' || c >= utf8.RuneSelf || c == '&' {
			return false
		}
	}
	return true
}

func (t *tokens) checkText(text []byte) error {
	if !utf8.Valid(text) {
		return t.wrong("bytes that are not UTF-8")
	}
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return t.wrong("a control character that XML does not allow")
		}
	}
	return nil
}

func (t *tokens) reference(dst []byte, name string) ([]byte, error) {
	switch name {
	case "lt":
		return append(dst, '<'), nil
	case "gt":
		return append(dst, '>'), nil
	case "amp":
		return append(dst, '&'), nil
	case "quot":
		return append(dst, '"'), nil
	case "apos":
		return append(dst, '\''), nil
	}
	if len(name) > 1 && name[0] == '#' {
		digits, base := name[1:], 10
		if digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		if n, err := strconv.ParseUint(digits, base, 32); err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) && n > 0 {
			return utf8.AppendRune(dst, rune(n)), nil
		}
	}
	return dst, t.wrong("the reference &%.20s; is not known", name)
}
