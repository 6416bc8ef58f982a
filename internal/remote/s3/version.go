package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

// bringing is a reader of an object, which knows whose bytes it brings: an answer is of
// one version, whatever takes that one's place meanwhile. Some are already there.
func (s *s3Session) bringing(ctx context.Context, p, key string, resp *http.Response, done func(), there int64) *remotehttp.Reader {
	r := s.Reader(ctx, p, resp, done)
	r.Named(s3Version{remotehttp.VersionOf(resp), resp.Header.Get("X-Amz-Version-Id")}.String())
	if e := remote.Storable(remotehttp.FileOf(key, resp)); e.Size >= 0 && !e.ModTime.IsZero() {
		e.Size += there
		r.Promise(e)
	}
	return r
}

// OpenAt asks for the rest of an object by Range, on the condition that its ETag is
// the same: S3 doesn't know If-Range. Where there was none, the answer's time has to be.
// Where the bucket keeps versions it is the rest of that one, whatever has taken its
// place meanwhile.
func (s *s3Session) OpenAt(ctx context.Context, p string, offset int64, version string) (io.ReadCloser, error) {
	key, err := s.key(p)
	if err != nil {
		return nil, err
	}
	if version == "" {
		return nil, remote.NotResumed(p, "the server has not named the version of the object by a strong ETag, or by a Last-Modified of a minute before")
	}
	of := parseS3Version(version)
	r, err := s.openRest(ctx, p, key, offset, of)
	if class := remote.ClassOf(err); of.id != "" && (class == remote.NotExist || class == remote.Permission) {
		// That version was deleted, or versions may not be asked for, which is a right
		// of its own (s3:GetObjectVersion). The object may be the same still.
		return s.openRest(ctx, p, key, offset, s3Version{entity: of.entity})
	}
	return r, err
}

func (s *s3Session) openRest(ctx context.Context, p, key string, offset int64, of s3Version) (io.ReadCloser, error) {
	asked := question{method: http.MethodGet, key: key, of: remotehttp.Part{Offset: offset, Version: of.entity}}
	if of.id != "" {
		asked.query = url.Values{"versionId": {of.id}}
	}
	resp, done, err := s.ask(ctx, asked)
	if err != nil {
		return nil, s.Fail("resume", p, err)
	}
	err = asked.of.Answers(resp)
	if is := remotehttp.VersionOf(resp); err == nil && is != of.entity {
		err = fmt.Errorf("the server sends another version of it, %q", is)
	}
	if err != nil {
		_ = resp.Body.Close() // what it sends is not wanted
		done()
		return nil, remote.NotResumed(p, "%w", err)
	}
	return s.bringing(ctx, p, key, resp, done, offset), nil
}

// s3Version names the bytes of an object.
type s3Version struct {
	entity string // a strong ETag, or a time that is no longer the present
	id     string // under which the bucket keeps it; empty: it may not
}

// versionMark stands between the two. An ETag has no blank, and a time not this one.
const versionMark = " versionId="

// String is empty where nothing names the bytes. An id alone doesn't: one that is null, as
// in buckets that keep no versions any more, is given to whatever comes next.
func (v s3Version) String() string {
	known := v.id != "" && v.id != "null" && len(v.id) <= remotehttp.MaxETag && !strings.ContainsFunc(v.id, func(r rune) bool { return r <= ' ' || r > '~' })
	if v.entity == "" || !known {
		return v.entity
	}
	return v.entity + versionMark + v.id
}

func parseS3Version(text string) s3Version {
	entity, id, _ := strings.Cut(text, versionMark)
	return s3Version{entity, id}
}
