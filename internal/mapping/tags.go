package mapping

import "bytes"

func local(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

// trimRight takes white space from the end of a name.
func trimRight(name []byte) []byte {
	for len(name) > 0 && blank(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func (t *tokens) endTag() error {
	to, err := t.find(2, []byte{'>'}, "a tag")
	if err != nil {
		return err
	}
	name := trimRight(t.buf[t.pos+2 : to-1])
	t.name = local(name)
	err = t.pop(name)
	t.advance(to)
	return err
}

func (t *tokens) pop(name []byte) error {
	if len(t.marks) == 0 {
		return t.wrong("an end tag without a beginning")
	}
	last := t.marks[len(t.marks)-1]
	if open := t.open[last:]; !bytes.Equal(open, name) && !bytes.Equal(local(open), local(name)) {
		return t.wrong("element %s ends as %s", t.open[last:], name)
	}
	t.open, t.marks = t.open[:last], t.marks[:len(t.marks)-1]
	return nil
}

// startTag reads a start tag. The attributes' values are decoded when asked.
func (t *tokens) startTag() error {
	at, quote := t.pos+1, byte(0)
	for {
		if at == t.end {
			off := at - t.pos
			if err := t.more("a tag"); err != nil {
				return err
			}
			at = t.pos + off
		}
		if quote != 0 {
			if i := bytes.IndexByte(t.buf[at:t.end], quote); i >= 0 {
				at, quote = at+i+1, 0
			} else {
				at = t.end
			}
			continue
		}
		c := t.buf[at]
		if c == '>' {
			break
		}
		switch c {
		case '"', '\'':
			quote = c
		case '<':
			return t.wrong("a tag within a tag")
		}
		at++
	}
	body := t.buf[t.pos+1 : at]
	t.tagLine, t.tagColumn, t.tagOffset = t.line, t.column(), t.offset()
	if t.selfClose = len(body) > 0 && body[len(body)-1] == '/'; t.selfClose {
		body = body[:len(body)-1]
	}
	if err := t.takeTag(body); err != nil {
		return err
	}
	t.advance(at + 1)
	return nil
}

func (t *tokens) takeTag(body []byte) error {
	n := 0
	for n < len(body) && !blank(body[n]) {
		n++
	}
	if n == 0 {
		return t.wrong("a tag without a name")
	}
	if len(t.marks) == 0 {
		if t.roots++; t.roots > 1 {
			return t.wrong("a second root element")
		}
	}
	if len(t.marks) == maxDepth {
		return t.wrong("elements are nested more than %d deep", maxDepth)
	}
	t.marks = append(t.marks, len(t.open))
	t.open = append(t.open, body[:n]...)
	t.name, t.attrs = local(body[:n]), t.attrs[:0]
	for rest := body[n:]; ; {
		for len(rest) > 0 && blank(rest[0]) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		eq := bytes.IndexByte(rest, '=')
		if eq < 1 {
			return t.wrong("an attribute without a value")
		}
		name := trimRight(rest[:eq])
		rest = rest[eq+1:]
		for len(rest) > 0 && blank(rest[0]) {
			rest = rest[1:]
		}
		if len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
			return t.wrong("the value of attribute %s is not quoted", name)
		}
		to := bytes.IndexByte(rest[1:], rest[0])
		if to < 0 {
			return t.wrong("the value of attribute %s does not end", name)
		}
		if bytes.IndexByte(name, ':') < 0 && !bytes.HasPrefix(name, []byte("xmlns")) {
			t.attrs = append(t.attrs, attribute{name: name, raw: rest[1 : 1+to]})
		}
		rest = rest[to+2:]
	}
}
