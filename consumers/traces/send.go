package traces

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tributary/internal/config"
)

// Bounds of what a collector may do.
const (
	requestTimeout = 10 * time.Second // for the whole answer to one request
	maxAnswer      = 64 << 10         // read of an answer, in bytes
	maxHeader      = 16 << 10         // of its headers, in bytes
)

// exporter sends requests to a collector over HTTP. It is safe for concurrent use.
type exporter struct {
	url           string
	authorization string
	client        *http.Client
}

// newExporter makes the client of a collector. Nothing is sent yet.
func newExporter(cfg config.Traces) (*exporter, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, errors.New("traces.endpoint can't be read as an address: write http://host:4318 or https://host")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	c := &exporter{url: u.String()}
	if c.authorization, err = cfg.Authorization.Resolve(); err != nil {
		return nil, fmt.Errorf("traces.authorization: %w", err)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: 1, MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: requestTimeout, DisableCompression: true,
	}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("traces.ca_file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("traces.ca_file: %s holds no certificate in PEM", cfg.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	c.client = &http.Client{Transport: transport, Timeout: requestTimeout,
		// A redirect would take the authorization to whom nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// refusal says that the collector won't have a request, whenever it comes.
type refusal struct{ status string }

func (r *refusal) Error() string { return "the collector refuses spans: " + r.status }

// send sends one request and returns how many of its spans the collector took. An
// error is a *refusal, or one for which to try again.
func (c *exporter) send(ctx context.Context, r request) (taken int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(r.body))
	if err != nil {
		return 0, fmt.Errorf("a request to traces.endpoint: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "tributary")
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("the collector at traces.endpoint can't be reached: %w", err)
	}
	defer resp.Body.Close()
	answer, readErr := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	status := fmt.Sprintf("HTTP status %d", resp.StatusCode)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		if readErr != nil {
			return r.spans, nil // the status has said that they are taken
		}
		return r.spans - refused(answer, r.spans), nil
	case code < 400, code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusProxyAuthRequired:
		return 0, fmt.Errorf("the collector answers with %s: correct traces.endpoint or traces.authorization", status)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return 0, fmt.Errorf("the collector has no time: %s", status)
	}
	return 0, &refusal{status}
}

// refused is how many spans an answer says were not taken, at most as many as were
// sent: an ExportTraceServiceResponse with a partial success (field 1), which has
// the number (field 1). An answer that is none says nothing.
func refused(answer []byte, sent int) int {
	number, ok := field(answer, 1, protowire.BytesType)
	if !ok {
		return 0
	}
	partial, n := protowire.ConsumeBytes(number)
	if n < 0 {
		return 0
	}
	value, ok := field(partial, 1, protowire.VarintType)
	if !ok {
		return 0
	}
	rejected, n := protowire.ConsumeVarint(value)
	if n < 0 || int64(rejected) < 0 {
		return 0
	}
	return int(min(int64(rejected), int64(sent)))
}

// field finds the value of a message's first field of that number and type.
func field(message []byte, number protowire.Number, kind protowire.Type) (value []byte, ok bool) {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		if num == number && typ == kind {
			return message, true
		}
		if n = protowire.ConsumeFieldValue(num, typ, message); n < 0 {
			return nil, false
		}
		message = message[n:]
	}
	return nil, false
}
