package access

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// providerPath is where people begin to log in with the provider.
const providerPath = loginPath + "/oidc"

// underWayFor is how long a login with the provider may take.
const underWayFor = 10 * time.Minute

// underWay is a login that has begun. The browser keeps it: only the one that has begun
// a login can end it.
type underWay struct {
	State, Nonce, Verifier, Next string
	Begun                        time.Time
}

func (g *Guard) providerRoutes() []Route {
	if g.deps.Provider == nil {
		return nil
	}
	return []Route{
		{"GET " + providerPath, Nobody, http.HandlerFunc(g.beginWithProvider)},
		{"GET " + providerPath + "/callback", Nobody, http.HandlerFunc(g.endWithProvider)},
	}
}

// ask asks the provider, of which few are asked at once.
func (g *Guard) ask(r *http.Request, ask func(context.Context) error) error {
	select {
	case g.asking <- struct{}{}:
		defer func() { <-g.asking }()
	default:
		return errBusy
	}
	ctx, done := context.WithTimeout(r.Context(), 2*providerTime)
	defer done()
	return ask(ctx)
}

// beginWithProvider sends a browser to the provider.
func (g *Guard) beginWithProvider(w http.ResponseWriter, r *http.Request) {
	l := underWay{State: newSecret(), Nonce: newSecret(), Verifier: oauth2.GenerateVerifier(), Next: g.local(r.URL.Query().Get("next")), Begun: g.deps.Now()}
	var to string
	err := g.ask(r, func(ctx context.Context) (err error) {
		to, err = g.deps.Provider.address(ctx, l)
		return err
	})
	if err == nil {
		var text []byte
		if text, err = json.Marshal(l); err == nil {
			http.SetCookie(w, g.underWayCookie(base64.RawURLEncoding.EncodeToString(text), int(underWayFor.Seconds())))
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
	}
	g.refuseProvider(w, r, err)
}

// underWayCookie comes back with a browser that another site sends here, as the
// provider does.
func (g *Guard) underWayCookie(value string, age int) *http.Cookie {
	name := "tributary-oidc"
	if g.cfg.Secure {
		name = "__Secure-" + name
	}
	return &http.Cookie{Name: name, Value: value, MaxAge: age, Path: g.cfg.Prefix + providerPath, Secure: g.cfg.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// begun is the login that a browser has begun and now ends.
func (g *Guard) begun(r *http.Request) (l underWay, ok bool) {
	cookies := r.CookiesNamed(g.underWayCookie("", 0).Name)
	if len(cookies) != 1 {
		return l, false
	}
	text, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil || json.Unmarshal(text, &l) != nil || l.State == "" || l.Nonce == "" {
		return l, false
	}
	age := g.deps.Now().Sub(l.Begun)
	return l, subtle.ConstantTimeCompare([]byte(l.State), []byte(r.URL.Query().Get("state"))) == 1 && age >= 0 && age < underWayFor
}

// endWithProvider lets somebody in whom the provider has sent back.
func (g *Guard) endWithProvider(w http.ResponseWriter, r *http.Request) {
	l, ok := g.begun(r)
	http.SetCookie(w, g.underWayCookie("", -1)) // it is used once
	code := r.URL.Query().Get("code")
	if !ok || code == "" || len(code) > maxForm {
		g.refuse(w, r, http.StatusBadRequest, loginOver)
		return
	}
	var secret, name string
	err := g.ask(r, func(ctx context.Context) error {
		subject, person, err := g.deps.Provider.who(ctx, l, code)
		if err != nil {
			return err
		}
		name = person.Name
		account, err := g.deps.Known(ctx, g.deps.Provider.cfg.Issuer, subject, person)
		if err != nil || account == nil {
			return err
		}
		secret, err = g.begin(ctx, account)
		return err
	})
	switch {
	case err != nil:
		g.refuseProvider(w, r, err)
	case secret == "":
		g.refuse(w, r, http.StatusForbidden, problem{notLetIn.name, notLetIn.title, "Your account here is disabled."})
	default:
		g.deps.Log.InfoContext(r.Context(), "logged in", "account", name, "with", g.deps.Provider.host, "from", g.address(r))
		g.enter(w, r, secret, g.local(l.Next))
	}
}

// refuseProvider says why somebody can't log in with the provider.
func (g *Guard) refuseProvider(w http.ResponseWriter, r *http.Request, err error) {
	unknown, refused := (*notKnownError)(nil), (*RefusedError)(nil)
	switch {
	case errors.Is(err, errBusy):
		g.refuse(w, r, http.StatusServiceUnavailable, busy)
	case errors.As(err, &unknown):
		g.deps.Log.WarnContext(r.Context(), "somebody whom the provider knows is not let in", "why", unknown.why, "from", g.address(r))
		g.refuse(w, r, http.StatusForbidden, problem{notLetIn.name, notLetIn.title, strings.Join([]string{g.deps.Provider.host, "says who you are, and that is not enough here.", unknown.why}, " ")})
	case errors.As(err, &refused):
		g.deps.Log.WarnContext(r.Context(), "somebody whom the provider knows is not let in", "why", refused.why, "from", g.address(r))
		g.refuse(w, r, http.StatusForbidden, problem{notLetIn.name, notLetIn.title, refused.why})
	default:
		g.deps.Log.ErrorContext(r.Context(), "can't log somebody in with the provider", "error", err)
		g.refuse(w, r, http.StatusBadGateway, providerAway)
	}
}
