// Package client asks another Tributary through its API, as commands do with --server:
// it needs neither a database nor a configuration. The certificate is verified always,
// and the token goes to the server that was named and to nobody else.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"tributary/web/access"
)

const (
	// base is the path of the API on a server.
	base = "/api/v1"
	// timeout is how long one answer may take.
	timeout = time.Minute
	// orderTimeout is how long an order may take, which may compare or choose all files.
	orderTimeout = 6 * time.Minute
	// maxAnswer bounds one answer, in bytes.
	maxAnswer = 64 << 20
)

// Config says whom to ask.
type Config struct {
	// Server is the address of the pages, such as https://tracker.example.org/tributary.
	// Without TLS it must be on this machine.
	Server string
	// Token is what tributary tokens add has printed.
	Token string
	// Link is a centre's link, in place of Server and Token: a secret, which no error names.
	Link string
	// CAFile is a file in PEM with certificates that are trusted besides the system's;
	// empty: none.
	CAFile string
	// Version is that of this program, for errors.
	Version string
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	server  *url.URL
	below   string // of a centre's link: the path with its secret
	token   string // empty: a link's
	version string
	http    *http.Client
	at      string            // the moment that is asked about, as addresses have it; empty: now
	said    func(text string) // is told how far the history goes
}

// Error is a problem that the server tells.
type Error struct {
	Name   string // stable, the end of the problem's type, such as bad_filter
	Status int
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// New makes a client, which asks nothing yet. An address or a file that can't be is an
// error that says what to do.
func New(cfg Config) (*Client, error) {
	below := ""
	if cfg.Link != "" {
		var err error
		if cfg.Server, below, err = linked(cfg.Link); err != nil {
			return nil, err
		}
	}
	server, err := url.Parse(strings.TrimSuffix(cfg.Server, "/"))
	switch {
	case err != nil || server.Hostname() == "" || server.Scheme != "https" && server.Scheme != "http" || server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return nil, fmt.Errorf("%q is no address of a server: write it as https://HOST:PORT, with the path of its pages behind it if they have one", cfg.Server)
	case server.Scheme == "http" && !loopback(server.Hostname()):
		return nil, fmt.Errorf("%s is without TLS, and the token would be read on the way: write https", cfg.Server)
	case cfg.Token == "" && below == "":
		return nil, errors.New("a token is needed: whoever runs the server makes one (tributary tokens add)")
	case strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the token has characters that none has: give what tributary tokens add has printed, and nothing else")
	}
	roots, err := trusted(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, MaxIdleConnsPerHost: 1, ForceAttemptHTTP2: true,
	}
	return &Client{server: server, below: below, token: cfg.Token, version: cfg.Version, http: &http.Client{
		Timeout: timeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
	}}, nil
}

// At is a client that asks how it stood at a moment, where that can be asked. How far
// the history goes is said once, before the first answer is returned.
func (c *Client) At(at time.Time, said func(text string)) *Client {
	then := *c
	then.at = at.UTC().Format(time.RFC3339Nano)
	then.said = func(text string) {
		then.said = nil
		said(text)
	}
	return &then
}

// Moment is the moment that is asked about, as addresses have it; empty: now.
func (c *Client) Moment() string { return c.at }

// Close closes what is open to the server.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// linked is the address of the pages and the path of a centre's link.
func linked(link string) (server, below string, err error) {
	link = strings.TrimSuffix(link, "/")
	at := max(strings.LastIndex(link, access.CentrePath+"/"), 0)
	server, secret := link[:at], strings.TrimPrefix(link[at:], access.CentrePath+"/")
	if at == 0 || secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/?#%", r) }) {
		return "", "", errors.New("this is no centre's link: give its whole address, as https://HOST/c/…")
	}
	return server, access.CentrePath + "/" + secret, nil
}

// loopback tells whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// trusted are the certificates that are trusted; nil: the system's.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates to trust: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

// get reads the answer to a question into what is given; path is escaped.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	if c.at != "" {
		query = maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		query.Set("as_of", c.at)
	}
	a, err := c.ask(ctx, path, query)
	if err != nil {
		return err
	}
	return c.read(ctx, a, into)
}

// send gives an order, once also where it has to be sent twice since no answer came. Other
// header fields are given as names and values.
func (c *Client) send(ctx context.Context, path string, order, into any, header ...string) error {
	body, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.server, err)
	}
	header = append(header, "Idempotency-Key", uuid.NewString())
	a, err := c.post(ctx, path, body, header...)
	if err != nil && ctx.Err() == nil {
		a, err = c.post(ctx, path, body, header...)
	}
	if err != nil {
		return err
	}
	return c.read(ctx, a, into)
}

// post sends JSON once, with other header fields given as names and values, and reads what
// is answered.
func (c *Client) post(ctx context.Context, path string, body []byte, header ...string) (answer, error) {
	r, err := c.request(ctx, http.MethodPost, path, nil, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return c.do(c.patient(), r)
}

// patient waits for an answer as long as an order may take.
func (c *Client) patient() *http.Client {
	long := *c.http
	long.Timeout = orderTimeout
	return &long
}

// read reads an answer into what is given.
func (c *Client) read(ctx context.Context, a answer, into any) error {
	switch {
	case (a.code == http.StatusOK || a.code == http.StatusCreated) && a.kind == "application/json":
		if c.said != nil && a.history != "" {
			c.said(a.history)
		}
		if json.Unmarshal(a.body, into) != nil {
			return c.another(ctx)
		}
		return nil
	case a.kind == "application/problem+json":
		return c.problem(ctx, a.code, a.body)
	case a.code >= 300 && a.code < 400:
		return fmt.Errorf("%s sends to another address, %q: if that is right, name it as the server", c.server, a.location)
	case a.code == http.StatusNotFound, a.code == http.StatusOK:
		return c.another(ctx)
	}
	return fmt.Errorf("%s answers %s, and not as Tributary does: something between may have answered for it", c.server, a.status)
}

// answer is what a server has answered.
type answer struct {
	code           int
	status         string // the same for people
	kind, location string // its media type, and where it sends to
	history        string // of a moment: how far the history goes, for people
	body           []byte
}

// ask sends a question, and reads what is answered.
func (c *Client) ask(ctx context.Context, path string, query url.Values) (answer, error) {
	r, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return answer{}, err
	}
	return c.do(c.http, r)
}

// request is what is asked of the server.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	address := c.server.String() + c.below + base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.server, err)
	}
	if c.below == "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// do sends a request, and reads what is answered.
func (c *Client) do(by *http.Client, r *http.Request) (answer, error) {
	response, err := by.Do(r)
	if err != nil {
		return answer{}, c.unreachable(err)
	}
	defer response.Body.Close()
	return c.answered(response)
}

// answered reads an answer.
func (c *Client) answered(response *http.Response) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{}, c.unreachable(err)
	}
	if len(body) > maxAnswer {
		return answer{}, fmt.Errorf("%s answers more than %d MiB: ask for less", c.server, maxAnswer>>20)
	}
	a := answer{code: response.StatusCode, status: response.Status, location: response.Header.Get("Location"), history: response.Header.Get("Tributary-History"), body: body}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil {
		a.kind = kind
	}
	return a, nil
}
