package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

const (
	// maxPageKeys is how many keys a page is asked to have: what servers give at most.
	maxPageKeys = 1000
	// maxPage is how long a page may be, in bytes. It is fixed: one with the longest
	// keys that there are, percent-encoded, is half as long.
	maxPage = 8 << 20
	// maxPiece is how long a tag or a text in a page may be, in bytes. It is fixed: the
	// longest key, percent-encoded, has 3 KiB, and the longest token is in maxToken.
	maxPiece = 64 << 10
	// maxToken is how long the token may be by which a page is asked for, in bytes. It is
	// fixed: the longest are a key and some numbers, and it goes into the request's URL.
	maxToken = 8 << 10
	// maxBarren is how many pages may follow each other with nothing in them: a server
	// may pass over that many pages of deleted keys.
	maxBarren = 1000
	// maxNested is how deep elements may stand in each other. It is fixed: those of S3
	// stand four deep.
	maxNested = 16
)

// listQuestion is which keys are asked for.
type listQuestion struct {
	prefix, token string
	most          int
}

// listPage is what a page says of itself, and what it shows.
type listPage struct {
	encoded   bool  // keys are percent-encoded
	truncated *bool // there are more pages
	next      string
	shown     []shownKey
	room      int64 // bytes of memory that are left for what it shows
}

// shownKey is an object or, as the keys that begin so, a directory. How its key is
// written may be said behind it.
type shownKey struct {
	key string
	remote.Entry
}

func (p *listPage) empty() bool { return len(p.shown) == 0 }

// page asks for a page of keys.
func (s *s3Session) page(ctx context.Context, q listQuestion, size *remote.Meter) (*listPage, error) {
	query := url.Values{"list-type": {"2"}, "delimiter": {"/"}, "encoding-type": {"url"}, "prefix": {q.prefix}, "max-keys": {strconv.Itoa(q.most)}}
	if q.token != "" {
		query.Set("continuation-token", q.token)
	}
	resp, done, err := s.ask(ctx, question{method: http.MethodGet, query: query}) //nolint:bodyclose // done closes it
	if err != nil {
		return nil, err
	}
	defer done()
	body := &remotehttp.IndexBody{Body: io.LimitReader(resp.Body, maxPage), Size: size}
	page := &listPage{room: maxPage}
	if err := page.read(body); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case body.Err != nil:
			return nil, body.Err
		case errors.As(err, new(*remote.Error)):
			return nil, err
		}
		return nil, remote.Broken("", "what the server sends is no page of a bucket's listing of up to %d bytes: %w", maxPage, err)
	}
	return page, nil
}

// read takes a page one element after another: as a whole it takes many times its
// length, if it is made for that.
func (p *listPage) read(from io.Reader) error {
	pieces := &piecewise{from: from}
	d := xml.NewTokenDecoder(&shallow{tokens: xml.NewDecoder(pieces), next: pieces.begin})
	root, err := d.Token()
	for ; err == nil; root, err = d.Token() {
		if start, ok := root.(xml.StartElement); ok {
			if start.Name.Local != "ListBucketResult" {
				return fmt.Errorf("it begins with the element %s", start.Name.Local)
			}
			return p.elements(d)
		}
	}
	return err
}

// elements takes what is in the page's element, up to its end.
func (p *listPage) elements(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := p.element(d, t); err != nil {
				return err
			}
		}
	}
}

func (p *listPage) element(d *xml.Decoder, start xml.StartElement) error {
	switch start.Name.Local {
	case "Contents":
		var object struct{ Key, LastModified, Size, ETag, StorageClass string }
		if err := d.DecodeElement(&object, &start); err != nil {
			return err
		}
		e := remote.Entry{Kind: remote.File, Attributes: remote.AttributesOf(map[string]string{"etag": object.ETag, "storage_class": object.StorageClass})}
		read(&e, object.Size, object.LastModified)
		return p.show(object.Key, e)
	case "CommonPrefixes":
		var below struct{ Prefix string }
		if err := d.DecodeElement(&below, &start); err != nil {
			return err
		}
		return p.show(below.Prefix, remote.Entry{Size: -1, Kind: remote.Dir})
	case "IsTruncated":
		return d.DecodeElement(&p.truncated, &start)
	case "NextContinuationToken":
		return d.DecodeElement(&p.next, &start)
	case "EncodingType":
		var encoding string
		err := d.DecodeElement(&encoding, &start)
		p.encoded = encoding == "url"
		return err
	}
	return d.Skip()
}

// show takes what the page shows, of which only so much is kept in memory as the page
// may be long.
func (p *listPage) show(key string, e remote.Entry) error {
	p.room -= int64(len(key)) + e.Held()
	if p.room < 0 {
		return remote.TooLong("a page of it shows more than the %d keys that it was asked for, and more than can be kept in memory", maxPageKeys)
	}
	p.shown = append(p.shown, shownKey{key, e})
	return nil
}

// pageError is that of a page, where that of who gets the entries may come too.
type pageError struct{ error }

// each yields what a page shows in a directory.
func (p *listPage) each(prefix string, yield func(remote.Entry) error) error {
	for _, is := range p.shown {
		name, err := p.name(is.key, prefix)
		if err != nil {
			return err
		}
		e := is.Entry
		if e.Kind == remote.File && name == "" {
			continue // the directory itself, which some programs make an object of
		}
		e.Name = name
		if e.Kind == remote.Dir {
			e.Name = strings.TrimSuffix(name, "/")
		}
		if !remote.SafeName(e.Name) {
			e.Kind = remote.Other
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// read takes an object's size and time as a listing has them.
func read(e *remote.Entry, size, modified string) {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		e.WrongValue("the size, %.40q, is no number of bytes", size)
		n = -1
	}
	e.Size = n
	if modified == "" {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, modified)
	if err != nil {
		e.WrongValue("the time, %.40q, is none in the calendar", modified)
		return
	}
	// HEAD and GET, with which it is compared, show seconds.
	e.ModTime, e.Precision = at.UTC().Truncate(time.Second), time.Second
}

// name is a key's within its directory.
func (p *listPage) name(key, prefix string) (string, error) {
	if p.encoded {
		plain, err := url.QueryUnescape(key)
		if err != nil {
			return "", &pageError{remote.Broken("", "the listing has a key that is not percent-encoded, though it says so: %.100q", key)}
		}
		key = plain
	}
	name, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return "", &pageError{remote.Broken("", "the listing has a key that was not asked for, %.100q: asked was for what begins with %.100q", key, prefix)}
	}
	return name, nil
}

// follows returns the token by which the page is asked for that follows the one of
// another token; empty: there is none.
func (p *listPage) follows(before string) (string, error) {
	next := p.next
	switch {
	case p.truncated == nil:
		return "", remote.Broken("", "the server doesn't say whether the listing has more pages")
	case !*p.truncated:
		return "", nil
	case next == "":
		return "", remote.Broken("", "the server says that the listing has more pages, and not how to ask for them")
	case next == before:
		return "", remote.Broken("", "the server gives the same page of the listing again and again")
	case len(next) > maxToken:
		return "", remote.Broken("", "the server wants to be asked for the next page of the listing with %d bytes, and %d are allowed", len(next), maxToken)
	}
	return next, nil
}

// decodeXML reads a document, which stands no deeper than S3's do.
func decodeXML(from io.Reader, to any) error {
	return xml.NewTokenDecoder(&shallow{tokens: xml.NewDecoder(from)}).Decode(to)
}

// shallow gives a document's tokens as far as they are not nested too deep: a reader
// remembers each element that is open.
type shallow struct {
	tokens *xml.Decoder
	depth  int
	next   func() // is told that the next begins; nil: nobody
}

// Token is the next one.
func (s *shallow) Token() (xml.Token, error) {
	if s.next != nil {
		s.next()
	}
	t, err := s.tokens.RawToken()
	switch t.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}
	if s.depth > maxNested {
		return nil, errors.New("its elements are nested too deep")
	}
	if err != nil {
		return nil, fmt.Errorf("read XML: %w", err)
	}
	return t, nil
}

// piecewise lets no more of a page be read for one piece of it, a tag or a text, than
// that may be long.
type piecewise struct {
	from io.Reader
	left int
}

func (p *piecewise) begin() { p.left = maxPiece }

// Read reads on, unless a piece is too long.
func (p *piecewise) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, fmt.Errorf("a tag or a text in it is longer than %d bytes", maxPiece)
	}
	n, err := p.from.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}
