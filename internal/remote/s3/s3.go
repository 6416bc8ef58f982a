package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

// s3Session asks for the objects of one bucket, over a connection of HTTP. What ends
// in a slash is a directory: there is one where any key begins with it.
type s3Session struct {
	*remotehttp.Session
	s3Target
	cfg remote.Config
	// signer remembers the key that it derives for a day.
	signer *v4.Signer
}

// dial connects, and asks for one key of the bucket: that tells whether it is
// there, in that region, and lets us in. ctx bounds all of it.
func dial(ctx context.Context, c remote.Config, t remote.Target, step func(name, detail string)) (remote.Session, error) {
	to, err := s3TargetOf(c, t)
	if err == nil && (to.keyID == "") != (to.secret == "") {
		err = &remote.Error{Op: remote.OpLogin, Path: to.server.Server(), Class: remote.Misconfigured, Err: errors.New("the access key id in url and its secret access key in password belong together: give both, or neither")}
	}
	if err != nil {
		return nil, err
	}
	// The secret is for signing alone: it is never sent.
	plain := c
	plain.IgnoreRobots, plain.Password, plain.Token, plain.Cookie, plain.Headers = true, "", "", "", ""
	over, err := remotehttp.Dial(ctx, plain, to.server, step)
	if err != nil {
		return nil, err
	}
	s := &s3Session{Session: over, s3Target: to, cfg: c, signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
	if err := s.login(ctx, step); err != nil {
		_ = s.Close() // which never fails
		return nil, err
	}
	return s, nil
}

func (s *s3Session) login(ctx context.Context, step func(name, detail string)) error {
	step("login", "")
	_, err := s.page(ctx, listQuestion{prefix: directory(s.base), most: 1}, remote.NewMeter(maxPage))
	switch remote.ClassOf(err) {
	case remote.Unclassified, remote.Permission:
		// Whether keys may be listed is for the listing to find out.
	default:
		return s.Fail(remote.OpLogin, s.server.Server(), err)
	}
	who := "nobody"
	if s.keyID != "" {
		who = "access key " + s.keyID
	}
	if s.server.Scheme == "http" {
		who += ", over a connection that is not encrypted"
	}
	step("login", fmt.Sprintf("bucket %s in %s, as %s", s.bucket, s.region, who))
	return nil
}

// key is that of a path below the base.
func (s *s3Session) key(p string) (string, error) {
	full, err := remote.Join(s.base, p)
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
func (s *s3Session) Stat(ctx context.Context, p string) (remote.Entry, error) {
	key, err := s.key(p)
	if err != nil {
		return remote.Entry{}, err
	}
	if key != "" {
		e, err := s.headObject(ctx, key)
		if remote.ClassOf(err) != remote.NotExist {
			return e, s.Fail("stat", p, err)
		}
	}
	found, err := s.page(ctx, listQuestion{prefix: directory(key), most: 1}, remote.NewMeter(maxPage))
	if err == nil && found.empty() && key != "" {
		err = noSuchKey(key)
	}
	if err != nil {
		return remote.Entry{}, s.Fail("stat", p, err)
	}
	return remote.Entry{Name: path.Base("/" + key), Size: -1, Kind: remote.Dir}, nil
}

func (s *s3Session) headObject(ctx context.Context, key string) (remote.Entry, error) {
	resp, done, err := s.ask(ctx, question{method: http.MethodHead, key: key}) //nolint:bodyclose // done closes it
	if err != nil {
		return remote.Entry{}, err
	}
	defer done()
	return remotehttp.FileOf(key, resp), nil
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
		return nil, s.Fail("open", p, err)
	}
	return verifying(s.bringing(ctx, p, key, resp, done, 0), resp.Header), nil
}

// List asks for page after page of the keys that begin with a directory's name, up
// to the next slash.
func (s *s3Session) List(ctx context.Context, dir string, yield func(remote.Entry) error) error {
	key, err := s.key(dir)
	if err != nil {
		return err
	}
	ask := listQuestion{prefix: directory(key), most: maxPageKeys}
	size := remote.NewMeter(s.cfg.Limits.Listing)
	there := key == "" // a bucket without any key is there
	for barren := 0; barren < maxBarren; barren++ {
		page, err := s.page(ctx, ask, size)
		if err != nil {
			return s.Fail("list", dir, err)
		}
		if !page.empty() {
			there, barren = true, 0
		}
		if err := page.each(ask.prefix, yield); err != nil {
			if own := (*pageError)(nil); errors.As(err, &own) {
				return s.Fail("list", dir, own.error)
			}
			return err
		}
		ask.token, err = page.follows(ask.token)
		if err == nil && ask.token == "" && !there {
			err = noSuchKey(ask.prefix)
		}
		if err != nil || ask.token == "" {
			return s.Fail("list", dir, err)
		}
	}
	return s.Fail("list", dir, remote.Broken("", "the server has sent %d pages of the listing in a row with nothing in them, and says that there are more", maxBarren))
}

func noSuchKey(key string) error {
	return &remote.Error{Class: remote.NotExist, Err: fmt.Errorf("no key of the bucket is, or begins with, %q", key)}
}

// s3Target is where a bucket is, and who asks.
type s3Target struct {
	// server is that of the requests: the endpoint's, or the bucket's own name there.
	server         remote.Target
	bucket, region string
	// keyID and secret sign requests; empty: nobody does.
	keyID, secret string
	// base is the path of the URL, from / on.
	base string
	// inPath says that the bucket's name is the first part of paths.
	inPath bool
}

// server is what is connected to for a bucket.
func server(c remote.Config, t remote.Target) (remote.Target, error) {
	to, err := s3TargetOf(c, t)
	return to.server, err
}

// s3TargetOf reads where a bucket is.
func s3TargetOf(c remote.Config, t remote.Target) (s3Target, error) {
	to := s3Target{bucket: t.Host, region: cmp.Or(c.Region, defaultRegion), keyID: t.User, secret: c.Password, base: t.Base}
	bad := func(err error) (s3Target, error) {
		return s3Target{}, &remote.Error{Op: "parse", Class: remote.Misconfigured, Err: err}
	}
	if err := remote.CheckRegion(to.region); err != nil {
		return bad(err)
	}
	var err error
	if to.server, err = remote.ParseEndpoint(cmp.Or(c.Endpoint, "https://s3."+to.region+".amazonaws.com")); err != nil {
		return bad(err)
	}
	// A name with dots has more parts than a certificate for *.endpoint vouches for.
	to.inPath = c.Endpoint != "" && !c.VirtualHosted || strings.Contains(to.bucket, ".")
	if !to.inPath {
		to.server.Host = to.bucket + "." + to.server.Host
	}
	return to, nil
}
