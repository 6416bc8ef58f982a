package http

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"tributary/internal/remote"
)

// List is ListIf of whatever is there.
func (s *Session) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	_, err := s.ListIf(ctx, dir, "", yield)
	return err
}

// ListIf reads what shows a directory (its index page, the feed, or what WebDAV tells),
// and then asks for what that doesn't tell: an index shows minutes of an unknown time
// zone and often rounded sizes.
func (s *Session) ListIf(ctx context.Context, dir, version string, yield func(remote.Entry) error) (is string, err error) {
	full, err := remote.Join(s.target.Base, dir)
	if err != nil {
		return "", err
	}
	var yieldErr error
	zips := &remote.Inexact[indexed]{
		Config: s.cfg, Dir: dir, Yield: yield, Room: remote.NewMeter(remote.MaxHeld), Same: s.looksTheSame,
		Entry: func(e indexed) remote.Entry { return e.Entry },
		Ask:   func(shown indexed, e *remote.Entry) (bool, error) { return s.askFor(ctx, full, shown, e) },
	}
	is, err = s.shown(ctx, full, version, func(e indexed) (err error) {
		if e.exact || e.Kind != remote.File || !strings.EqualFold(path.Ext(e.Name), ".zip") {
			yieldErr = yield(e.Entry)
			return yieldErr
		}
		if yieldErr, err = zips.Add(e); yieldErr != nil {
			return yieldErr
		}
		return err
	})
	if yieldErr != nil {
		return "", yieldErr
	}
	if err != nil {
		return "", s.Fail("list", dir, err)
	}
	if yieldErr, err = zips.Rest(); yieldErr != nil {
		return "", yieldErr
	}
	return is, s.Fail("list", dir, err)
}

// shown reads what shows a directory, in the way that the source is configured to.
func (s *Session) shown(ctx context.Context, full, version string, each func(indexed) error) (is string, err error) {
	switch {
	case s.cfg.Feed != "":
		return s.feedShows(ctx, full, version, each)
	case s.cfg.WebDAV:
		return "", s.properties(ctx, full, "1", each)
	}
	return s.index(ctx, full, version, each)
}

// page asks for what shows a directory, which must not be elsewhere. It is
// unchanged where the server says so.
func (s *Session) page(ctx context.Context, method string, at *url.URL, of Part) (resp *http.Response, done func(), err error) {
	resp, done, err = s.getPart(ctx, method, at, of)
	if err != nil {
		return nil, nil, err
	}
	switch final := resp.Request.URL; {
	case !strings.EqualFold(final.Hostname(), at.Hostname()) || final.Path != at.Path:
		err = noIndex("the server sends on to %s: if that is where the files are, it is the url", withoutSecrets(final))
	case resp.StatusCode == http.StatusNotModified:
		err = &remote.Error{Class: remote.Unclassified, Err: remote.ErrUnchanged}
	default:
		return resp, done, nil
	}
	done()
	return nil, nil, err
}

// index reads a directory's index page, unless that is the version still.
func (s *Session) index(ctx context.Context, full, version string, each func(indexed) error) (is string, err error) {
	resp, done, err := s.page(ctx, http.MethodGet, s.At(full, true), Part{unless: version}) //nolint:bodyclose // done closes it
	if err != nil {
		return "", err
	}
	defer done()
	page := &indexPage{at: resp.Request.URL, each: each, body: &IndexBody{Body: resp.Body, Size: remote.NewMeter(s.cfg.Limits.Listing)}}
	// Where the end of the connection is the end of the page, only the page itself
	// tells whether it is whole.
	page.unmeasured = resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err == nil && (kind == "text/html" || kind == "application/xhtml+xml"):
		err = page.readHTML()
	case err == nil && kind == "application/json":
		err = page.readJSON()
	default:
		err = noIndex("it is of the type %q", resp.Header.Get("Content-Type"))
	}
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	return listingOf(resp), err
}

// noIndex is the error of a page from which nothing can be concluded, as a page
// that asks people to log in.
func noIndex(format string, args ...any) error {
	return remote.Broken("no_index_page", "what the server shows is no index of the directory: "+format, args...)
}

// askFor asks for a file's exact size and time, and learns from the answer what
// the index's times mean. False: it is gone since.
func (s *Session) askFor(ctx context.Context, full string, shown indexed, e *remote.Entry) (there bool, err error) {
	exact, err := s.head(ctx, path.Join(full, e.Name))
	err = s.Fail("stat", e.Name, err)
	switch class := remote.ClassOf(err); {
	case err == nil && exact.Kind != remote.File:
		e.Kind, e.Size, e.ModTime, e.Precision = exact.Kind, -1, time.Time{}, 0
		return true, nil
	case class == remote.NotExist:
		return false, nil
	case class == remote.Permission, class == remote.Unclassified && err != nil:
		// It keeps what the index said; whoever fetches it finds out.
		return true, nil //nolint:nilerr // as the comment says
	case err != nil:
		return true, err
	}
	if exact.Size >= 0 {
		e.Size = exact.Size
	}
	if len(exact.Attributes) > 0 {
		e.Attributes = maps.Clone(e.Attributes) // which is the feed's
		if e.Attributes == nil {
			e.Attributes = map[string]string{}
		}
		maps.Copy(e.Attributes, exact.Attributes)
	}
	if exact.ModTime.IsZero() {
		return true, nil
	}
	e.ModTime, e.Precision = exact.ModTime, exact.Precision
	if !shown.ModTime.IsZero() && s.cfg.Feed == "" {
		s.cfg.Clock.Learn(shown.ModTime.Sub(exact.ModTime.Truncate(shown.Precision)))
	}
	return true, nil
}

// looksTheSame tells whether what an index shows is what is known: the size as
// exactly as it is shown, and the time in UTC or in a zone that was seen in this
// session, which is not of these days. A feed shows no times of files.
func (s *Session) looksTheSame(shown indexed, known remote.Entry) bool {
	if s.cfg.Feed != "" || known.Name == "" || shown.Invalid != "" || shown.ModTime.IsZero() || known.ModTime.IsZero() || !shown.about(known.Size) {
		return false
	}
	zone := shown.ModTime.Sub(known.ModTime.Truncate(shown.Precision))
	return (zone == 0 || slices.Contains(s.cfg.Clock.Zones(), zone)) && !s.cfg.Clock.Restless(known.ModTime)
}

// IndexBody is a page on its way, as much of it as limits.listing allows.
type IndexBody struct {
	Body io.Reader
	Size *remote.Meter
	// Err is why it ended; nil: it hasn't, or as it should.
	Err error
}

// Read remembers why it ended, whatever the one who reads makes of that, and
// brings nothing more then.
func (b *IndexBody) Read(p []byte) (int, error) {
	if b.Err != nil {
		return 0, b.Err
	}
	n, err := b.Body.Read(p)
	if tooLong := b.Size.Add(n); tooLong != nil {
		n, err = 0, tooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.Err = err
	}
	return n, err
}

// child returns the name to which a link of an index leads, if that is something
// in this very directory, and whether it says that it is a directory itself.
// Where a name can't be one of a file, it is no file's.
func child(page *url.URL, link string) (name string, kind remote.Kind, ok bool) {
	to, err := page.Parse(link)
	if err != nil || to.User != nil || to.RawQuery != "" || to.ForceQuery || to.Fragment != "" || !sameOrigin(to, page) {
		return "", 0, false
	}
	below, ok := strings.CutPrefix(to.EscapedPath(), page.EscapedPath())
	if !ok {
		// Another way to write the same directory.
		at := strings.Count(page.EscapedPath(), "/")
		parts := strings.SplitAfterN(to.EscapedPath(), "/", at+1)
		if len(parts) != at+1 || decoded(strings.Join(parts[:at], "")) != page.Path {
			return "", 0, false
		}
		below = parts[at]
	}
	raw, dir := strings.CutSuffix(below, "/")
	if raw == "" || strings.Contains(raw, "/") {
		return "", 0, false
	}
	name, err = url.PathUnescape(raw)
	switch {
	case err != nil || !remote.SafeName(name):
		return decoded(raw), remote.Other, true
	case dir:
		return name, remote.Dir, true
	}
	return name, remote.File, true
}
