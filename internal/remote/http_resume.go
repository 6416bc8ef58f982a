package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// settled is how long before the server's answer a file must have changed last
	// for its time to name its bytes: another change may have the same second.
	settled = time.Minute
	// maxETag is how long the name of a version may be.
	maxETag = 512
)

// part is what of a file is asked for: all that follows an offset, if the file
// still is that version. The zero value is the whole.
type part struct {
	offset  int64
	version string
}

// ask adds to a request which part it is for.
func (p part) ask(header http.Header) {
	if p.offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", p.offset))
		header.Set("If-Range", p.version)
	}
}

// OpenAt asks for the rest of a file by Range and If-Range.
func (s *httpSession) OpenAt(ctx context.Context, p string, offset int64, version string) (io.ReadCloser, error) {
	full, err := join(s.target.Base, p)
	if err != nil {
		return nil, err
	}
	if version == "" {
		return nil, notResumed(p, "the server has not named the version of the file by a strong ETag, or by a Last-Modified of a minute before")
	}
	asked := part{offset, version}
	resp, done, err := s.getPart(ctx, http.MethodGet, s.at(full, false), asked)
	if err != nil {
		return nil, s.fail("resume", p, err)
	}
	if err := asked.answers(resp); err != nil {
		_ = resp.Body.Close() // what it sends is not wanted
		done()
		return nil, notResumed(p, "%w", err)
	}
	return s.reader(ctx, p, resp, done), nil
}

// answers says what is wrong with an answer, if it is not the part. A server that
// knows Range but not If-Range shows itself by another version.
func (p part) answers(resp *http.Response) error {
	if p.offset == 0 {
		return nil
	}
	if resp.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the server sends the whole file")
	}
	first, _, ok := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "-")
	if n, err := strconv.ParseInt(first, 10, 64); !ok || err != nil || n != p.offset {
		return fmt.Errorf("the server sends another part of it, %q", resp.Header.Get("Content-Range"))
	}
	name := "Last-Modified"
	if strings.HasPrefix(p.version, `"`) {
		name = "ETag"
	}
	if is := resp.Header.Get(name); is != "" && is != p.version {
		return fmt.Errorf("the server sends another version of it, %s: %s", name, is)
	}
	return nil
}

// versionOf is what an answer says of the bytes in it that no other version shares:
// a strong ETag, or a time that is no longer the present.
func versionOf(resp *http.Response) string {
	etag := resp.Header.Get("ETag")
	if len(etag) > 2 && len(etag) <= maxETag && etag[0] == '"' && etag[len(etag)-1] == '"' && !strings.ContainsFunc(etag, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return etag
	}
	modified, err1 := http.ParseTime(resp.Header.Get("Last-Modified"))
	now, err2 := http.ParseTime(resp.Header.Get("Date"))
	if err1 != nil || err2 != nil || now.Sub(modified) < settled {
		return ""
	}
	return resp.Header.Get("Last-Modified")
}
