package poll

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/sql/control"
)

// web is an HTTP server that notes what it is asked, and a bench whose source it is.
type web struct {
	*bench
	asked []string
}

func newWeb(t *testing.T, src config.Source, handle http.HandlerFunc) *web {
	t.Helper()
	w := &web{bench: newBench(t)}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked = append(w.asked, r.Method+" "+r.URL.Path)
		handle(rw, r)
	}))
	t.Cleanup(s.Close)
	src.ID, src.Centre, src.URL, src.Robots = "src", "H", s.URL, config.RobotsIgnore
	w.deps.Dial = connectors.All().Dial
	w.define(src)
	return w
}

// passedOver are the directories that the last poll has passed over, by its event.
func (w *web) passedOver() (over []string) {
	for _, m := range w.events() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Attributes["passed_over"] != "" {
			over = strings.Fields(e.Attributes["passed_over"])
		}
	}
	slices.Sort(over)
	return over
}

// A server that asks to be left alone is, by all: for a short time the poll waits, for a
// longer one the source's next poll does. Whoever runs once waits for it alone.
func TestABusyServerSaysWhenItIsAskedAgain(t *testing.T) {
	after := ""
	w := newWeb(t, config.Source{}, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", after)
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	waits := func() string {
		return w.text("SELECT p.state, CASE WHEN isfinite(p.not_before) THEN extract(epoch FROM p.not_before - $1)::int ELSE 0 END, CASE WHEN isfinite(s.next_due) THEN extract(epoch FROM s.next_due - $1)::int ELSE 0 END FROM control.poll p JOIN control.source s ON s.id = p.source WHERE p.state IN ('due', 'failed') ORDER BY p.started_at DESC LIMIT 1", w.now)
	}
	for _, tt := range []struct {
		after, want string
		once        bool
		left        time.Duration // for which the server is
	}{
		{"45", "due 45 0", false, 45 * time.Second},           // within the session
		{"7200", "failed 0 7200", false, 2 * time.Hour},       // longer than the source's interval, which would double
		{"90000000", "failed 0 86400", false, 24 * time.Hour}, // a day at most
		{"-5", "due 1 0", false, 0},
		{"45", "due 45 0", true, 0},
		{"7200", "failed 0 7200", true, 0},
	} {
		w.exec("DELETE FROM control.poll")
		w.exec("DELETE FROM control.throttle")
		w.exec("UPDATE control.source SET next_due = '-infinity', failures = 0")
		after, w.once = tt.after, tt.once
		w.session()
		p, ok := w.take()
		if !ok {
			t.Fatal("no poll can be taken")
		}
		w.one(t.Context(), p)
		if got := waits(); got != tt.want {
			t.Errorf("after %s s: %q, want %q", tt.after, got, tt.want)
		}
		want := map[string]time.Time{}
		if tt.left > 0 {
			want["host:22"] = w.now.Add(tt.left)
		}
		left, err := control.LeftAlone(t.Context(), w.deps.Pool, w.now)
		if diff := cmp.Diff(want, left); diff != "" || err != nil {
			t.Errorf("after %s s, once %v: left alone, %v (-want +got):\n%s", tt.after, tt.once, err, diff)
		}
	}
}

// A feed is a window: what falls out of it stays, what comes is taken up, and while it
// is as it was nothing but that is asked for.
func TestAFeedWithdrawsNothing(t *testing.T) {
	shown, version, lies := []string{good}, "v1", false
	w := newWeb(t, config.Source{Feed: "feed.xml"}, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/feed.xml" {
			rw.Header().Set("Content-Length", "5")
			rw.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
			_, _ = io.WriteString(rw, "bytes")
			return
		}
		rw.Header().Set("ETag", `"`+version+`"`)
		if r.Header.Get("If-None-Match") == `"`+version+`"` || lies && r.Header.Get("If-None-Match") != "" {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(rw, "<rss><channel>")
		for _, name := range shown {
			_, _ = fmt.Fprintf(rw, "<item><enclosure url='add/%s'/></item>", name)
		}
		_, _ = io.WriteString(rw, "</channel></rss>")
	})
	w.cfg.Settle = 0
	w.cfg.GoneAfter = 1
	for i, step := range []struct {
		happens func()
		want    string // end, files present, what was asked for
	}{
		{func() {}, "complete 1 GET HEAD GET"}, // the first poll reads a file, too
		{func() {}, "minimal 1 GET"},
		{func() { shown, version = []string{good2}, "v2" }, "complete 2 GET HEAD"},
		{func() {}, "minimal 2 GET"},
		{func() { shown, version = nil, "v3" }, "complete 2 GET"},
		{func() { shown, lies = []string{good, good2, "H.2026-01-02.3.impc.zip"}, true }, "minimal 2 GET"},
		{func() { w.now = w.now.Add(feedEvery) }, "complete 3 GET HEAD HEAD HEAD"}, // which ends what a server lies about
		{func() {}, "complete 3 GET HEAD HEAD HEAD"},
	} {
		w.now = w.now.Add(time.Minute)
		step.happens()
		w.asked = nil
		end := w.listing()
		var methods []string
		for _, a := range w.asked {
			methods = append(methods, strings.Fields(a)[0])
		}
		got := fmt.Sprintf("%s %s %s", end, w.text("SELECT count(*) FROM control.hosting WHERE state = 'present'"), strings.Join(methods, " "))
		if got != step.want {
			t.Errorf("step %d: %q, want %q; it goes by %s", i, got, step.want, w.text("SELECT directories::text FROM control.source"))
		}
	}
}

// What a feed says of a file is told with each look at it, and of one that looks the same
// nothing is told. Nothing that it says stands in the place of what a poll tells.
func TestWhatAFeedSaysOfAFileIsTold(t *testing.T) {
	title := "first"
	w := newWeb(t, config.Source{Feed: "feed.xml"}, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/feed.xml" {
			rw.Header().Set("Content-Length", "5")
			rw.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
			_, _ = io.WriteString(rw, "bytes")
			return
		}
		_, _ = fmt.Fprintf(rw, "<rss><channel><item><title>%s</title><category>state</category><enclosure url='add/%s' type='application/zip'/></item></channel></rss>", title, good)
	})
	told := func() (out []map[string]string) {
		w.now = w.now.Add(time.Minute)
		w.listing()
		for _, m := range w.events() {
			if e, is := m.Body.(*schemas.StatusChanged); is && e.Entity == schemas.EntityHosting {
				out = append(out, e.Attributes)
			}
		}
		return out
	}
	w.cfg.Settle = config.Duration(90 * time.Second)
	says := func(title string) []map[string]string {
		return []map[string]string{{"state": "present", "listed.title": title, "listed.categories": "state", "listed.content_type": "application/zip"}}
	}
	var got [][]map[string]string
	for range 2 {
		got = append(got, told()) // as long as it has not settled
	}
	title = "second"
	got = append(got, told()) // it has, as it is called now
	title = "third"
	got = append(got, told())
	if diff := cmp.Diff([][]map[string]string{says("first"), nil, says("second"), nil}, got); diff != "" {
		t.Errorf("what polls tell (-want +got):\n%s", diff)
	}
}

// Between complete polls an index that its server calls unchanged is passed over; one
// that isn't is listed, and complete polls list all.
func TestAnUnchangedIndexIsPassedOver(t *testing.T) {
	shown := map[string][]string{"add": {good}}
	w := newWeb(t, config.Source{CompleteEvery: config.Duration(240 * time.Hour)}, func(rw http.ResponseWriter, r *http.Request) {
		dir := strings.Trim(r.URL.Path, "/")
		switch {
		case strings.HasSuffix(dir, ".zip"):
			rw.Header().Set("Content-Length", "5")
			rw.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
			_, _ = io.WriteString(rw, "bytes")
			return
		case dir != "":
			version := fmt.Sprintf(`"%s-%d"`, dir, len(shown[dir]))
			rw.Header().Set("ETag", version)
			if r.Header.Get("If-None-Match") == version {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
		}
		rw.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(rw, "<title>Index of /%s</title>", dir)
		for _, name := range shown[dir] {
			_, _ = fmt.Fprintf(rw, "<a href='%s'>x</a>\n", name)
		}
	})
	w.cfg.Settle = 0
	for i, step := range []struct {
		happens func()
		want    string
		heads   int
	}{
		{func() {}, "complete", 1},
		{func() {}, "minimal add delete edit", 0},
		{func() { shown["edit"] = []string{good2} }, "minimal add delete", 1},
		{func() {}, "minimal add delete edit", 0},
		{func() { shown = nil; w.now = w.now.Add(240 * time.Hour) }, "complete", 0},
	} {
		w.now = w.now.Add(time.Minute)
		step.happens()
		w.asked = nil
		got := w.listing()
		over := w.passedOver()
		got = strings.TrimSpace(got + " " + strings.Join(over, " "))
		heads := 0
		for _, a := range w.asked {
			if strings.HasPrefix(a, "HEAD") && strings.HasSuffix(a, ".zip") {
				heads++
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" || heads != step.heads {
			t.Errorf("step %d, %d files asked for, want %d (-want +got):\n%s", i, heads, step.heads, diff)
		}
	}
}
