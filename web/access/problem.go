package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problem says why somebody was not let in: to programs as RFC 9457 has it, to people
// as a page.
type problem struct {
	name   string // stable, the end of the problem's type
	title  string
	detail string
}

//nolint:gochecknoglobals // structs can't be constants
var (
	unauthenticated = problem{"unauthenticated", "Say who you are", "Send a token that is good (Authorization: Bearer …), or log in."}
	crossOrigin     = problem{"cross_origin", "Another site asks", "What another site has a browser ask for is not answered. Go to the page itself and try there."}
	unavailable     = problem{"store_unavailable", "Not now", "Who may do what can't be looked up at the moment. Try again in a minute."}
	busy            = problem{"busy", "Not now", "Too many people log in at the same time. Try again in a minute."}
	tooMany         = problem{"too_many_attempts", "Not so fast", "Too many logins have failed. Wait, then try again."}
	tooLarge        = problem{"too_large", "Too much", "The form is larger than a name and a password are."}
	loginOver       = problem{"login_over", "This login is over", "It took longer than ten minutes, was begun in another browser, or was ended. Begin again."}
	notLetIn        = problem{"not_let_in", "You are not let in", "The provider says who you are, and that is not enough here."}
	providerAway    = problem{"provider_unavailable", "Not now", "The provider that knows you does not answer as it should; the log of tributary says why. Try again in a minute."}
	tooManyLinks    = problem{"too_many_attempts", "Not so fast", "Too many links that lead nowhere have been tried. Wait, then try again."}
	linkUnknown     = problem{"link_unknown", "This link leads nowhere", "It has ended, was revoked, or was not copied whole. Whoever gave it to you can make another."}
	linkOver        = problem{"link_over", "This link is over", "It was used, or is older than ten minutes. Whoever runs Tributary can make another: tributary login-link."}
)

func forbidden(p Person, least Role) problem {
	return problem{"forbidden", "You may not do that", fmt.Sprintf("You are %s, a %s; this is for the role %s and those above. An operator can change that.", p.Name, p.Role, least)}
}

// forPrograms tells whether what asks is a program: it gets no page.
func forPrograms(r *http.Request) bool {
	_, token := bearer(r)
	byLink := strings.HasPrefix(r.URL.Path, CentrePath+"/") && strings.Contains(r.URL.Path, apiPath)
	return token || byLink || strings.HasPrefix(r.URL.Path, apiPath) || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, status int, p problem) {
	if !forPrograms(r) {
		g.page(w, r, status, "refused.html", map[string]any{"Title": p.title, "Detail": p.detail})
		return
	}
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"/problems/" + p.name, p.title, status, p.detail})
	if err != nil {
		g.deps.Log.ErrorContext(r.Context(), "can't write a problem", "error", err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// page writes a page. Who reads it is told nothing of what goes wrong meanwhile.
func (g *Guard) page(w http.ResponseWriter, r *http.Request, status int, name string, data map[string]any) {
	data["Prefix"] = g.cfg.Prefix
	if g.deps.Provider != nil {
		data["Provider"] = g.deps.Provider.host
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := g.templates.ExecuteTemplate(w, name, data); err != nil {
		g.deps.Log.DebugContext(r.Context(), "can't write a page", "page", name, "error", err)
	}
}
