package pages_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"tributary/queries/report/reporttest"
	"tributary/queries/why"
	"tributary/web/pages/pagestest"
)

// Who misses a file is answered why it was not taken, and who sees one why it stands there;
// lists and files lead there.
func TestWhy(t *testing.T) {
	s := pagestest.Site(t, reporttest.Filled(t))
	at := reporttest.Start()
	s.Why = func(_ context.Context, source, path string) ([]why.Answer, int, error) {
		if strings.Contains(path, "-") && strings.Count(path, "-") == 4 {
			return nil, 0, why.ErrUnknownID
		}
		if path == "nowhere" {
			return nil, 0, nil
		}
		return []why.Answer{{File: path, Source: "harwell", Verdict: "held", Sentence: "It is held <b>\u202e", Evidence: []why.Fact{{At: &at, Text: "ann held it"}, {Text: source}}, Next: "release it"}}, 3, nil
	}
	server := served(t, s)
	says(t, server, "/why", 200, `aria-current="page">Why`, "tributary why FILE", "!Answers", `<option value="harwell">`)
	says(t, server, "/why?path=add/a%20b.zip&source=harwell", 200, `<h3 class="mono"><bdi>add/a b.zip</bdi></h3>`, `at <a href="/t/sources/harwell">`, `<span class="exc">held</span>`, "It is held &lt;b&gt;⟨U&#43;202E⟩", "<bdi>release it</bdi>",
		`>21 Nov 2026, 10:00:00 UTC</time> <bdi>ann held it</bdi></div>`, "<bdi>harwell</bdi>", "3 more sources could show it", "tributary why harwell &#39;add/a b.zip&#39;", `value="add/a b.zip"`)
	says(t, server, "/why?path=nowhere", 200, "No source could show a file of this name.")
	says(t, server, "/why?path=00000000-0000-0000-0000-000000000000", 404, "no file has this id")
	says(t, server, "/why?path=%00", 400, "path can&#39;t be looked for")
	says(t, server, "/why?path=a&as_of=1h", 400, "no_past")
	says(t, server, "/files?q=nothing", 200, `<a href="/t/why?path=nothing">Why no such file was taken</a>`)
	says(t, server, "/files?status=cancelled", 200, "!/t/why?path")
	says(t, server, "/files/add/"+reporttest.GoodZip, 200, `<a href="/t/why?path=add%2F`+reporttest.GoodZip+`">Why it stands there</a>`)
	says(t, server, "/files/add/"+reporttest.GoodZip+"?"+before, 200, "!/t/why?path")
	s.Why = nil
	says(t, served(t, s), "/why?path=a", http.StatusServiceUnavailable, "This can&#39;t be read here.")
}

// A source that doesn't say how often it is polled is polled as all are.
func TestHowOftenASourceIsPolled(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	if _, err := pool.Exec(t.Context(), "UPDATE tracker.source_revision SET definition = (definition::jsonb - 'cron')::text"); err != nil {
		t.Fatal(err)
	}
	s := pagestest.Site(t, pool)
	if _, body := get(t, served(t, s), "/sources"); strings.Contains(body, "as all") {
		t.Error("nobody says how often")
	}
	s.Every = 15 * time.Minute
	says(t, served(t, s), "/sources", 200, "<bdi>15m, as all</bdi>")
}
