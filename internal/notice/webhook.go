package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/infile"
)

const (
	// maxAnswer is read of a webhook's answer, and maxHeader of its headers, in bytes.
	maxAnswer = 64 << 10
	maxHeader = 16 << 10
	// minKey is how long a webhook's secret must be at least, in bytes.
	minKey = 24
)

// Webhook tells notices to a program by HTTP, signed as the Standard Webhooks
// convention has it. It goes to the configured address only, and follows no redirect.
type Webhook struct {
	url    string
	key    []byte
	client *http.Client
	now    func() time.Time
}

// NewWebhook makes a webhook. It fails if its address or its secret can't be read, or
// are none.
func NewWebhook(cfg config.NotifyTarget) (*Webhook, error) {
	address, err := cfg.Webhook.Resolve()
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	if !isHTTP(address) {
		return nil, errors.New("webhook: what the reference holds is no address: write https://host/path there")
	}
	secret, err := cfg.Secret.Resolve()
	if err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < minKey {
		return nil, fmt.Errorf("secret: it must be at least %d random bytes in base64, with or without whsec_ before them: openssl rand -base64 32 makes some", minKey)
	}
	client, err := newClient(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	return &Webhook{url: address, key: key, client: client, now: time.Now}, nil
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// newClient is an HTTP client that goes where it is told, and nowhere else.
func newClient(caFile string) (*http.Client, error) {
	config, err := trust(caFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, MaxConnsPerHost: 4, MaxResponseHeaderBytes: maxHeader,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout / 2, DisableCompression: true},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// trust is TLS with the authorities of a file in PEM; empty: the system's.
func trust(caFile string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile == "" {
		return c, nil
	}
	pem, err := infile.Read(caFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM", caFile)
	}
	return c, nil
}

// body is what a webhook gets.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Data      `json:"data"`
}

// Deliver posts a notice. Everything but an answer of 2xx is an error.
func (w *Webhook) Deliver(ctx context.Context, n Notice) error {
	n = n.Tidy()
	text, err := json.Marshal(body{n.Kind, n.Time.UTC(), n.Data})
	if err != nil {
		return &Refused{"a notice can't be written as JSON: " + err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(text))
	if err != nil {
		return errors.New("the webhook's address can't be used")
	}
	at := strconv.FormatInt(w.now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tributary")
	req.Header.Set("Webhook-Id", n.ID)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", sign(w.key, n.ID, at, text))
	resp, err := w.client.Do(req)
	if err != nil {
		return unnamed("the webhook can't be reached", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	return judge(resp.StatusCode)
}

// Close closes connections that nobody uses.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

// sign is the signature of a message: a version, and an HMAC of its id, of the moment
// in seconds at which it is sent, and of its body.
func sign(key []byte, id, at string, text []byte) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s.%s.", id, at)
	h.Write(text)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// judge says what an answer's status means: what is wrong with the notice itself is
// refused, all else is about the target.
func judge(code int) error {
	status := fmt.Sprintf("the webhook answers with HTTP status %d", code)
	switch {
	case code >= 200 && code < 300:
		return nil
	case code < 400:
		return errors.New(status + ", and no redirect is followed: correct its address")
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnsupportedMediaType, code == http.StatusUnprocessableEntity:
		return &Refused{status}
	}
	return errors.New(status)
}

// unnamed is an error of the HTTP client without the address, which may hold a secret.
func unnamed(what string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Ping asks an address once, by GET, and wants an answer of 2xx.
type Ping struct {
	url    string
	client *http.Client
}

// NewPing makes a Ping of an address, or of a reference to one.
func NewPing(address config.Secret) (*Ping, error) {
	url, err := address.Resolve()
	if err != nil {
		return nil, err
	}
	if !isHTTP(url) {
		return nil, errors.New("what the reference holds is no address: write https://host/path there")
	}
	client, err := newClient("")
	if err != nil {
		return nil, err
	}
	return &Ping{url, client}, nil
}

// Send asks once. An error doesn't tell the address.
func (p *Ping) Send(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return errors.New("the heartbeat's address can't be used")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return unnamed("the heartbeat can't be sent", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return fmt.Errorf("the heartbeat is answered with HTTP status %d", resp.StatusCode)
	}
	return nil
}
