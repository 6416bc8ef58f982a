package xsdcheck

import (
	"bytes"
	"fmt"
)

// Limits that the engine (v0.3.0) doesn't have, and that keep a document from
// taking the time or the memory of others.
const (
	// maxDeclarations is how many namespace declarations may be in force at a
	// place. The engine looks through all of them at every tag, so that thousands
	// make it a thousand times slower.
	maxDeclarations = 200
	// maxTag is how many bytes a start tag may have. The engine keeps names, and
	// values of some attributes, in every finding.
	maxTag = 256 << 10
	// maxTagName is how many bytes may follow one another in a start tag outside
	// of values: the longest name.
	maxTagName = 8 << 10
)

// tagError ends the reading of a document that goes beyond these limits.
type tagError struct{ message string }

func (e *tagError) Error() string { return e.message }

// guard looks at the tags of a document while it is read. It knows just enough of
// XML for that, and no more: what isn't well-formed is for the engine to find.
type guard struct {
	state  lexState
	quote  byte
	seen   int  // of "xmlns", of "-->", "]]>" or "?>", or of what follows "<!"
	slash  bool // the last byte of the tag was one
	size   int  // bytes of this tag
	run    int  // bytes of this tag since the last value
	here   int  // declarations in this tag
	depth  int
	scopes []declared
	force  int // declarations in force
}

// declared is an open element that has declarations.
type declared struct{ depth, count int }

type lexState int

const (
	inText lexState = iota
	inMarkup
	inTag
	inQuote
	inEndTag
	inBang
	inComment
	inCDATA
	inInstruction
)

// advance reads on. It returns an error where the document goes beyond a limit, and
// how many bytes there are until then.
func (g *guard) advance(b []byte) (int, error) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch g.state {
		case inText:
			next := bytes.IndexByte(b[i:], '<')
			if next < 0 {
				return len(b), nil
			}
			i += next
			g.state = inMarkup
		case inMarkup:
			g.begin(c)
			if g.state == inTag {
				i += g.plain(b[i:])
			}
		case inTag:
			from := i
			i = g.tag(b, i)
			g.size += i - from + 1
			if err := g.limit(); err != nil {
				return min(i+1, len(b)), err
			}
		case inQuote:
			next := bytes.IndexByte(b[i:], g.quote)
			if next < 0 {
				g.size += len(b) - i
				return len(b), g.limit()
			}
			i += next
			g.size += next + 1
			g.state = inTag
		case inEndTag:
			next := bytes.IndexByte(b[i:], '>')
			if next < 0 {
				return len(b), nil
			}
			i += next
			g.leave()
			g.state = inText
		case inBang:
			g.bang(c)
		case inComment:
			i = g.until(b, i, '-', 2)
		case inCDATA:
			i = g.until(b, i, ']', 2)
		case inInstruction:
			i = g.until(b, i, '?', 1)
		}
	}
	return len(b), nil
}

func (g *guard) limit() error {
	switch {
	case g.force+g.here > maxDeclarations:
		return &tagError{fmt.Sprintf("more than %d namespace declarations (xmlns) are in force here: declare only what is used", maxDeclarations)}
	case g.size > maxTag:
		return &tagError{fmt.Sprintf("a start tag with its attributes is longer than %d bytes", maxTag)}
	case g.run > maxTagName:
		return &tagError{fmt.Sprintf("a name, or the space in a start tag, is longer than %d bytes", maxTagName)}
	}
	return nil
}

// begin meets what follows a <.
func (g *guard) begin(c byte) {
	g.seen, g.here, g.size, g.run, g.slash = 0, 0, 1, 1, false
	switch c {
	case '/':
		g.state = inEndTag
	case '!':
		g.state = inBang
	case '?':
		g.state = inInstruction
	default:
		g.state = inTag
	}
}

// plain passes over a start tag that is there whole and without declarations or
// single quotes, which is most of them, and quicker than tag. It returns how far
// it got after the first byte.
func (g *guard) plain(b []byte) int {
	size := bytes.IndexByte(b, '>')
	if size < 1 || size > maxTagName {
		return 0
	}
	inside := b[:size]
	if bytes.Count(inside, []byte{'"'})%2 != 0 || bytes.IndexByte(inside, '\'') >= 0 || bytes.Contains(inside, []byte("xmlns")) {
		return 0
	}
	g.slash = inside[size-1] == '/'
	g.enter()
	g.state = inText
	return size
}

// tag meets a start tag outside of values, from b[i] on. It returns where it
// stopped.
func (g *guard) tag(b []byte, i int) int {
	const word = "xmlns"
	for ; i < len(b); i++ {
		g.run++
		c := b[i]
		switch c {
		case '"', '\'':
			g.state, g.quote, g.seen, g.run, g.slash = inQuote, c, 0, 0, false
			return i
		case '>':
			g.enter()
			g.state = inText
			return i
		case word[g.seen]:
			if g.seen++; g.seen == len(word) {
				g.here++
				g.seen = 0
			}
		case word[0]:
			g.seen = 1
		default:
			g.seen = 0
		}
		g.slash = c == '/'
		if g.run > maxTagName {
			return i
		}
	}
	return i
}

// enter goes into the element of the tag that ended.
func (g *guard) enter() {
	if g.slash {
		g.here = 0
		return
	}
	g.depth++
	if g.here > 0 {
		g.scopes = append(g.scopes, declared{g.depth, g.here})
		g.force += g.here
		g.here = 0
	}
}

// leave goes out of an element.
func (g *guard) leave() {
	if last := len(g.scopes) - 1; last >= 0 && g.scopes[last].depth == g.depth {
		g.force -= g.scopes[last].count
		g.scopes = g.scopes[:last]
	}
	g.depth--
}

// bang tells a comment from CDATA by the first byte; of a comment the second is
// passed over, so that <!--> is not a whole one.
func (g *guard) bang(c byte) {
	switch {
	case g.seen == 1:
		g.state, g.seen = inComment, 0
	case c == '-':
		g.seen = 1
	case c == '[':
		g.state, g.seen = inCDATA, 0
	default:
		g.state, g.seen = inInstruction, 0 // a DOCTYPE, which is refused
	}
}

// until looks for n marks and a > from b[i] on. It returns where it stopped.
func (g *guard) until(b []byte, i int, mark byte, n int) int {
	if g.seen == 0 {
		next := bytes.IndexByte(b[i:], mark)
		if next < 0 {
			return len(b)
		}
		i += next
	}
	switch {
	case b[i] == mark:
		g.seen = min(g.seen+1, n)
	case b[i] == '>' && g.seen == n:
		g.state = inText
	default:
		g.seen = 0
	}
	return i
}
