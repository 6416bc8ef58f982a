package http

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"tributary/internal/remote"
)

// maxDepth is how deep elements of a feed, or of an answer of WebDAV, may lie in each
// other. It is fixed: feeds need ten.
const maxDepth = 100

// maxMarkup is how long a tag, a text between tags or a script may be in an
// index page, and an entry of one in JSON. It is fixed: an entry is shorter
// than a page's scripts.
const maxMarkup = 1 << 20

// markup reads XML that a server wrote, piece by piece: none is longer than maxMarkup.
// Entities that a document declares are not known, and nothing outside of it is read.
type markup struct {
	in    *sipped
	d     *xml.Decoder
	depth int
	begun bool // there is an element
}

func newMarkup(body io.Reader) *markup {
	m := &markup{in: &sipped{body: body, left: maxMarkup}}
	m.d = xml.NewDecoder(m.in)
	m.d.Entity = xml.HTMLEntity
	m.d.CharsetReader = charset.NewReaderLabel
	return m
}

// next returns the next piece, which is good until the one after.
func (m *markup) next() (xml.Token, error) {
	m.in.more()
	token, err := m.d.Token()
	if err != nil {
		return nil, err
	}
	switch token.(type) {
	case xml.StartElement:
		m.begun = true
		if m.depth++; m.depth > maxDepth {
			return nil, noIndex("its elements lie in each other more than %d deep", maxDepth)
		}
	case xml.EndElement:
		m.depth--
	}
	return token, nil
}

// text is what an element holds that has begun, up to its end, without what other
// elements in it hold. No more than remote.MaxPath bytes of it are kept.
func (m *markup) text() (string, error) {
	var b strings.Builder
	for inner := m.depth; m.depth >= inner; {
		token, err := m.next()
		if err != nil {
			return "", err
		}
		if some, ok := token.(xml.CharData); ok && m.depth == inner {
			b.Write(some[:min(len(some), max(0, remote.MaxPath-b.Len()))])
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// words is what an element holds that has begun, up to its end, with what the elements in
// it hold: a text may have markup. No more than remote.MaxPath bytes of it are kept.
func (m *markup) words() (string, error) {
	var b strings.Builder
	for inner := m.depth; m.depth >= inner; {
		token, err := m.next()
		if err != nil {
			return "", err
		}
		if some, ok := token.(xml.CharData); ok {
			b.Write(some[:min(len(some), max(0, remote.MaxPath-b.Len()))])
		}
	}
	return b.String(), nil
}

// person is what somebody is called that an element tells of, which has begun: RSS has a
// text there, Atom an element for the name.
func (m *markup) person() (string, error) {
	name, plain := "", ""
	for inner := m.depth; m.depth >= inner; {
		token, err := m.next()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "name" {
				name, err = m.text()
			}
		case xml.CharData:
			plain += string(t[:min(len(t), max(0, remote.MaxPath-len(plain)))])
		}
		if err != nil {
			return "", err
		}
	}
	return cmp.Or(name, plain), nil
}

// ended gives an error of reading XML its class. What ends within an element was cut.
func (m *markup) ended(body *IndexBody, err error) error {
	syntax := (*xml.SyntaxError)(nil)
	switch {
	case body.Err != nil:
		return body.Err
	case errors.Is(err, io.EOF) && m.depth == 0 && !m.begun:
		return noIndex("there is no XML in it")
	case errors.Is(err, io.EOF) && m.depth == 0:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF"):
		return &remote.Error{Class: remote.Connection, Err: errors.New("the connection ended within the listing")}
	case errors.As(err, new(*remote.Error)):
		return err
	}
	return noIndex("%w", err)
}

// attribute is the value of one, whatever its namespace; empty: there is none.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}
