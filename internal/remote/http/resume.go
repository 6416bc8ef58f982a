package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

const (
	// settled is how long before the server's answer a file must have changed last
	// for its time to name its bytes: another change may have the same second.
	settled = time.Minute
	// MaxETag is how long the name of a version may be.
	MaxETag = 512
)

// Part is what is asked for. The zero value is the whole of what is there.
type Part struct {
	// Offset and Version ask for what follows, if the file still is that version.
	Offset  int64
	Version string
	// unless asks for the whole if it is another version.
	unless string
	// depth asks for properties, by WebDAV: "0" of what is there, "1" of what is in it
	// too.
	depth string
	// Changes asks for nothing, but that something is changed.
	Changes bool
	// to is the URL that what is there gets, unless something is there.
	to string
	// absent asks for a change only where nothing is.
	absent bool
	// robots asks for a robots.txt, which nobody is asked to leave alone.
	robots bool
}

// ask adds to a request what it is for.
func (p Part) ask(req *http.Request) {
	switch {
	case p.Offset > 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.Offset))
		req.Header.Set("If-Range", p.Version)
	case strings.HasSuffix(p.unless, `"`):
		req.Header.Set("If-None-Match", p.unless)
	case p.unless != "":
		req.Header.Set("If-Modified-Since", p.unless)
	}
	if p.to != "" {
		req.Header.Set("Destination", p.to)
		req.Header.Set("Overwrite", "F")
	}
	if p.absent {
		req.Header.Set("If-None-Match", "*")
	}
	if p.depth != "" {
		req.Header.Set("Depth", p.depth)
		req.Header.Set("Content-Type", "application/xml; charset=utf-8")
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(propfind)), int64(len(propfind))
	}
}

// expects tells whether a status is an answer to it.
func (p Part) expects(status int) bool {
	switch {
	case p.depth != "":
		return status == http.StatusMultiStatus
	case p.Offset > 0 && status == http.StatusPartialContent, p.unless != "" && status == http.StatusNotModified:
		return true
	}
	return status == http.StatusOK || p.Changes && (status == http.StatusNoContent || status == http.StatusCreated)
}

// OpenAt asks for the rest of a file by Range and If-Range.
func (s *Session) OpenAt(ctx context.Context, p string, offset int64, version string) (io.ReadCloser, error) {
	full, err := remote.Join(s.target.Base, p)
	if err != nil {
		return nil, err
	}
	if version == "" {
		return nil, remote.NotResumed(p, "the server has not named the version of the file by a strong ETag, or by a Last-Modified of a minute before")
	}
	asked := Part{Offset: offset, Version: version}
	resp, done, err := s.getPart(ctx, http.MethodGet, s.At(full, false), asked)
	if err != nil {
		return nil, s.Fail("resume", p, err)
	}
	if err := asked.Answers(resp); err != nil {
		_ = resp.Body.Close() // what it sends is not wanted
		done()
		return nil, remote.NotResumed(p, "%w", err)
	}
	return s.Reader(ctx, p, resp, done), nil
}

// Answers says what is wrong with an answer, if it is not the part. A server that
// knows Range but not If-Range shows itself by another version.
func (p Part) Answers(resp *http.Response) error {
	if p.Offset == 0 {
		return nil
	}
	if resp.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the server sends the whole file")
	}
	first, _, ok := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "-")
	if n, err := strconv.ParseInt(first, 10, 64); !ok || err != nil || n != p.Offset {
		return fmt.Errorf("the server sends another part of it, %q", resp.Header.Get("Content-Range"))
	}
	name := "Last-Modified"
	if strings.HasPrefix(p.Version, `"`) {
		name = "ETag"
	}
	if is := resp.Header.Get(name); is != "" && is != p.Version {
		return fmt.Errorf("the server sends another version of it, %s: %s", name, is)
	}
	return nil
}

// VersionOf is what an answer says of the bytes in it that no other version shares:
// a strong ETag, or a time that is no longer the present.
func VersionOf(resp *http.Response) string {
	if etag := resp.Header.Get("ETag"); isETag(etag) {
		return etag
	}
	modified, err1 := http.ParseTime(resp.Header.Get("Last-Modified"))
	now, err2 := http.ParseTime(resp.Header.Get("Date"))
	if err1 != nil || err2 != nil || now.Sub(modified) < settled {
		return ""
	}
	return resp.Header.Get("Last-Modified")
}

func isETag(s string) bool {
	return len(s) > 2 && len(s) <= MaxETag && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// listingOf is what an answer says of the listing in it: a weak ETag will do, since
// what it calls the same shows the same.
func listingOf(resp *http.Response) string {
	if etag := resp.Header.Get("ETag"); isETag(strings.TrimPrefix(etag, "W/")) {
		return etag
	}
	return VersionOf(resp)
}
