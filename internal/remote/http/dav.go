package http

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

// propfind asks for what an entry says. What else a server knows of a file it keeps.
const propfind = `<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/></prop></propfind>`

// davNamespace is that of WebDAV's elements (RFC 4918).
const davNamespace = "DAV:"

// properties asks by WebDAV for a directory's entries (depth 1), or for what a path
// itself is (depth 0). All is exact.
func (s *Session) properties(ctx context.Context, full, depth string, each func(indexed) error) error {
	at := s.At(full, depth == "1")
	resp, done, err := s.page(ctx, "PROPFIND", at, Part{depth: depth}) //nolint:bodyclose // done closes it
	if err != nil {
		return err
	}
	defer done()
	body := &IndexBody{Body: resp.Body, Size: remote.NewMeter(s.cfg.Limits.Listing)}
	list := &davList{markup: newMarkup(body), at: at, each: each}
	if depth == "1" {
		list.name = func(href string) (string, remote.Kind, bool) { return child(at, href) }
	}
	err = list.markup.ended(body, list.read())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && !list.found:
		return noIndex("the server tells nothing of what was asked for")
	}
	return err
}

// property asks by WebDAV what a path is.
func (s *Session) property(ctx context.Context, full string) (remote.Entry, error) {
	e := remote.Entry{Size: -1}
	err := s.properties(ctx, full, "0", func(is indexed) error { e = is.Entry; return nil })
	if errors.Is(err, errDirectory) {
		return remote.Entry{Name: path.Base(full), Size: -1, Kind: remote.Dir}, nil
	}
	e.Name = path.Base(full)
	return e, err
}

// davList is an answer of WebDAV while it is read.
type davList struct {
	markup *markup
	at     *url.URL // what was asked for
	// name reads a reference to an entry; nil: only what was asked for counts.
	name  func(href string) (string, remote.Kind, bool)
	each  func(indexed) error
	found bool // what was asked for
}

func (l *davList) read() error {
	for {
		token, err := l.markup.next()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case l.markup.depth == 1 && (start.Name.Space != davNamespace || start.Name.Local != "multistatus"):
			return noIndex("it begins with the element %s, not with multistatus", start.Name.Local)
		case start.Name.Space == davNamespace && start.Name.Local == "response":
			if err := l.response(); err != nil {
				return err
			}
		}
	}
}

// davEntry is what an answer says of one path.
type davEntry struct {
	href, status, size, time string
	collection               bool
}

// response reads what is said of one path, which has begun.
func (l *davList) response() error {
	var is, props davEntry
	for inner := l.markup.depth; l.markup.depth >= inner; {
		token, err := l.markup.next()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Space != davNamespace {
			continue
		}
		within := l.markup.depth - inner // 1: of the response, 2: of a set of properties
		switch name := start.Name.Local; {
		case name == "propstat":
			props = davEntry{}
		case name == "collection":
			props.collection = true
		case name == "href" && within == 1:
			is.href, err = l.markup.text()
		case name == "status" && within == 1:
			is.status, err = l.markup.text()
		case name == "getcontentlength":
			props.size, err = l.markup.text()
		case name == "getlastmodified":
			props.time, err = l.markup.text()
		case name == "status" && within == 2:
			// What a server doesn't have it names in a set of another status.
			if props.status, err = l.markup.text(); err == nil && succeeded(props.status) {
				is.collection = is.collection || props.collection
				is.size, is.time = is.size+props.size, is.time+props.time
			}
		}
		if err != nil {
			return err
		}
	}
	return l.entry(is)
}

// entry takes what is said of one path.
func (l *davList) entry(is davEntry) error {
	e := indexed{Entry: remote.Entry{Size: -1}, exact: true}
	if l.name != nil {
		name, kind, ok := l.name(is.href)
		if !ok {
			self, err := l.at.Parse(is.href)
			l.found = l.found || err == nil && sameOrigin(self, l.at) && strings.TrimSuffix(self.Path, "/") == strings.TrimSuffix(l.at.Path, "/") && is.collection
			return nil
		}
		e.Name, e.Kind = name, kind
	}
	l.found = true
	switch {
	case is.status != "" && !succeeded(is.status), e.Kind == remote.Other:
		e.Kind = remote.Other
	case is.collection:
		e.Kind = remote.Dir
	default:
		e.Kind = remote.File
		if n, err := strconv.ParseInt(is.size, 10, 64); err == nil {
			e.Size = n
		}
	}
	if at, err := http.ParseTime(is.time); err == nil && e.Kind != remote.Other {
		e.ModTime, e.Precision = at.UTC(), time.Second
	}
	return l.each(e)
}

// succeeded tells whether a status line says so.
func succeeded(line string) bool {
	fields := strings.Fields(line)
	return len(fields) > 1 && strings.HasPrefix(fields[1], "2")
}
