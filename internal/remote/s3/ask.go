package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

const (
	// defaultRegion is what servers other than Amazon's take, and Amazon's first.
	defaultRegion = "us-east-1"
	// noBody is the SHA-256 of a request that brings nothing.
	noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// question is what is asked of a bucket, or of an object in it.
type question struct {
	method, key string
	query       url.Values
	of          remotehttp.Part
	// checksum asks for what the server keeps of the object's bytes.
	checksum bool
	// copyOf is the key of which a PUT makes a copy; empty: it makes an empty object.
	copyOf string
}

// ask asks for an object or a listing, once the connection is free. What follows is
// done until then. Nothing is asked of another server than the endpoint: a signature
// is for one host, and says who asks.
func (s *s3Session) ask(ctx context.Context, q question) (resp *http.Response, done func(), err error) {
	return s.Once(ctx, func(asking context.Context) (*http.Response, error) {
		req, err := s.request(asking, q)
		if err != nil {
			return nil, err
		}
		resp, err := s.Send(req)
		if err != nil {
			return nil, err
		}
		if err := s.refusal(resp, q.of); err != nil {
			remotehttp.Drain(resp)
			return nil, err
		}
		return resp, nil
	})
}

// request makes a request and signs it. What a proxy on the way may change is added
// after that.
func (s *s3Session) request(ctx context.Context, q question) (*http.Request, error) {
	at := *s.At("/", false)
	at.Path = "/" + q.key
	if s.inPath {
		at.Path = "/" + s.bucket + at.Path
	}
	at.RawPath = escaped(at.Path)
	at.RawQuery = strings.ReplaceAll(q.query.Encode(), "+", "%20")
	req := (&http.Request{Method: q.method, URL: &at, Host: at.Host, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}}).WithContext(ctx)
	if q.checksum {
		req.Header.Set("X-Amz-Checksum-Mode", "ENABLED")
	}
	if q.copyOf != "" {
		req.Header.Set("X-Amz-Copy-Source", escaped("/"+s.bucket+"/"+q.copyOf))
	}
	if s.keyID != "" {
		req.Header.Set("X-Amz-Content-Sha256", noBody)
		if err := s.signer.SignHTTP(ctx, aws.Credentials{AccessKeyID: s.keyID, SecretAccessKey: s.secret}, req, noBody, "s3", s.region, time.Now()); err != nil {
			return nil, fmt.Errorf("sign the request: %w", err)
		}
	}
	req.Header.Set("User-Agent", remotehttp.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if q.of.Offset > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(q.of.Offset, 10)+"-")
	}
	if q.of.Offset > 0 && strings.HasPrefix(q.of.Version, `"`) {
		req.Header.Set("If-Match", q.of.Version)
	}
	return req, nil
}

// escaped writes a path as signatures want it: all but slashes and what RFC 3986
// leaves as it is, byte for byte.
func escaped(whole string) string {
	const plain = "-._~/"
	var b strings.Builder
	for i := range len(whole) {
		c := whole[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// bucketName is how Amazon lets buckets be named, and others likewise.
func bucketName(name string) bool {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`).MatchString(name)
}

// refuse says what is wrong with a URL that names no bucket.
func refuse(t remote.Target, u *url.URL) error {
	prefix := strings.Trim(t.Base, "/")
	switch {
	case u.Port() != "":
		return fmt.Errorf("url %s has a port: it names a bucket, so write the server as endpoint: https://host:port", u.Redacted())
	case !bucketName(u.Hostname()):
		return fmt.Errorf("url %s names no bucket: write s3://bucket/prefix, where a bucket's name has 3 to 63 small letters, digits, dots and dashes; the server is endpoint", u.Redacted())
	case path.Join("/", prefix) != "/"+prefix:
		return fmt.Errorf("url %s has a prefix with an empty part, or one of . or .., which no source can have", u.Redacted())
	}
	return nil
}
