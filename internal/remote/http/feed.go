package http

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tributary/internal/remote"
)

// feed is what a feed shows: links below the base, in its order.
type feed struct {
	version string
	links   []feedLink
}

// feedLink is a link of an item, with what the item says of the file.
type feedLink struct {
	to   string // an absolute URL
	size int64  // -1: it doesn't say
	kind string // the media type; empty: it doesn't say
	time time.Time
	said map[string]string
}

// feedShows yields what the feed shows of a directory. It is read once by a session.
func (s *Session) feedShows(ctx context.Context, full, version string, each func(indexed) error) (is string, err error) {
	f, err := s.readFeed(ctx, version)
	if err != nil {
		return "", err
	}
	dir, seen := s.At(full, true), map[string]bool{}
	for _, l := range f.links {
		name, kind, ok := child(dir, l.to)
		if !ok || kind == remote.Dir || seen[name] {
			continue
		}
		seen[name] = true
		e := indexed{Entry: remote.Entry{Name: name, Kind: kind, Size: l.size, ModTime: l.time, Attributes: l.said}}
		if !l.time.IsZero() {
			e.Precision = time.Second
		}
		if err := each(e); err != nil {
			return "", err
		}
	}
	return f.version, nil
}

// readFeed asks for the feed, unless it was read, or is the version still.
func (s *Session) readFeed(ctx context.Context, version string) (*feed, error) {
	s.mu.Lock()
	f, same := s.feed, s.feedSame
	s.mu.Unlock()
	switch {
	case f != nil:
		return f, nil
	case version != "" && version == same:
		return nil, &remote.Error{Class: remote.Unclassified, Err: remote.ErrUnchanged}
	}
	at, err := s.At(s.target.Base, true).Parse(s.cfg.Feed)
	if err != nil || !sameOrigin(at, &s.root) || at.User != nil {
		return nil, &remote.Error{Class: remote.Misconfigured, Err: errors.New("feed is no address on the server of url")}
	}
	resp, done, err := s.page(ctx, http.MethodGet, at, Part{unless: version}) //nolint:bodyclose // done closes it
	if err != nil {
		if errors.Is(err, remote.ErrUnchanged) {
			s.mu.Lock()
			s.feedSame = version
			s.mu.Unlock()
		}
		return nil, err
	}
	defer done()
	body := &IndexBody{Body: resp.Body, Size: remote.NewMeter(s.cfg.Limits.Listing)}
	r := &feedReader{markup: newMarkup(body), at: at, base: s.At(s.target.Base, true), room: remote.NewMeter(remote.MaxHeld)}
	if err := r.markup.ended(body, r.read()); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if r.items > 0 && len(r.links) == 0 {
		return nil, noIndex("none of the %d items of the feed links to a file below %s", r.items, r.base)
	}
	f = &feed{listingOf(resp), r.links}
	s.mu.Lock()
	s.feed = f
	s.mu.Unlock()
	return f, nil
}

// feedReader reads RSS (0.9 to 2.0) and Atom.
type feedReader struct {
	markup   *markup
	at, base *url.URL
	room     *remote.Meter
	items    int
	links    []feedLink
}

func (r *feedReader) read() error {
	for {
		token, err := r.markup.next()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case r.markup.depth == 1 && !slices.Contains([]string{"rss", "RDF", "feed"}, start.Name.Local):
			return noIndex("it begins with the element %s: it is no RSS or Atom", start.Name.Local)
		case r.markup.depth > 1 && (start.Name.Local == "item" || start.Name.Local == "entry"):
			r.items++
			if err := r.item(); err != nil {
				return err
			}
		}
	}
}

// item reads an item that has begun: its links, and enclosures first, since they say
// how long files are.
func (r *feedReader) item() error {
	item := feedItem{said: map[string]string{}}
	for inner := r.markup.depth; r.markup.depth >= inner; {
		token, err := r.markup.next()
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok || r.markup.depth != inner+1 {
			continue
		}
		if err := item.read(r.markup, start); err != nil {
			return err
		}
		if len(item.enclosures)+len(item.links) > maxLinks {
			return noIndex("an item of the feed has more than %d links", maxLinks)
		}
	}
	for _, l := range append(item.enclosures, item.links...) {
		to, err := r.at.Parse(l.to)
		if err != nil || l.to == "" || !below(r.base, to) {
			continue
		}
		l.to, l.time, l.said = to.String(), item.time, item.of(l)
		if err := r.room.Hold(remote.Entry{Name: l.to, Attributes: l.said}); err != nil {
			return err
		}
		r.links = append(r.links, l)
	}
	return nil
}

// maxLinks is how many links an item may have. It is fixed: it is about one file.
const maxLinks = 1000

// below tells whether a URL leads below another on the same server.
func below(base, to *url.URL) bool {
	all := base.Path
	return sameOrigin(base, to) && len(to.Path) > len(all) && to.Path[:len(all)] == all
}

// feedLength is how long a file is, as a feed says; -1: it doesn't. Many write 0 who don't
// know.
func feedLength(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return n
	}
	return -1
}

// feedTime reads a time as feeds write it; zero: it is none.
func feedTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}
