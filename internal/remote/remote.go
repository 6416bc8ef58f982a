// Package remote reads files that other organisations publish: connectors of many
// protocols behind one small interface, which only reads. Each connector is a folder of
// its own below this one, and says in its row what there is to say of it, see
// [Connector]; the rows are listed by package connectors. Here is what they promise
// ([Session] and what some sessions can besides), and the ground that they stand on.
// What changes a server is apart, see [Writing], and given to one package.
//
// Names are bytes, passed on as the server gave them. Symbolic links are never
// followed in a listing. Every error carries a class and a stable exception
// name, see [ClassOf] and [Exception].
package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"time"
)

// Kind tells what a directory entry is.
type Kind int

// The kinds of entries. Other is all that can't be fetched: symbolic links,
// devices, pipes, names that aren't one path element, listing lines that
// nobody could parse.
const (
	File Kind = iota
	Dir
	Other
)

// String returns "file", "dir" or "other".
func (k Kind) String() string {
	switch k {
	case File:
		return "file"
	case Dir:
		return "dir"
	default:
		return "other"
	}
}

// Entry is what a server says about one name.
type Entry struct {
	// Name is the last path element, in the server's own bytes, of which there
	// are at most MaxName.
	Name string
	// Size is in bytes; -1 when the server doesn't say.
	Size int64
	// ModTime is in UTC, of a year from 1 to 9999; zero when the server doesn't
	// say.
	ModTime time.Time
	// Precision is how exact ModTime is: a nanosecond, a second, a minute or a day.
	Precision time.Duration
	// Yearless says that the server shows no year: that of ModTime is a guess.
	Yearless bool
	// Known says that size and time are those that were known (see Config.Known): what
	// the server shows, less exactly, is alike.
	Known bool
	// Kind says whether it is a file, a directory, or neither.
	Kind Kind
	// Unreadable says that Name is a line of the listing, of Kind Other, that nobody could
	// parse.
	Unreadable bool
	// Invalid is the exception under which this entry ends when something that
	// the server says about it can't be stored: listing_entry_invalid, where
	// Size is then -1 or ModTime zero, or name_too_long, where Name is the
	// beginning, a hash and the last four bytes. Empty for every other entry.
	Invalid string
	// Message says to people what is invalid.
	Message string
	// Attributes are what else the server says about it, for people, by the names that
	// its connector gives them: one line each, of at most 1,000 bytes. Nil: nothing.
	Attributes map[string]string
}

// Session is one logged-in connection to one server. All paths are relative to
// the base path of the URL, slash-separated; "" is the base itself. Methods may
// be called from several goroutines; a session serves no more than
// [Session.Concurrency] of them at a time, the others wait.
type Session interface {
	// List streams the entries of one directory, in the server's order. A
	// missing directory is an error that matches fs.ErrNotExist. An entry that
	// can't be used is yielded as Other and never fails the listing. When an
	// error is returned after entries were yielded, the listing is incomplete.
	// yield must not call the session.
	List(ctx context.Context, dir string, yield func(Entry) error) error
	// Stat describes one path, without following a symbolic link.
	Stat(ctx context.Context, path string) (Entry, error)
	// Open streams a file. sizeHint is the size that the listing gave (-1 when
	// unknown): small files are read in one go with it. What is delivered is
	// what the server has: a file that is shorter or longer than the hint
	// delivers fewer or more bytes, so the caller compares. io.Copy uses the
	// reader's fast path. ctx bounds the whole reading, not just the opening.
	Open(ctx context.Context, path string, sizeHint int64) (io.ReadCloser, error)
	// Concurrency is how many Opens are worth having under way at once.
	Concurrency() int
	// Close ends the session; it waits no longer than a few seconds.
	Close() error
}

// Config says where a source is and how to get in. Secrets are given resolved.
type Config struct {
	// URL is sftp://user@host:port/base, ftp://user@host/base, https://host/base,
	// http://host/base, s3://keyid@bucket/base or file:///dir.
	// An SFTP path is absolute, /~/x is below the login directory; an FTP path
	// is below the login directory.
	URL string
	// Password of the user, also used for keyboard-interactive login.
	Password string
	// IdentityFile is the path of a private key (SFTP). The certificate beside it,
	// IdentityFile-cert.pub, is offered too.
	IdentityFile string
	// IdentityAgent is the path of the socket of an ssh-agent, which signs with the
	// keys that it holds (SFTP).
	IdentityAgent string
	// IdentityPassphrase decrypts IdentityFile.
	IdentityPassphrase string
	// KnownHosts is the path of an OpenSSH known_hosts file (SFTP).
	KnownHosts string
	// HostKey holds pinned host keys, "SHA256:…" or "ssh-ed25519 AAAA…". When
	// set, only these count; several allow a rotation.
	HostKey []string
	// Jump holds the jump hosts through which the server is reached, user@host:port, in
	// order, MaxJumps at most (SFTP). Each is verified by KnownHosts and logged in to by
	// IdentityFile or IdentityAgent; Password and HostKey are the server's alone.
	Jump []string
	// ConnectTimeout bounds all of Dial, from the name's resolution to the
	// answer after which files can be asked for; 15 s by default.
	ConnectTimeout time.Duration
	// IdleTimeout bounds the whole reply to one request, counted from the
	// request, and the time without a byte of what is transferred; 60 s by
	// default.
	IdleTimeout time.Duration
	// Limits bound what the server sends.
	Limits Limits
	// Token logs in by the header Authorization: Bearer (HTTP).
	Token string
	// Cookie is what the header Cookie says to the base's server, "name=value; …"
	// (HTTP). What a server sets is not kept.
	Cookie string
	// Headers are what the base's server is told besides with each request, "Name: value",
	// one a line (HTTP).
	Headers string
	// Feed is the address of an RSS or Atom feed, relative to the base, that shows the
	// files below the base in place of index pages (HTTP). What it doesn't show may be
	// there all the same.
	Feed string
	// WebDAV has directories listed by PROPFIND, in place of index pages (HTTP).
	WebDAV bool
	// Proxy is the proxy through which the server is reached, http://user@host:port;
	// empty: none, whatever the environment says (HTTP).
	Proxy string
	// ProxyPassword is that of the proxy's user.
	ProxyPassword string
	// CAFile is the path of certificates, in PEM form, of those who vouch for the
	// server's (HTTPS); the system's by default.
	CAFile string
	// CertificatePin holds pinned public keys of the server's certificate,
	// "sha256//…" as curl writes them. When set, only these count, whoever vouches
	// for the certificate; several allow a rotation (HTTPS, FTPS).
	CertificatePin []string
	// Endpoint is the address of the server of a bucket, https://host:port; Amazon's in
	// Region by default (S3).
	Endpoint string
	// Region is where a bucket is; us-east-1 by default (S3).
	Region string
	// VirtualHosted asks bucket.host of Endpoint, not for host/bucket (S3).
	VirtualHosted bool
	// IgnoreRobots asks for what the server's robots.txt asks programs to leave
	// alone, and doesn't read it (HTTP).
	IgnoreRobots bool
	// DisableEPSV makes FTP use PASV only, for firewalls that break EPSV.
	DisableEPSV bool
	// Known tells what is known of entries of a directory from an earlier listing,
	// in their order: an Entry without a name where nothing is, or where that is to
	// be asked for again. Its error ends the listing as one of yield does. An FTP
	// server without MLSD is asked for the exact time of each file, at a round trip
	// each, but not of those that look the same; so is an HTTP server whose index
	// shows minutes and rounded sizes. It is called while the listing comes, and after
	// that again for what did not look the same. Nil: nothing is known.
	Known func(dir string, entries []Entry) ([]Entry, error)
	// Clock is what is known of the server's clock, and learns what the session shows of
	// it. Nil: nobody wants to know.
	Clock *Clock
	// Gate says when the server may be asked for something: a listing, what a file is,
	// or a file. Nil: whenever it is.
	Gate Gate
	// Trace notes the steps of Dial. Nil: nobody wants to know.
	Trace *Trace
}

// Gate keeps to the pace at which a server may be asked.
type Gate interface {
	// Ask waits until it may be. answered is to be called when it has answered, or
	// won't. Limits that package deadline has made of ctx stand still meanwhile.
	Ask(ctx context.Context) (answered func(), err error)
	// AtLeast has the gate keep a pause that the server asks for; 0: it asks for none.
	AtLeast(ctx context.Context, pause time.Duration)
	// Paced tells whether Ask may have to wait.
	Paced(ctx context.Context) bool
}

// Asking waits until the server may be asked for something.
func (c Config) Asking(ctx context.Context) (answered func(), err error) {
	if c.Gate == nil {
		return func() {}, ctx.Err()
	}
	return c.Gate.Ask(ctx)
}

// Paced tells whether the server may not be asked at any time, so that each question has
// to be asked for itself.
func (c Config) Paced(ctx context.Context) bool { return c.Gate != nil && c.Gate.Paced(ctx) }

// Defaults of Config, and what a session is worth doing at once.
const (
	DefaultConnectTimeout = 15 * time.Second
	DefaultIdleTimeout    = 60 * time.Second
)

// CopyBuffer is how many bytes of a file are read at once. A session makes one buffer of
// them: one for each small file would cost more than its bytes.
const CopyBuffer = 256 << 10

// CloseGrace is how long a polite goodbye may take.
const CloseGrace = 2 * time.Second

// Target is a parsed source URL.
type Target struct {
	// Scheme is one of those that [Examples] shows.
	Scheme string
	// User is the login name, "anonymous" by default for ftp.
	User string
	// Host and Port of the server; empty for file.
	Host, Port string
	// Base is the decoded path of the URL, cleaned, "/" when there is none.
	Base string
}

// Server returns host:port, the key under which sessions are counted; "file"
// for local directories.
func (t Target) Server() string {
	if t.Scheme == "file" {
		return "file"
	}
	return net.JoinHostPort(t.Host, t.Port)
}

// WithDefaults is the configuration with what it doesn't say.
func (c Config) WithDefaults() Config {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.Clock == nil {
		c.Clock = &Clock{}
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// Join puts a caller's path below the base and refuses to leave it.
func Join(base, p string) (string, error) {
	for _, el := range strings.Split(p, "/") {
		if el == ".." {
			return "", &Error{Op: "resolve", Path: p, Class: Misconfigured, Err: fmt.Errorf("path leaves the source: %q", p)}
		}
	}
	if strings.ContainsRune(p, 0) {
		return "", &Error{Op: "resolve", Path: p, Class: Misconfigured, Err: fmt.Errorf("path holds a NUL byte: %q", p)}
	}
	return path.Join(base, p), nil
}

// SafeName reports whether a listed name is exactly one path element.
func SafeName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// Acquire takes a slot, or returns the context's error; a context that has
// ended already takes none.
func Acquire(ctx context.Context, slots chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
