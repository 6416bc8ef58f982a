package pages

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// themeKept is how long a browser keeps the theme that was chosen.
const themeKept = 365 * 24 * time.Hour

// setTheme keeps the theme in a cookie and leads back to the page where it was chosen.
func (s *Site) setTheme(w http.ResponseWriter, r *http.Request) { s.chooseTheme(w, r, s.back(r)) }

// chooseTheme keeps the theme in a cookie, and leads to a page.
func (s *Site) chooseTheme(w http.ResponseWriter, r *http.Request, to string) {
	c := http.Cookie{Name: "theme", Value: r.PostFormValue("theme"), Path: s.Prefix + "/", MaxAge: int(themeKept.Seconds()),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode}
	switch c.Value {
	case "light", "dark":
	case "auto":
		c.Value, c.MaxAge = "", -1
	default:
		http.Error(w, "The theme is auto, light or dark.", http.StatusBadRequest)
		return
	}
	http.SetCookie(w, &c)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// themeOf is the theme that a browser keeps: auto, light or dark.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return "auto"
}

// back is the page of ours that a request comes from, as a path: never an address of
// somebody else, whatever the request says.
func (s *Site) back(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host || !strings.HasPrefix(from.Path, s.Prefix+"/") || strings.HasPrefix(from.Path, "//") || strings.Contains(from.Path, `\`) {
		return s.Prefix + "/"
	}
	return (&url.URL{Path: from.Path, RawPath: from.RawPath, RawQuery: from.RawQuery}).String()
}

// keyOf is the letter that leads to a page after g; empty: none.
func keyOf(address string) string {
	return map[string]string{"/": "n", "/files": "f", "/sources": "s", "/analytics": "a"}[address]
}
