package pages_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

// post is the status and the text of a form that is sent.
func post(t *testing.T, address string, form url.Values) (int, string) {
	t.Helper()
	answer, err := http.PostForm(address, form) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, read(t, answer)
}

// A statement is run when it is sent, shows texts of others as texts, and reads only.
func TestConsole(t *testing.T) {
	server := open(t)
	ask := func(store, statement string) (int, string) {
		return post(t, server.URL+"/t/sql", url.Values{"store": {store}, "statement": {statement}})
	}
	for name, c := range map[string]struct {
		store, statement string
		status           int
		want             string
	}{
		"rows":             {"tracker", "SELECT short_name, 1 AS n FROM centre", 200, `<td><bdi>H</bdi></td><td class="n"><bdi>1</bdi></td>`},
		"markup":           {"tracker", "SELECT '<script>alert(1)</script>' AS \"<b>\"", 200, "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"},
		"text that turns":  {"tracker", "SELECT U&'\\202e'", 200, "<bdi>⟨U&#43;202E⟩</bdi>"},
		"a long value":     {"tracker", "SELECT repeat('a', 5000)", 200, strings.Repeat("a", 2048) + "…<"},
		"many rows":        {"tracker", "SELECT generate_series(1, 100000)", 200, "500, and more"},
		"no row":           {"tracker", "SELECT 1 WHERE false", 200, "<b>No row:</b>"},
		"what writes":      {"tracker", "DELETE FROM centre", 200, "only statements that read"},
		"what writes too":  {"tracker", "WITH x AS (DELETE FROM centre RETURNING 1) SELECT * FROM x", 200, "cannot execute"},
		"a fault":          {"tracker", "SELECT <x>", 200, "&lt;x&gt;"},
		"none":             {"tracker", "", 200, "no statement"},
		"no store":         {"moon", "SELECT 1", 400, "no store"},
		"a long statement": {"tracker", "SELECT '" + strings.Repeat("a", 70000) + "'", 400, "is larger than"},
	} {
		if status, body := ask(c.store, c.statement); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d lacks %q:\n%s", name, status, c.want, body)
		}
	}
	// By its address alone it is only shown.
	if status, body := get(t, server, "/sql?store=tracker&statement="+url.QueryEscape("SELECT 1299 + 1")); status != 200 || !strings.Contains(body, "SELECT 1299 &#43; 1") || strings.Contains(body, "1300") {
		t.Errorf("%d\n%s", status, body)
	}
}

// Who doesn't know what a store has is led to statements that tell it.
func TestWhatThereIsToAsk(t *testing.T) {
	s, _ := heldSite(t)
	s.Stores["history"] = func(timeout time.Duration) report.Store { return s.History(nil, timeout) }
	s.Stores["warehouse"] = func(timeout time.Duration) report.Store {
		return report.Postgres{Pool: s.Warehouse.(*pgxpool.Pool), Schema: "warehouse", Timeout: timeout}
	}
	server := served(t, s)
	for name, want := range map[string]string{
		"tables of tracker": "where every file stands: one row per name and action", "columns of views of tracker": "<bdi>xsd_version</bdi>",
		"tables of warehouse": "<bdi>the specimens that are known now</bdi>", "columns of views of warehouse": "<bdi>current_specimen</bdi>",
		"tables of history": "<bdi>once</bdi>", "columns of history": "<bdi>file_name</bdi>",
	} {
		_, body := get(t, server, "/sql")
		before, _, found := strings.Cut(body, `">`+name+"</a>")
		address, err := url.Parse(html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):]))
		if err != nil || !found {
			t.Fatalf("no link to the %s: %v\n%s", name, err, body)
		}
		if status, body := post(t, server.URL+"/t/sql", address.Query()); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d lacks %q:\n%s", name, status, want, body)
		}
	}
}

// Questions are asked with what the address gives, and say what is wrong with it.
func TestAnalytics(t *testing.T) {
	server := open(t)
	for path, want := range map[string]string{
		"/analytics":                           `href="/t/analytics/failures">failures</a>`,
		"/analytics/failures":                  `<td><bdi>name_pattern</bdi></td><td class="n"><bdi>1</bdi></td>`,
		"/analytics/latency":                   "<b>No row:</b>",
		"/analytics/failures?since=yesterday?": "It can't be answered:",
		"/analytics/failures?centre=H%00":      "It can't be answered:",
		"/analytics/failures?since=7d":         "tributary report failures --since 7d",
	} {
		if status, body := get(t, server, path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d lacks %q:\n%s", path, status, want, body)
		}
	}
	for _, path := range []string{"/analytics/nothing", "/analytics/slowest/chart.svg", "/analytics/nothing/chart.svg"} {
		if status, body := get(t, server, path); status != 404 {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
}

// A question's statement can be changed: asked as it is, it has the same answer.
func TestStatementsOfQuestionsAreChanged(t *testing.T) {
	s, _ := heldSite(t)
	s.Stores["history"] = func(timeout time.Duration) report.Store { return s.History(nil, timeout) }
	server := served(t, s)
	rows := func(body string) string {
		_, table, _ := strings.Cut(body, `<caption class="vh">Rows</caption>`)
		table, _, _ = strings.Cut(table, "</table>")
		return table
	}
	some := 0
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		says(t, server, "/analytics/"+r.Name+"?centre=%7Bcentre%3A", 200, "Change it") // values are no parameters
		_, asked := get(t, server, "/analytics/"+r.Name)
		to, err := url.Parse(shows(t, asked, `href="([^"]+)">Change it`))
		if err != nil {
			t.Fatal(err)
		}
		if status, changed := post(t, server.URL+"/t/sql", to.Query()); status != 200 || rows(changed) != rows(asked) {
			t.Errorf("%s: %d\n%s\nis not\n%s\n%s", r.Name, status, rows(changed), rows(asked), to.Query().Get("statement"))
		} else if rows(asked) != "" {
			some++
		}
	}
	if some < 3 {
		t.Errorf("%d questions have an answer", some)
	}
}
