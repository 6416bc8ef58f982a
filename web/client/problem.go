package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// problem is what a server says that it can't do.
func (c *Client) problem(ctx context.Context, status int, body []byte) error {
	var p struct {
		Type, Detail string
		Errors       []struct{ Message, Location string }
	}
	if json.Unmarshal(body, &p) != nil {
		return c.another(ctx)
	}
	if status == http.StatusUnauthorized {
		return fmt.Errorf("%s does not know the token: it has expired, was revoked, or is another server's; tributary tokens add makes one there", c.server)
	}
	if status == http.StatusUnprocessableEntity { // the address is not as the server has it
		for _, e := range p.Errors {
			if e.Message == "unknown query parameter" {
				return c.another(ctx)
			}
			p.Detail += "; " + strings.TrimPrefix(e.Location, "query.") + ": " + e.Message
		}
	}
	return &Error{Name: p.Type[strings.LastIndex(p.Type, "/")+1:], Status: status, Detail: p.Detail}
}

// another says that the server is of another version, or no Tributary at all.
func (c *Client) another(ctx context.Context) error {
	var document struct {
		Info struct{ Title, Version string }
	}
	a, err := c.ask(ctx, "/openapi.json", nil)
	if err != nil {
		return err
	}
	if a.code != http.StatusOK || json.Unmarshal(a.body, &document) != nil || document.Info.Title != "Tributary" {
		return fmt.Errorf("at %s there is no Tributary that can be asked: name the address of its pages, with the path below which they are", c.server)
	}
	return fmt.Errorf("%s runs version %s of Tributary, which can't answer this question of version %s: use a program of its version", c.server, document.Info.Version, c.version)
}

// unreachable says in plain words why there is no answer.
func (c *Client) unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var address *url.Error
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has a certificate of nobody whom this machine knows: get the certificate of whoever signed it from those who run the server, and name it with --ca-file", c.server)
	case errors.As(err, &host):
		return fmt.Errorf("%s has a certificate that is not for this name: %w", c.server, host)
	case errors.As(err, &invalid):
		return fmt.Errorf("%s has a certificate that is not good: %w", c.server, invalid)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s answers without TLS, so that the token would be read on the way: those who run it must give it a certificate", c.server)
	case errors.As(err, &address):
		err = address.Err // without the address, which has the question in it
	}
	return fmt.Errorf("%s can't be reached: %w", c.server, err)
}
