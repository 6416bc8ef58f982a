package pages_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// The theme is kept in a cookie, and leads back to where it was chosen: to a page of
// ours, whatever the request says that it comes from.
func TestTheme(t *testing.T) {
	server := open(t)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		theme, from  string
		status       int
		cookie, back string
	}{
		{"dark", server.URL + "/t/files?phase=xsd&q=%2F", http.StatusSeeOther, "theme=dark; Path=/t/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/t/files?phase=xsd&q=%2F"},
		{"auto", server.URL + "/t/", http.StatusSeeOther, "theme=; Path=/t/; Max-Age=0; HttpOnly; SameSite=Lax", "/t/"},
		{"light", "https://evil.example/t/", http.StatusSeeOther, "theme=light; Path=/t/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/t/"},
		{"light", "http://" + host + "//evil.example/", http.StatusSeeOther, "theme=light; Path=/t/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/t/"},
		{"light", "", http.StatusSeeOther, "theme=light; Path=/t/; Max-Age=31536000; HttpOnly; SameSite=Lax", "/t/"},
		{"pink; Path=/", server.URL + "/t/", http.StatusBadRequest, "", ""},
	} {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/t/theme", strings.NewReader(url.Values{"theme": {c.theme}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Referer", c.from)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || answer.Header.Get("Set-Cookie") != c.cookie || answer.Header.Get("Location") != c.back {
			t.Errorf("%s from %s: %d, %q to %q", c.theme, c.from, answer.StatusCode, answer.Header.Get("Set-Cookie"), answer.Header.Get("Location"))
		}
	}
}

// A page is shown in the theme that was chosen, without a script.
func TestPagesHaveTheTheme(t *testing.T) {
	server := open(t)
	for cookie, want := range map[string]string{"dark": `id="theme-dark" checked`, `"><script>`: `id="theme-auto" checked`} {
		r := httptest.NewRequest(http.MethodGet, "/t/", nil)
		r.Header.Set("Cookie", "theme="+cookie)
		w := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("theme %s: no %s in\n%s", cookie, want, w.Body)
		}
	}
}
