package servers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path"
	"path/filepath"
	"time"
)

// VersityGWOptions says what a versitygw serves.
type VersityGWOptions struct {
	// Dir takes what the server notes of objects, and keys. It must exist.
	Dir string
	// Root is the directory whose directories are served as buckets.
	Root string
	// TLS serves https, with a certificate of the server's own.
	TLS bool
	// Versions lets buckets keep the versions of objects, once that is asked for.
	Versions bool
	// Log gets the server's output at debug level; nothing by default.
	Log *slog.Logger
}

// VersityGW is a running S3 server over a directory. Times of objects are those of
// the files.
type VersityGW struct {
	// Addr is host:port.
	Addr string
	// KeyID and Secret sign requests; no others are answered.
	KeyID, Secret string
	// Region is the only one for which requests may be signed.
	Region string
	// CAFile holds the certificate of a server with TLS.
	CAFile string

	p *process
}

// Endpoint is the server's address.
func (s *VersityGW) Endpoint() string {
	if s.CAFile != "" {
		return "https://" + s.Addr
	}
	return "http://" + s.Addr
}

// URL returns the source URL of a bucket and what its keys begin with.
func (s *VersityGW) URL(bucket, prefix string) string {
	return "s3://" + s.KeyID + "@" + bucket + path.Clean("/"+prefix)
}

// Stop ends the server and its connections.
func (s *VersityGW) Stop() { s.p.stop() }

// StartVersityGW starts a versitygw, which make servers builds, and returns when it
// answers. ctx bounds the start only. The server must be stopped.
func StartVersityGW(ctx context.Context, o VersityGWOptions) (*VersityGW, error) {
	bin, err := versityGW()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &VersityGW{Addr: loopback(port), KeyID: "AKIATRIBUTARY", Secret: "s3cret/s3cret+s3cret", Region: "eu-test-1"}
	args := []string{"--port", s.Addr, "--access", s.KeyID, "--secret", s.Secret, "--region", s.Region, "--keep-alive"}
	if o.TLS {
		if s.CAFile, err = writeCertificate(o.Dir); err != nil {
			return nil, err
		}
		args = append(args, "--cert", s.CAFile, "--key", filepath.Join(o.Dir, "key.pem"))
	}
	notes, versions := filepath.Join(o.Dir, "notes"), filepath.Join(o.Dir, "versions")
	for _, dir := range []string{notes, versions} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory: %w", err)
		}
	}
	posix := []string{"posix", "--sidecar", notes}
	if o.Versions {
		posix = append(posix, "--versioning-dir", versions)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ready := answers
	if o.TLS {
		ready = accepts // it hangs up on what is not TLS
	}
	if s.p, err = startProcess(ctx, log, ready, s.Addr, bin, append(args, append(posix, o.Root)...)...); err != nil {
		return nil, err
	}
	return s, nil
}

func accepts(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// versityGWPinned reads what is pinned, in the checkout that the working directory is in.
func versityGWPinned() ([]byte, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		pinned, err := os.ReadFile(filepath.Join(dir, "test", "servers", "versitygw", "go.sum"))
		parent := filepath.Dir(dir)
		if err == nil || parent == dir {
			return pinned, err
		}
		dir = parent
	}
}

// versityGW finds the program that make servers has built, whose name follows from
// what is pinned.
func versityGW() (string, error) {
	pinned, err := versityGWPinned()
	if err != nil {
		return "", fmt.Errorf("versitygw: %w: its sources are not there: %w", ErrMissing, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find versitygw: %w", err)
	}
	bin := filepath.Join(cache, "tributary", fmt.Sprintf("versitygw-%x", sha256.Sum256(pinned))[:len("versitygw-")+12])
	if _, err := os.Stat(bin); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("versitygw: %w: run make servers", ErrMissing)
	} else if err != nil {
		return "", fmt.Errorf("find versitygw: %w", err)
	}
	return bin, nil
}
