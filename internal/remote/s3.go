package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// s3Session asks for the objects of one bucket, over a connection of HTTP. What ends
// in a slash is a directory: there is one where any key begins with it.
type s3Session struct {
	*httpSession
	s3Target
	// signer remembers the key that it derives for a day.
	signer *v4.Signer
}

// dialS3 connects, and asks for one key of the bucket: that tells whether it is
// there, in that region, and lets us in. ctx bounds all of it.
func dialS3(ctx context.Context, c Config, t Target, step func(name, detail string)) (Session, error) {
	to, err := s3TargetOf(c, t)
	if err == nil && (to.keyID == "") != (to.secret == "") {
		err = &Error{Op: loginOp, Path: to.server.Server(), class: Misconfigured, Err: errors.New("the access key id in url and its secret access key in password belong together: give both, or neither")}
	}
	if err != nil {
		return nil, err
	}
	// The secret is for signing alone: it is never sent.
	plain := c
	plain.IgnoreRobots, plain.Password, plain.Token, plain.Cookie = true, "", "", ""
	over, err := dialHTTP(ctx, plain, to.server, step)
	if err != nil {
		return nil, err
	}
	s := &s3Session{s3Target: to, signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
	s.httpSession, _ = over.(*httpSession)
	if err := s.login(ctx, step); err != nil {
		_ = s.Close() // which never fails
		return nil, err
	}
	return s, nil
}

func (s *s3Session) login(ctx context.Context, step func(name, detail string)) error {
	step("login", "")
	_, err := s.page(ctx, listQuestion{prefix: directory(s.base), most: 1}, newMeter(maxPage))
	switch ClassOf(err) {
	case Unclassified, Permission:
		// Whether keys may be listed is for the listing to find out.
	default:
		return s.fail(loginOp, s.target.Server(), err)
	}
	who := "nobody"
	if s.keyID != "" {
		who = "access key " + s.keyID
	}
	if s.target.Scheme == "http" {
		who += ", over a connection that is not encrypted"
	}
	step("login", fmt.Sprintf("bucket %s in %s, as %s", s.bucket, s.region, who))
	return nil
}

// key is that of a path below the base.
func (s *s3Session) key(p string) (string, error) {
	full, err := join(s.base, p)
	return strings.TrimPrefix(full, "/"), err
}

// directory is what the keys in one begin with.
func directory(key string) string {
	if key = strings.Trim(key, "/"); key != "" {
		key += "/"
	}
	return key
}

// Stat asks for an object, and where there is none for one in a directory of that
// name.
func (s *s3Session) Stat(ctx context.Context, p string) (Entry, error) {
	key, err := s.key(p)
	if err != nil {
		return Entry{}, err
	}
	if key != "" {
		e, err := s.headObject(ctx, key)
		if ClassOf(err) != NotExist {
			return e, s.fail("stat", p, err)
		}
	}
	found, err := s.page(ctx, listQuestion{prefix: directory(key), most: 1}, newMeter(maxPage))
	if err == nil && found.empty() && key != "" {
		err = noSuchKey(key)
	}
	if err != nil {
		return Entry{}, s.fail("stat", p, err)
	}
	return Entry{Name: path.Base("/" + key), Size: -1, Kind: Dir}, nil
}

func (s *s3Session) headObject(ctx context.Context, key string) (Entry, error) {
	resp, done, err := s.ask(ctx, question{method: http.MethodHead, key: key}) //nolint:bodyclose // done closes it
	if err != nil {
		return Entry{}, err
	}
	defer done()
	return objectOf(key, resp), nil
}

// objectOf is what an answer says of the object.
func objectOf(key string, resp *http.Response) Entry {
	e := Entry{Name: path.Base(key), Size: resp.ContentLength, Kind: File}
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		e.ModTime, e.Precision = at.UTC(), time.Second
	}
	e.Attributes = entityOf(resp.Header)
	return e
}

// Open streams an object, and holds it against the checksum that the server keeps of
// it, where it does.
func (s *s3Session) Open(ctx context.Context, p string, _ int64) (io.ReadCloser, error) {
	key, err := s.key(p)
	if err != nil {
		return nil, err
	}
	resp, done, err := s.ask(ctx, question{method: http.MethodGet, key: key, checksum: true}) //nolint:bodyclose // done closes it
	if err != nil {
		return nil, s.fail("open", p, err)
	}
	return verifying(s.bringing(ctx, p, key, resp, done, 0), resp.Header), nil
}

// List asks for page after page of the keys that begin with a directory's name, up
// to the next slash.
func (s *s3Session) List(ctx context.Context, dir string, yield func(Entry) error) error {
	key, err := s.key(dir)
	if err != nil {
		return err
	}
	ask := listQuestion{prefix: directory(key), most: maxPageKeys}
	size := newMeter(s.cfg.Limits.Listing)
	there := key == "" // a bucket without any key is there
	for barren := 0; barren < maxBarren; barren++ {
		page, err := s.page(ctx, ask, size)
		if err != nil {
			return s.fail("list", dir, err)
		}
		if !page.empty() {
			there, barren = true, 0
		}
		if err := page.each(ask.prefix, yield); err != nil {
			if own := (*pageError)(nil); errors.As(err, &own) {
				return s.fail("list", dir, own.error)
			}
			return err
		}
		ask.token, err = page.follows(ask.token)
		if err == nil && ask.token == "" && !there {
			err = noSuchKey(ask.prefix)
		}
		if err != nil || ask.token == "" {
			return s.fail("list", dir, err)
		}
	}
	return s.fail("list", dir, broken("", "the server has sent %d pages of the listing in a row with nothing in them, and says that there are more", maxBarren))
}

func noSuchKey(key string) error {
	return &Error{class: NotExist, Err: fmt.Errorf("no key of the bucket is, or begins with, %q", key)}
}

// s3Target is where a bucket is, and who asks.
type s3Target struct {
	// server is that of the requests: the endpoint's, or the bucket's own name there.
	server         Target
	bucket, region string
	// keyID and secret sign requests; empty: nobody does.
	keyID, secret string
	// base is the path of the URL, from / on.
	base string
	// inPath says that the bucket's name is the first part of paths.
	inPath bool
}

// s3Server is what is connected to for a bucket.
func s3Server(c Config, t Target) (Target, error) {
	to, err := s3TargetOf(c, t)
	return to.server, err
}

// s3TargetOf reads where a bucket is.
func s3TargetOf(c Config, t Target) (s3Target, error) {
	to := s3Target{bucket: t.Host, region: cmp.Or(c.Region, defaultRegion), keyID: t.User, secret: c.Password, base: t.Base}
	bad := func(err error) (s3Target, error) {
		return s3Target{}, &Error{Op: "parse", class: Misconfigured, Err: err}
	}
	if err := CheckRegion(to.region); err != nil {
		return bad(err)
	}
	var err error
	if to.server, err = ParseEndpoint(cmp.Or(c.Endpoint, "https://s3."+to.region+".amazonaws.com")); err != nil {
		return bad(err)
	}
	// A name with dots has more parts than a certificate for *.endpoint vouches for.
	to.inPath = c.Endpoint != "" && !c.VirtualHosted || strings.Contains(to.bucket, ".")
	if !to.inPath {
		to.server.Host = to.bucket + "." + to.server.Host
	}
	return to, nil
}
