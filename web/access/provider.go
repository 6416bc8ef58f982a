package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// ProviderConfig says with whom people log in who have no password here, by OpenID
// Connect, and what its groups may do.
type ProviderConfig struct {
	Issuer   string // https://…, as its tokens have it
	ClientID string
	Secret   func() (string, error) // of the client; read at each login, so that a new one counts at once
	URL      string                 // where browsers reach the pages, with the prefix
	// NameClaim and RoleClaim are the claims that have the account's name, and what
	// Roles speaks of: a text, or a list of texts.
	NameClaim, RoleClaim string
	Scopes               []string        // beside openid and profile
	Roles                map[string]Role // by a value of the role's claim; the highest counts
	Client               *http.Client    // nil: one that trusts what this machine trusts
}

// Provider knows people. It is asked for the first time when somebody logs in.
type Provider struct {
	cfg    ProviderConfig
	now    func() time.Time
	host   string
	client *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil: it was not found yet
}

const (
	// providerTime bounds one request to the provider, and maxAnswer its answer in bytes.
	providerTime = 10 * time.Second
	maxAnswer    = 1 << 20
	// askers is how many logins with the provider are under way here at once.
	askers = 16
)

// NewProvider makes a provider that nobody has asked yet.
func NewProvider(cfg ProviderConfig, now func() time.Time) *Provider {
	p := &Provider{cfg: cfg, now: now, host: cfg.Issuer}
	if u, err := url.Parse(cfg.Issuer); err == nil {
		p.host = u.Host
	}
	transport := http.DefaultTransport
	if cfg.Client != nil {
		transport = cfg.Client.Transport
	}
	p.client = &http.Client{Timeout: providerTime, Transport: bounded{transport}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the provider sends elsewhere")
	}}
	return p
}

// bounded ends answers that are longer than a provider's are.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// provider is what the provider says about itself, asked once.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
		if err != nil {
			return nil, fmt.Errorf("web.oidc.issuer %s: %w", p.cfg.Issuer, err)
		}
		p.found = found
	}
	return p.found, nil
}

func (p *Provider) oauth(found *oidc.Provider, secret string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: secret, Endpoint: found.Endpoint(), RedirectURL: strings.TrimSuffix(p.cfg.URL, "/") + providerPath + "/callback",
		Scopes: append([]string{oidc.ScopeOpenID, "profile"}, p.cfg.Scopes...)}
}

// address is where a browser is sent to log in, with what it must bring back.
func (p *Provider) address(ctx context.Context, l underWay) (string, error) {
	found, err := p.provider(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(found, "").AuthCodeURL(l.State, oidc.Nonce(l.Nonce), oauth2.S256ChallengeOption(l.Verifier)), nil
}

// notKnownError says why somebody is not let in whom the provider knows.
type notKnownError struct{ why string }

func (e *notKnownError) Error() string { return e.why }

// who is who has logged in, by the code that the browser brings.
func (p *Provider) who(ctx context.Context, l underWay, code string) (subject string, person Person, err error) {
	found, err := p.provider(ctx)
	if err != nil {
		return "", person, err
	}
	secret, err := p.cfg.Secret()
	if err != nil {
		return "", person, fmt.Errorf("web.oidc.client_secret: %w", err)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(found, secret).Exchange(ctx, code, oauth2.VerifierOption(l.Verifier))
	if err != nil {
		return "", person, fmt.Errorf("exchange the code of a login: %w", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return "", person, errors.New("the provider sends no id_token")
	}
	id, err := found.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return "", person, fmt.Errorf("the provider's id_token: %w", err)
	}
	if id.Nonce != l.Nonce {
		return "", person, errors.New("the provider's id_token is of another login")
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return "", person, fmt.Errorf("the provider's id_token: %w", err)
	}
	person, err = p.person(claims)
	return id.Subject, person, err
}

// person is what the claims make of somebody.
func (p *Provider) person(claims map[string]any) (Person, error) {
	name, _ := claims[p.cfg.NameClaim].(string)
	person := Person{Name: strings.ToLower(name)}
	if !named.MatchString(person.Name) {
		return Person{}, &notKnownError{fmt.Sprintf("Its claim %s is no name of an account here, which has 1 to 64 letters, digits and . _ @ -.", p.cfg.NameClaim)}
	}
	if verified, said := claims["email_verified"].(bool); p.cfg.NameClaim == "email" && (!said || !verified) {
		return Person{}, &notKnownError{"It does not say that your address was verified."}
	}
	values := []any{claims[p.cfg.RoleClaim]}
	if list, ok := claims[p.cfg.RoleClaim].([]any); ok {
		values = list
	}
	for _, v := range values {
		if group, ok := v.(string); ok {
			person.Role = max(person.Role, p.cfg.Roles[group])
		}
	}
	if person.Role == Nobody {
		return Person{}, &notKnownError{fmt.Sprintf("Nothing in its claim %s has a role here. Whoever runs Tributary can give it one.", p.cfg.RoleClaim)}
	}
	return person, nil
}
