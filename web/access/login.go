package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tributary/sql/control"
)

const (
	// computations is how many passwords are computed at once: each takes 19 MiB.
	computations = 2
	// waiters is how many there are at most, waiting or computed.
	waiters = 32
	// maxForm is the most that a login form may bring, in bytes. It has room for the
	// longest password, each of whose bytes may be written as three.
	maxForm = 8 << 10
	// logIn is the title of the pages on which people do.
	logIn = "Log in"
)

func (g *Guard) showLogin(w http.ResponseWriter, r *http.Request) {
	g.page(w, r, http.StatusOK, "login.html", map[string]any{"Title": logIn, "Next": g.local(r.URL.Query().Get("next"))})
}

// login lets somebody in who knows a name and its password.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		g.refuse(w, r, http.StatusRequestEntityTooLarge, tooLarge)
		return
	}
	name, next := strings.ToLower(strings.TrimSpace(r.PostForm.Get("name"))), g.local(r.PostForm.Get("next"))
	from := g.address(r)
	if wait := g.attempts.begin(g.deps.Now(), name, from); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		g.refuse(w, r, http.StatusTooManyRequests, tooMany)
		return
	}
	secret, err := g.admit(r, name, r.PostForm.Get("password"))
	switch {
	case secret != "":
		g.attempts.succeed(name, from)
		g.deps.Log.InfoContext(r.Context(), "logged in", "account", name, "from", from)
		g.enter(w, r, secret, next)
	case errors.Is(err, errBusy):
		g.attempts.withdraw(name, from)
		g.refuse(w, r, http.StatusServiceUnavailable, busy)
	case err != nil:
		g.attempts.withdraw(name, from)
		g.deps.Log.ErrorContext(r.Context(), "can't log somebody in", "error", err)
		g.refuse(w, r, http.StatusServiceUnavailable, unavailable)
	default:
		// The name is not told: it may be a password that was typed into the wrong field.
		g.deps.Log.WarnContext(r.Context(), "a login failed", "from", from)
		g.page(w, r, http.StatusUnauthorized, "login.html", map[string]any{"Title": logIn, "Next": next, "Wrong": true})
	}
}

// admit begins a session under a new secret for who knows the password; no secret for
// who doesn't. It takes as long for a name that nobody has.
func (g *Guard) admit(r *http.Request, name, password string) (secret string, err error) {
	ctx := r.Context()
	var account *control.Account
	if named.MatchString(name) {
		if account, err = g.deps.Store.Account(ctx, name); err != nil {
			return "", err
		}
	}
	if account != nil && account.Issuer != "" {
		account = nil // whose password is not ours to know
	}
	ok, err := g.compute(ctx, account, password)
	if err != nil || !ok || account.DisabledAt != nil {
		return "", err
	}
	return g.begin(ctx, account)
}

// begin begins a session of an account under a new secret; none if the account has
// changed meanwhile.
func (g *Guard) begin(ctx context.Context, account *control.Account) (secret string, err error) {
	now := g.deps.Now()
	secret = newSecret()
	begun, err := g.deps.Store.BeginSession(ctx, *account, digest(secret), now)
	if err != nil || !begun {
		return "", err
	}
	if err := g.deps.Store.ForgetSessions(ctx, now.Add(-g.cfg.Idle), account.Name, sessionsKept); err != nil {
		g.deps.Log.WarnContext(ctx, "old sessions stay for the next login to forget", "error", err)
	}
	return secret, nil
}

var errBusy = errors.New("too many passwords are being computed")

// compute tells whether it is the account's password. Few are computed at once, and
// not many wait.
func (g *Guard) compute(ctx context.Context, account *control.Account, password string) (bool, error) {
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return false, errBusy
	}
	select {
	case g.computing <- struct{}{}:
		defer func() { <-g.computing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if len(password) > maxPassword {
		password = "" // which none is
	}
	if account == nil {
		_, _ = isPassword("", password)
		return false, nil
	}
	ok, err := isPassword(account.Password, password)
	if err != nil {
		return false, fmt.Errorf("%s: %w", account.Name, err)
	}
	return ok, nil
}

// enter gives the browser its session in place of the one that it had.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, secret, next string) {
	if err := g.leave(r); err != nil {
		g.deps.Log.WarnContext(r.Context(), "a session that was replaced goes on until it is idle", "error", err)
	}
	http.SetCookie(w, g.cookie(secret))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// mostCookies is how many sessions one browser is taken to name.
const mostCookies = 4

// leave ends the session that a browser has.
func (g *Guard) leave(r *http.Request) error {
	var errs []error
	cookies := r.CookiesNamed(g.cookieName())
	for _, c := range cookies[:min(len(cookies), mostCookies)] {
		if secret := digest(c.Value); secret != nil {
			errs = append(errs, g.deps.Store.EndSession(r.Context(), secret))
		}
	}
	return errors.Join(errs...)
}

func (g *Guard) logout(w http.ResponseWriter, r *http.Request) {
	if err := g.leave(r); err != nil {
		// Without its cookie the browser would look logged out, and not be.
		g.deps.Log.ErrorContext(r.Context(), "can't log somebody out", "error", err)
		g.refuse(w, r, http.StatusServiceUnavailable, unavailable)
		return
	}
	gone := g.cookie("")
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	http.Redirect(w, r, g.cfg.Prefix+loginPath, http.StatusSeeOther)
}

// showLink asks who opens a link whether to use it: programs that look at links in
// mails and chats don't use it up.
func (g *Guard) showLink(w http.ResponseWriter, r *http.Request) {
	g.page(w, r, http.StatusOK, "link.html", map[string]any{"Title": logIn})
}

func (g *Guard) useLink(w http.ResponseWriter, r *http.Request) {
	now, secret := g.deps.Now(), newSecret()
	begun, link := false, digest(r.PathValue("secret"))
	if link != nil {
		var err error
		if begun, err = g.deps.Store.UseLink(r.Context(), link, digest(secret), now); err != nil {
			g.deps.Log.ErrorContext(r.Context(), "can't look for a link", "error", err)
			g.refuse(w, r, http.StatusServiceUnavailable, unavailable)
			return
		}
	}
	if !begun {
		g.refuse(w, r, http.StatusGone, linkOver)
		return
	}
	g.deps.Log.InfoContext(r.Context(), "logged in by a link", "from", g.address(r))
	g.enter(w, r, secret, g.cfg.Prefix+"/")
}
