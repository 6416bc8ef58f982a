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

// listPage is a page of keys.
type listPage struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	EncodingType          string
	IsTruncated           *bool
	NextContinuationToken string
	Contents              []struct{ Key, LastModified, Size string }
	CommonPrefixes        []struct{ Prefix string }
}

func (p *listPage) empty() bool { return len(p.Contents)+len(p.CommonPrefixes) == 0 }

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
	page := &listPage{}
	body := &remotehttp.IndexBody{Body: io.LimitReader(resp.Body, maxPage), Size: size}
	if err := decodeXML(body, page); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case body.Err != nil:
			return nil, body.Err
		}
		return nil, remote.Broken("", "what the server sends is no page of a bucket's listing of up to %d bytes: %w", maxPage, err)
	}
	return page, nil
}

// pageError is that of a page, where that of who gets the entries may come too.
type pageError struct{ error }

// each yields what a page shows in a directory.
func (p *listPage) each(prefix string, yield func(remote.Entry) error) error {
	for _, object := range p.Contents {
		name, err := p.name(object.Key, prefix)
		if err != nil {
			return err
		}
		if name == "" {
			continue // the directory itself, which some programs make an object of
		}
		e := remote.Entry{Name: name, Size: -1, Kind: remote.File}
		if !remote.SafeName(name) {
			e.Kind = remote.Other
		}
		read(&e, object.Size, object.LastModified)
		if err := yield(e); err != nil {
			return err
		}
	}
	for _, below := range p.CommonPrefixes {
		name, err := p.name(below.Prefix, prefix)
		if err != nil {
			return err
		}
		e := remote.Entry{Name: strings.TrimSuffix(name, "/"), Size: -1, Kind: remote.Dir}
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
	if p.EncodingType == "url" {
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
	next := p.NextContinuationToken
	switch {
	case p.IsTruncated == nil:
		return "", remote.Broken("", "the server doesn't say whether the listing has more pages")
	case !*p.IsTruncated:
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
}

// Token is the next one.
func (s *shallow) Token() (xml.Token, error) {
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
