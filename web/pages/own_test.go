package pages_test

import (
	"encoding/xml"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// producer lets everybody in as a producer of H.
type producer struct{}

func (producer) Require(_ access.Role, next http.Handler) http.Handler { return asProducer("H", next) }

func asProducer(centre string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Person{Name: "pat", Role: access.Producer, Centre: centre})))
	})
}

// linked serves pages where the link's secret is the centre's name, and what they log.
func linked(t *testing.T, events []schemas.StatusChanged, change func(*pages.Site)) (*httptest.Server, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	s := pagestest.Site(t, reporttest.Told(t, events))
	s.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.ByLink = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asProducer(strings.TrimPrefix(r.PathValue("token"), "secret-"), next).ServeHTTP(w, r)
		})
	}
	if change != nil {
		change(&s)
	}
	site, err := pages.New(s)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Config{Prefix: "/t"}, web.Deps{Guard: producer{}, Routes: site.Routes(), Static: fstest.MapFS{}, Log: s.Log}).Handler())
	t.Cleanup(server.Close)
	return server, log
}

// One centre's link against the ids of all others: nothing of theirs. Whatever is asked
// for is answered with the same bytes as what there is not.
func TestOneCentresLinkAgainstAllOthers(t *testing.T) {
	server, log := linked(t, reporttest.Busy(), nil)
	clock := regexp.MustCompile(`as of [^<]*`)
	answer := func(path string) (int, string) {
		status, body := get(t, server, path)
		return status, clock.ReplaceAllString(body, "")
	}
	const document = "H.2026-11-20.1.specimen.impc.xml"
	theirs := map[string][]string{
		"H": {reporttest.InsertedZip, reporttest.InvalidZip, "harwell"},
		"J": {reporttest.RetriedZip, reporttest.RunningZip, "jax", "Jackson"},
	}
	for _, c := range []struct{ mine, other string }{{"H", "J"}, {"J", "H"}} {
		for _, base := range []string{"/c/secret-" + c.mine, "/own"} {
			if base == "/own" && c.mine != "H" {
				continue
			}
			nothing, unknown := answer(base + "/files/add/no-such-file.zip")
			if nothing != http.StatusNotFound {
				t.Fatalf("%s: what there is not: %d", base, nothing)
			}
			var asked []string
			for _, id := range theirs[c.other] {
				id = url.PathEscape(id)
				for _, action := range []string{"add", "edit", "delete"} {
					asked = append(asked, "/files/"+action+"/"+id, "/files/"+action+"/"+id+"/documents/"+document, "/files/"+action+"/"+id+"/documents/"+id)
				}
				asked = append(asked, "/files?centre="+id, "/files?source="+id, "/documents?centre="+id, "/documents?source="+id, "/errors.csv?centre="+id, "/weeks/"+id, "/"+id, "/centres/"+id, "/sources/"+id)
			}
			asked = append(asked, "/files?centre="+c.other, "/documents?centre="+c.other, "/files?session=1", "/sessions/1", "/files/add/%2A", "/files/add/"+c.other+".%2A", "/weeks/2020-W01", "/weeks/2027-W01", "/files?after=x", "/files?phase=x", "/dead-letters", "/sql", "/events", "/api/v1/files")
			for _, path := range asked {
				if status, body := answer(base + path); status != http.StatusNotFound || body != unknown {
					t.Errorf("%s%s: %d, and not what is said of what there is not:\n%s", base, path, status, body)
				}
			}
			// Lists that any of their ids narrows, and pages that take none.
			for _, path := range []string{"", "/files", "/documents", "/files?sort=name", "/files?q=impc", "/files?q=%2A", "/documents?status=failed", "/errors.csv", "/errors.csv?status=failed", "/feed.xml", "/weeks/2026-W47",
				"/files?q=" + theirs[c.other][0], "/files?exception=transfer_truncated", "/files?exception=xsd_invalid", "/files?sha256=aa11aa"} {
				status, body := answer(base + path)
				if status != http.StatusOK {
					t.Errorf("%s%s: %d", base, path, status)
				}
				body = strings.ReplaceAll(body, theirs[c.other][0]+`"`, "") // what was asked for stands in the field
				body = strings.ReplaceAll(body, "<bdi>"+theirs[c.other][0]+"</bdi></span><a", "")
				body = regexp.MustCompile(`href="[^"]*"|value="[^"]*"|aria-label="Remove[^"]*"`).ReplaceAllString(body, "")
				for _, id := range theirs[c.other] {
					if strings.Contains(body, id) {
						t.Errorf("%s%s tells of %s:\n%s", base, path, id, body)
					}
				}
			}
		}
	}
	if strings.Contains(log.String(), "secret-") {
		t.Errorf("the log has a link's secret: %s", log)
	}
}

// What goes wrong is logged without the address, which is the secret, and told without
// what went wrong.
func TestOwnFailsWithoutItsSecret(t *testing.T) {
	server, log := linked(t, reporttest.Busy(), func(s *pages.Site) {
		away, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/nothing?connect_timeout=1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(away.Close)
		s.Tracker = away
	})
	for _, path := range []string{"/c/secret-H", "/c/secret-H/files", "/c/secret-H/files/add/" + reporttest.InvalidZip, "/c/secret-H/feed.xml", "/c/secret-H/errors.csv", "/c/secret-H/weeks/2026-W47"} {
		says(t, server, path, 503, "Not now", "!127.0.0.1", "!nobody")
	}
	if said := log.String(); strings.Contains(said, "secret-") || strings.Count(said, "can't be read") != 6 {
		t.Errorf("the log says %s", said)
	}
}

// What of a story is the centre's own: no server of others, no word about machines.
func TestOwnPages(t *testing.T) {
	server, _ := linked(t, reporttest.Busy(), nil)
	says(t, server, "/c/secret-H", 200, "In the last seven days: 2 files of yours came; 1 needs a correction from you.", "MRC Harwell · H", "A document does not follow the schema", "Its name is", ">xsd_invalid<",
		"harwell", "It answers", "!<script", "!\u202e", "!/t/sources", "!/t/files", "!tributary ", `<meta name="robots" content="noindex`, `href="/t/c/secret-H/feed.xml"`, `action="/t/c/secret-H/theme"`, "line 27")
	says(t, server, "/c/secret-J", 200, "No file of yours came.", "What others see to", "another identity", "The Jackson Laboratory")
	says(t, server, "/own", 200, `href="/t/own/files"`, "Log out")
	says(t, server, "/c/secret-H/files/add/"+reporttest.InvalidZip, 200, "to correct", "line 27, column 5", "&lt;script&gt;", "Correct it where your export writes it", "!<script>", "harwell shows it")
	says(t, server, "/c/secret-H/files/add/"+reporttest.InvalidZip+"/documents/H.2026-11-20.1.specimen.impc.xml", 200, "to correct", "a document of")
	says(t, server, "/c/secret-J/files/add/"+reporttest.RetriedZip, 200, "It could not be fetched, or was withdrawn", "!40 of 120")
	says(t, server, "/c/secret-H/files?status=failed", 200, reporttest.InvalidZip, "!"+reporttest.InsertedZip)
	says(t, server, "/c/secret-H/weeks/2026-W47", 200, "16 November to 22 November 2026", "2 files of yours came")
	says(t, server, "/c/secret-Nowhere", 200, "No file of yours came.")
}

// A reader of everything is of no centre, so that nothing is theirs alone.
func TestOwnOfNoCentre(t *testing.T) {
	server := open(t)
	for _, path := range []string{"/own", "/own/files", "/own/feed.xml"} {
		says(t, server, path, 404, "There is nothing of yours", "!alternate")
	}
	says(t, server, "/c/secret-H", 404, "There is nothing here.") // nobody lets in by links
}

// Names and messages that mean harm are text in a centre's view too, and its pages lead
// to one another alone.
func TestOwnLinks(t *testing.T) {
	server, _ := linked(t, reporttest.Hostile(), nil)
	link := regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	seen, next := map[string]bool{}, []string{"/t/c/secret-H"}
	for len(next) > 0 && len(seen) < 300 {
		at := next[0]
		next = next[1:]
		status, body := get(t, server, strings.TrimPrefix(at, "/t"))
		if status != 200 {
			t.Errorf("%s: %d", at, status)
		}
		if strings.Contains(at, "/errors.csv") {
			body = strings.ReplaceAll(body, "<", "") // which nobody takes for markup: TestSheets
		}
		for _, harm := range []string{"<script", "<img", "<svg onload", "\u202e", "\u2066", "http://", "https://", "style="} {
			if strings.Contains(strings.ReplaceAll(body, "http://www.w3.org/", ""), harm) {
				t.Errorf("%s has %q", at, harm)
			}
		}
		for _, section := range regexp.MustCompile(`<section[^>]*>`).FindAllString(body, -1) {
			if !strings.Contains(section, " id=") || !strings.Contains(section, " aria-labelledby=") {
				t.Errorf("%s: %s has no id or no name", at, section)
			}
		}
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			to, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			switch {
			case to == "", strings.HasPrefix(to, "/t/static/"), strings.HasSuffix(to, "/theme"), seen[to]:
			case !strings.HasPrefix(to, "/t/c/secret-H"):
				t.Errorf("%s leads to %s", at, to)
			default:
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d addresses were found", len(seen))
	}
}

// The feed has an entry for each week that has ended, with ids that stay, whatever the
// link, and that don't give it away.
func TestOwnFeed(t *testing.T) {
	server, _ := linked(t, reporttest.Busy(), func(s *pages.Site) {
		s.Now = func() time.Time { return reporttest.Start().AddDate(0, 0, 12) }
	})
	var feeds [2]struct {
		ID      string `xml:"http://www.w3.org/2005/Atom id"`
		Updated string `xml:"updated"`
		Entries []struct {
			ID, Title, Updated, Content string
			Link                        struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	for i, path := range []string{"/c/secret-H/feed.xml", "/own/feed.xml"} {
		status, body := get(t, server, path)
		if err := xml.Unmarshal([]byte(strings.NewReplacer("<id>", "<ID>", "</id>", "</ID>", "<title>", "<Title>", "</title>", "</Title>", "<updated>", "<Updated>", "</updated>", "</Updated>",
			`<content type="text">`, "<Content>", "</content>", "</Content>").Replace(body)), &feeds[i]); err != nil || status != http.StatusOK {
			t.Fatalf("%d %v:\n%s", status, err, body)
		}
	}
	link, account := feeds[0], feeds[1]
	if len(link.Entries) != 2 || link.Entries[1].Title != "2026-W47: 2 files of yours came; 1 needs a correction from you." || link.Entries[1].Updated != "2026-11-23T00:00:00Z" ||
		link.Entries[1].Link.Href != "/t/c/secret-H/weeks/2026-W47" || !strings.Contains(link.Entries[1].Content, "What to correct\n- A document does not follow the schema (xsd_invalid): 1 file\n") {
		t.Errorf("the feed: %+v", link)
	}
	for i, e := range link.Entries {
		if e.ID != account.Entries[i].ID || !strings.HasPrefix(e.ID, "urn:uuid:") || strings.Contains(e.ID, "secret") {
			t.Errorf("the id of %s is %s here and %s there", e.Title, e.ID, account.Entries[i].ID)
		}
	}
}

// The theme is kept without that the page says where it was chosen.
func TestOwnTheme(t *testing.T) {
	server, _ := linked(t, reporttest.Busy(), nil)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm(server.URL+"/t/c/secret-H/theme", url.Values{"theme": {"dark"}}) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || to != "/t/c/secret-H" || len(answer.Cookies()) != 1 {
		t.Errorf("%s to %q", answer.Status, to)
	}
}
