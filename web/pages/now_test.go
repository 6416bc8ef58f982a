package pages_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/web/pages"
)

// busy serves the pages of the busy story below /t, an hour after it began.
func busy(t *testing.T, change func(*pages.Site)) *httptest.Server {
	t.Helper()
	s := pages.Site{Prefix: "/t", Name: "impc · test", Tracker: reporttest.Told(t, reporttest.Busy()), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return reporttest.Start().Add(time.Hour) }}
	change(&s)
	return served(t, s)
}

func unchanged(*pages.Site) {}

// answers holds that an address answers with a status, has the texts, and that nothing
// hostile of the story got into the markup as it is.
func answers(t *testing.T, server *httptest.Server, path string, status int, wants ...string) {
	t.Helper()
	got, body := get(t, server, path)
	if got != status {
		t.Errorf("%s: %d, want %d", path, got, status)
	}
	missing := false
	for _, want := range wants {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %q", path, want)
			missing = true
		}
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") || strings.Contains(body, "ZgotmplZ") {
		t.Errorf("%s has hostile text as it is, or an address that the templates refuse", path)
		missing = true
	}
	if missing {
		t.Log(body)
	}
}

// Where everything stands: whose move it is, what it waits for, and what goes on, each
// with the list that it counts.
func TestNowOfTheBusyStory(t *testing.T) {
	server := busy(t, unchanged)
	answers(t, server, "/", http.StatusOK,
		`href="/t/sources/jax"><bdi>Ingest works, but jax is suspended: nothing comes from there.</bdi></a>`,
		`<a href="/t/sessions/2">Session 2</a>, open 30 min: 1 polled, 1 of them failed`,
		`<a class="exc" href="/t/sources"><bdi>host_key_mismatch</bdi></a>`,
		`<a href="/t/sources/jax"><bdi>Ask the server&#39;s owner.</bdi></a>`,
		`<a class="exc" href="/t/files?exception=xsd_invalid&amp;status=failed"><bdi>xsd_invalid</bdi></a>`,
		`<a href="/t/centres/H"><bdi>Tell H</bdi></a>`,
		`href="/t/files?phase=download&amp;waiting=true">1</a>`,
		`<a href="/t/files?since=2026-11-21T10%3A00%3A00Z">2</a>`,
		`aria-label="Documents inserted: 3 in all, at most 3 in 1 min"`,
		`<a href="/t/files/add/J.2026-11-20.01.impc.zip"><bdi>add/J.2026-11-20.01.impc.zip</bdi></a>`,
		`60 bytes of 120 bytes, 5 bytes/s, from <a href="/t/sources/jax">`,
		`half within `)
	answers(t, server, "/?span=24h", http.StatusOK, `<a href="/t/?span=24h" aria-current="true">24 h</a>`, `href="/t/files?since=2026-11-20T11%3A00%3A00Z">2</a>`)
	answers(t, server, "/?span=year", http.StatusBadRequest, "This address can&#39;t be read.")
}

// What is not in the tracker is shown too.
func TestNowBesideTheTracker(t *testing.T) {
	server := busy(t, func(s *pages.Site) {
		s.Beside = func(_ context.Context, st *report.Status) error {
			st.Insertion, st.Dormant = "position 7 is twice: "+reporttest.HostileText, "the disk is full"
			st.Outboxes = []report.Outbox{{Schema: "control", Letters: 2}}
			return nil
		}
	})
	answers(t, server, "/", http.StatusOK, `<a href="#stopped"><bdi>Insertion has stopped for all centres.</bdi></a>`, "position 7 is twice: &lt;script&gt;", "⟨U&#43;202E⟩exe.txt",
		"the disk is full", `<a href="/t/dead-letters">2 events of control.outbox</a>`)
}
