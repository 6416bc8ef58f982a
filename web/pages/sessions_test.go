package pages_test

import (
	"context"
	"net/http"
	"testing"

	"tributary/queries/report/reporttest"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/web/pages"
)

// Sessions, the newest first, page by page; one with its tasks and polls.
func TestSessions(t *testing.T) {
	server := busy(t, unchanged)
	answers(t, server, "/sessions", http.StatusOK, `<a href="/t/sessions/2"><bdi>Session 2 has been open for 30 min.</bdi></a>`,
		`<a class="strong" href="/t/sessions/1">1</a>`, `<a href="/t/files?session=1">5</a>`, `<span class="up">1 failed</span>`, "polls failed", `aria-current="page">Sessions`)
	answers(t, server, "/sessions?before=2026-11-21T10:30:00Z", http.StatusOK, "Sessions opened before 21 Nov 2026, 10:30:00 UTC.", `href="/t/sessions/1">1</a>`)
	answers(t, server, "/sessions?before=1", http.StatusBadRequest)
	answers(t, server, "/sessions/1", http.StatusOK, "Session 1 took 15 min; something failed in zip_name.", "2 in all, 1 failed, 0 open", `<a href="#polls">failed</a>`, `<a href="/t/documents?session=1">`,
		`<a href="/t/sources/jax"><bdi>jax</bdi></a>`, "shows SHA256:q7Vt")
	answers(t, server, "/sessions/7", http.StatusNotFound, "the tracker knows no session 7")
	answers(t, server, "/sessions/x", http.StatusBadRequest, "a session is named by its number")
}

// Dead letters and replays come from elsewhere than the tracker: without that the page
// says so.
func TestLettersAndReplays(t *testing.T) {
	const hostile = reporttest.HostileText
	server := busy(t, func(s *pages.Site) {
		s.Letters = func(_ context.Context, limit int, all bool, each func(deadletter.Row) error) error {
			if limit <= 0 {
				t.Errorf("%d letters are asked for: that is no limit", limit)
			}
			if err := each(deadletter.Row{ID: "unzip:0:3", State: deadletter.Open, Topic: "download.finished", Exception: "panic", Error: hostile, Action: "add", File: reporttest.InvalidZip, Centre: "H"}); err != nil || !all {
				return err
			}
			return each(deadletter.Row{ID: "unzip:0:2", State: "dropped", Topic: "download.finished", Dropped: &deadletter.Decision{By: hostile, Reason: "a test"}})
		}
		s.Replays = func(context.Context, int) ([]*replay.Status, error) {
			return []*replay.Status{{Replay: 12, From: "xsd", State: "running", Shadow: "tighter", By: "ann", Reason: hostile, Items: 6004, Waiting: 4}}, nil
		}
	})
	answers(t, server, "/dead-letters", http.StatusOK, "1 dead letter waits for somebody here.", "unzip:0:3", `<a class="mono" href="/t/files/add/H.2026-11-20.02.impc.zip">`, "⟨U&#43;202E⟩exe.txt", `href="/t/dead-letters?all=true"`)
	answers(t, server, "/dead-letters?all=true", http.StatusOK, "unzip:0:2", "a test", `href="/t/dead-letters"`)
	answers(t, server, "/replays", http.StatusOK, "1 replay is under way.", "shadow <bdi>tighter</bdi>", "6,004", "⟨U&#43;202E⟩exe.txt")
	without := busy(t, unchanged)
	for _, path := range []string{"/dead-letters", "/replays"} {
		answers(t, without, path, http.StatusServiceUnavailable, "it has no connection to where it lies")
	}
}
