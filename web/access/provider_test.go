package access

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// idp is a provider that lets everybody in at once, as its claims say.
type idp struct {
	*httptest.Server

	t      *testing.T
	key    *rsa.PrivateKey
	now    func() time.Time
	claims map[string]any      // of the next token, over the usual ones
	seen   map[string][]string // form of the last exchange
	nonce  string
	token  func(signed string) string // what becomes of it; nil: nothing
	away   bool
}

func newIDP(t *testing.T, now func() time.Time) *idp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &idp{t: t, key: key, now: now, claims: map[string]any{}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if p.away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		answer(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		p.nonce = q.Get("nonce")
		if q.Get("code_challenge_method") != "S256" || q.Get("scope") != "openid profile" || len(q.Get("state")) < 20 || len(p.nonce) < 20 {
			t.Errorf("asked with %v", q)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.seen = r.PostForm
		if _, secret, _ := r.BasicAuth(); secret != "s3cret" || r.PostForm.Get("code") != "c" || r.PostForm.Get("code_verifier") == "" {
			http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
			return
		}
		signed := p.sign()
		if p.token != nil {
			signed = p.token(signed)
		}
		answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": signed})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *idp) sign() string {
	claims := map[string]any{"iss": p.URL, "aud": "tributary", "sub": "42", "exp": p.now().Add(time.Minute).Unix(), "iat": p.now().Unix(), "nonce": p.nonce,
		"preferred_username": "Ann", "groups": []string{"everybody", "wranglers"}}
	for name, v := range p.claims {
		claims[name] = v
	}
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: "1"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// withProvider serves pages to those whom a provider knows.
func withProvider(t *testing.T, pool *pgxpool.Pool, p *idp, c *clock) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	provider := NewProvider(ProviderConfig{Issuer: p.URL, ClientID: "tributary", URL: server.URL + "/", NameClaim: "preferred_username", RoleClaim: "groups",
		Secret: func() (string, error) { return "s3cret", nil }, Roles: map[string]Role{"everybody": Reader, "wranglers": Wrangler, "operators": Operator}}, c.Now)
	g := New(Config{}, Deps{Store: Control{pool}, Provider: provider, Known: Accounts{Pool: pool, Now: c.Now, cost: cheap}.Known, Now: c.Now, Log: slog.New(slog.DiscardHandler)})
	for _, r := range g.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	mux.Handle("GET /", g.Require(Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := From(r.Context())
		fmt.Fprintf(w, "at %s: %s, %s", r.URL.Path, who.Name, who.Role)
	})))
	return server
}

// browser follows where it is sent, with cookies of its own.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func opened(t *testing.T, b *http.Client, address string) (status int, body string) {
	t.Helper()
	answer, err := b.Get(address) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	if _, err := fmt.Fprint(&text, readAll(t, answer)); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text.String()
}

func readAll(t *testing.T, answer *http.Response) string {
	t.Helper()
	var b strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := answer.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			return b.String()
		}
	}
}

// Whom the provider knows gets in, to the page that was asked for, with the role of
// their groups and under the name that it says.
func TestProvider(t *testing.T) {
	pool, c := controltest.Open(t, 4), newClock()
	p := newIDP(t, c.Now)
	server := withProvider(t, pool, p, c)
	if _, body := opened(t, browser(t), server.URL+"/login?next=/files"); !strings.Contains(body, `href="/login/oidc?next=%2ffiles"`) && !strings.Contains(body, `href="/login/oidc?next=/files"`) {
		t.Errorf("the login page offers no provider:\n%s", body)
	}
	b := browser(t)
	if status, body := opened(t, b, server.URL+"/login/oidc?next=/files"); status != 200 || body != "at /files: ann, wrangler" {
		t.Fatalf("%d %s", status, body)
	}
	// Another role at the next login counts for all of the account's sessions.
	p.claims["groups"] = "everybody"
	if status, body := opened(t, browser(t), server.URL+"/login/oidc?next=//evil.example.org/"); status != 200 || body != "at /: ann, reader" {
		t.Fatalf("%d %s", status, body)
	}
	if _, body := opened(t, b, server.URL+"/x"); body != "at /x: ann, reader" {
		t.Errorf("the session of before: %s", body)
	}
	changes, err := control.AccountChanges(t.Context(), pool, control.AccountChangeFilter{Limit: 10})
	if err != nil || len(changes) != 2 || changes[0].What != "wrangler → reader" || changes[0].ChangedBy != p.URL {
		t.Errorf("written down: %+v, %v", changes, err)
	}

	accounts := Accounts{Pool: pool, Now: c.Now, cost: cheap}
	if err := accounts.SetPassword(t.Context(), "ann", "correct horse battery", Order{By: "t"}); !Refused(err) {
		t.Errorf("a password here is set: %v", err)
	}
	if err := accounts.Edit(t.Context(), Person{Name: "ann", Role: Operator}, Order{By: "t"}); !Refused(err) {
		t.Errorf("another role is given: %v", err)
	}
	if answer, err := http.PostForm(server.URL+"/login", url.Values{"name": {"ann"}, "password": {""}}); err != nil || answer.StatusCode != http.StatusUnauthorized { //nolint:noctx // the test's own server
		t.Errorf("with an empty password: %v, %v", answer, err)
	}
	if err := accounts.Disable(t.Context(), "ann", Order{By: "t"}); err != nil {
		t.Fatal(err)
	}
	if status, body := opened(t, browser(t), server.URL+"/login/oidc"); status != http.StatusForbidden || !strings.Contains(body, "is disabled") {
		t.Errorf("disabled: %d %s", status, body)
	}
}

// Nobody else gets in: what is not of this login, of this provider, for this program,
// signed and in time is refused, and nobody takes another's account.
func TestProviderRefuses(t *testing.T) {
	pool, c := controltest.Open(t, 4), newClock()
	accounts := Accounts{Pool: pool, Now: c.Now, cost: cheap}
	if err := accounts.Add(t.Context(), Person{Name: "root", Role: Operator}, "correct horse battery", Order{By: "t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.Known(t.Context(), "https://other.example.org", "7", Person{Name: "ben", Role: Reader}); err != nil {
		t.Fatal(err)
	}
	unsigned := func(signed string) string {
		parts := strings.Split(signed, ".")
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	}
	for name, it := range map[string]struct {
		claims map[string]any
		token  func(string) string
		status int
		want   string
	}{
		"no group that has a role": {claims: map[string]any{"groups": []any{"others", 7}}, status: 403, want: "Nothing in its claim groups has a role here"},
		"no groups":                {claims: map[string]any{"groups": nil}, status: 403, want: "Nothing in its claim groups has a role here"},
		"no name":                  {claims: map[string]any{"preferred_username": nil}, status: 403, want: "is no name of an account"},
		"a hostile name":           {claims: map[string]any{"preferred_username": "<script>"}, status: 403, want: "is no name of an account"},
		"an account of here":       {claims: map[string]any{"preferred_username": "root"}, status: 403, want: "logs in here, with a password"},
		"somebody else's account":  {claims: map[string]any{"preferred_username": "ben"}, status: 403, want: "the account of somebody else"},
		"another login's token":    {claims: map[string]any{"nonce": "n"}, status: 502, want: "Not now"},
		"another program's token":  {claims: map[string]any{"aud": "wiki"}, status: 502, want: "Not now"},
		"another provider's token": {claims: map[string]any{"iss": "https://evil.example.org"}, status: 502, want: "Not now"},
		"a token that is over":     {claims: map[string]any{"exp": 1}, status: 502, want: "Not now"},
		"a token without a seal":   {token: unsigned, status: 502, want: "Not now"},
		"another's seal":           {token: func(s string) string { return s[:len(s)-8] + "AAAAAAAA" }, status: 502, want: "Not now"},
		"no token":                 {token: func(string) string { return "" }, status: 502, want: "Not now"},
		"an endless token":         {token: func(string) string { return strings.Repeat("x", maxAnswer) }, status: 502, want: "Not now"},
	} {
		p := newIDP(t, c.Now)
		p.claims, p.token = it.claims, it.token
		server := withProvider(t, pool, p, c)
		b := browser(t)
		status, body := opened(t, b, server.URL+"/login/oidc")
		if status != it.status || !strings.Contains(body, it.want) || strings.Contains(body, "<script>") {
			t.Errorf("%s: %d, want %d and %q\n%s", name, status, it.status, it.want, body)
		}
		if _, body := opened(t, b, server.URL+"/"); strings.Contains(body, "at /:") {
			t.Errorf("%s: is in: %s", name, body)
		}
	}
	if all, err := control.Accounts(t.Context(), pool); err != nil || len(all) != 2 {
		t.Errorf("accounts: %+v, %v", all, err)
	}
}

// A login is ended by the browser that has begun it, once, and in time.
func TestProviderLoginIsOnesOwn(t *testing.T) {
	pool, c := controltest.Open(t, 4), newClock()
	p := newIDP(t, c.Now)
	server := withProvider(t, pool, p, c)
	begin := func() (b *http.Client, back string) {
		b = browser(t)
		b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.Path, "/login/oidc/callback") {
				back = r.URL.String()
				return http.ErrUseLastResponse
			}
			return nil
		}
		opened(t, b, server.URL+"/login/oidc")
		b.CheckRedirect = nil
		return b, back
	}
	b, back := begin()
	if status, body := opened(t, browser(t), back); status != http.StatusBadRequest || !strings.Contains(body, "This login is over") {
		t.Errorf("another browser: %d %s", status, body)
	}
	other, _ := begin()
	if status, _ := opened(t, other, back); status != http.StatusBadRequest {
		t.Errorf("another login's answer: %d", status)
	}
	p.nonce = nonceOf(t, b, server)
	if status, body := opened(t, b, back); status != 200 || body != "at /: ann, wrangler" {
		t.Errorf("the browser that has begun it: %d %s", status, body)
	}
	if status, _ := opened(t, b, back); status != http.StatusBadRequest {
		t.Errorf("a second time: %d", status)
	}
	b, back = begin()
	c.move(underWayFor)
	if status, _ := opened(t, b, back); status != http.StatusBadRequest {
		t.Errorf("too late: %d", status)
	}

	p.away = true
	server = withProvider(t, pool, p, c)
	if status, body := opened(t, browser(t), server.URL+"/login/oidc"); status != http.StatusBadGateway || strings.Contains(body, "away") {
		t.Errorf("a provider that is away: %d %s", status, body)
	}
	p.away = false
	if status, body := opened(t, browser(t), server.URL+"/login/oidc"); status != 200 || !strings.Contains(body, "ann") {
		t.Errorf("once it is back: %d %s", status, body)
	}
}

// nonceOf is what the browser keeps of its login.
func nonceOf(t *testing.T, b *http.Client, server *httptest.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL + providerPath)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.Jar.Cookies(u)
	if len(kept) != 1 {
		t.Fatalf("the browser keeps %v", kept)
	}
	text, err := base64.RawURLEncoding.DecodeString(kept[0].Value)
	var l underWay
	if err = errors.Join(err, json.Unmarshal(text, &l)); err != nil {
		t.Fatal(err)
	}
	return l.Nonce
}
