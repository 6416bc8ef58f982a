package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
)

// Sources are listed by what they need, with their last polls.
func TestSources(t *testing.T) {
	server := busy(t, unchanged)
	answers(t, server, "/sources", http.StatusOK,
		"1 of 3 sources deliver as usual; 2 need somebody.",
		`<th role="columnheader" scope="colgroup" colspan="7">Needs somebody</th>`,
		`<th role="columnheader" scope="colgroup" colspan="7">Working</th>`,
		`<a class="strong" href="/t/sources/jax"><bdi>jax</bdi></a> <a class="muted" href="/t/centres/J"><bdi>J</bdi></a>`,
		`aria-label="The last 1 poll of harwell: 1 with news, 0 failed"><rect class="f-done" x="117.3" y="5"`,
		`<rect class="f-failed" x="117.3" y="0" width="3.4" height="18"/>`,
		`shows SHA256:q7Vt`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `<bdi>sftp://harwell.example.org:22/out</bdi>`, `<bdi>0 4 * * *</bdi>`,
		`aria-current="page">Sources`)
}

// Who may give orders about sources has those that each can be given in a menu of its row,
// which no script opens; others have no such column, nor has the past.
func TestMenusOfSources(t *testing.T) {
	serve := func(role access.Role) *httptest.Server {
		return servedTo(t, pages.Site{Prefix: "/t", Tracker: reporttest.Told(t, reporttest.Busy()), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return reporttest.Start().Add(time.Hour) },
			Orders: order.New(order.Deps{})}, role)
	}
	says(t, serve(access.Operator), "/sources", http.StatusOK, `colspan="8"`,
		`popovertarget="m-0" aria-label="Orders about harwell">···</button><nav popover id="m-0"`,
		`href="/t/sources/harwell/poll">Poll …</a>`, `href="/t/sources/harwell/maintain">Put into maintenance …</a>`, `!href="/t/sources/harwell/resume"`,
		`href="/t/sources/jax/resume">Resume …</a>`, "!/remove")
	says(t, serve(access.Wrangler), "/sources", http.StatusOK, `colspan="7"`, "!popover")
}

// A source that is late is so in the list as on its own page, until its polls fail.
func TestSourcesThatAreLate(t *testing.T) {
	day := func(n int) *time.Time { at := reporttest.Start().AddDate(0, 0, n); return &at }
	scope := func(n int) schemas.Scope {
		return schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", strconv.Itoa(n)), Centre: "H", Source: "harwell"}
	}
	poll := func(n int, found string) []schemas.StatusChanged {
		return []schemas.StatusChanged{{Entity: schemas.EntitySession, Scope: scope(n), Number: int64(n), StartedAt: day(n)},
			{Entity: schemas.EntityTask, Scope: scope(n), Phase: "zip_name", Status: "done", StartedAt: day(n), FinishedAt: day(n), Attributes: map[string]string{"listed": "9", "new": found, "taken": found, "taken_bytes": "2000",
				"end": "complete", "listing": "8ae3", "revision": "1", "passed_over": "edit"}}}
	}
	source := func(name, state string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: name}, Attributes: map[string]string{"state": state,
			"definition": `{"id":"` + name + `","centre":"H","url":"sftp://h/out","interval":"1h","max_interval":"24h"}`}}
	}
	events := []schemas.StatusChanged{source("harwell", "available"), source("ics", "available")}
	for n := range 12 {
		events = append(events, poll(n+1, "3")...)
	}
	tracker := reporttest.Told(t, append(events, poll(30, "0")...))
	server := served(t, pages.Site{Prefix: "/t", Tracker: tracker, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return *day(30) }})
	answers(t, server, "/sources", http.StatusOK, `<a href="/t/sources/harwell"><bdi>1 of 2 sources deliver as usual; harwell is late.</bdi></a>`, "Late: it answers, but nothing new has come for longer than usual</th>",
		"<bdi>nothing new since 2026-12-03 10:00:00Z; pauses were 1d0h to 1d0h before, and it should have come by 2026-12-04 22:00:00Z</bdi>", "<bdi>1h to 24h</bdi>")
	answers(t, server, "/sources/harwell", http.StatusOK, "harwell answers, but nothing new has come for longer than usual.",
		"<bdi>9 listed, 3 new, 3 taken up (2,000 bytes), passed over: edit</bdi>", "<bdi>9 listed, passed over: edit</bdi>")
	answers(t, server, "/", http.StatusOK,
		`<div class="notice late"><p><a href="/t/sources/harwell"><bdi>harwell</bdi></a> is late: <bdi>nothing new since 2026-12-03 10:00:00Z; pauses`)
	failed := poll(31, "0")
	failed[1].Status, failed[1].Exception = "failed", "host_key_mismatch"
	reporttest.Add(t, tracker, failed...)
	answers(t, server, "/sources", http.StatusOK, "1 of 2 sources deliver as usual; harwell needs somebody.", "Needs somebody</th>")
	if _, body := get(t, server, "/"); strings.Contains(body, "is late") {
		t.Error("where everything stands still tells of a late source")
	}
}

// One source: how it stands, its polls page by page, how it is defined.
func TestSource(t *testing.T) {
	server := busy(t, unchanged)
	answers(t, server, "/sources/harwell", http.StatusOK, "harwell delivers.", `run by <a href="/t/centres/H">`, `<a href="/t/sessions/1">1</a>`, "<bdi>4 listed, 2 new</bdi>",
		"cron: 0 4 * * *", "Next polls", "22 Nov 2026, 04:00:00 UTC", "Too little has come yet", "Its clock", "<p><bdi>its clock is right, by what it tells</bdi></p>", `href="/t/files?source=harwell"`)
	answers(t, server, "/sources/jax", http.StatusOK, "jax is suspended: it is only probed", "Suspended since <time datetime=\"2026-11-21T10:00:30Z\" data-local>21 Nov 2026, 10:00:30 UTC</time>", "3 polls failed, the last with host_key_mismatch",
		"Replace the known key only when the owner confirms the new one.", `<th role="rowheader" scope="row">authorization</th>`)
	answers(t, server, "/sources/harwell?before=2026-11-21T10:00:04Z", http.StatusOK, "No poll of it has ended before 21 Nov 2026, 10:00:04 UTC.")
	answers(t, server, "/sources/harwell?before=yesterday", http.StatusBadRequest, "give a time as")
	for _, path := range []string{"/sources/nowhere", "/sources/%00", "/sources/%ff", "/sources/a%2Fb"} {
		answers(t, server, path, http.StatusNotFound, "There is nothing here.")
	}
}

// By what a source is chosen of several that show a file.
func TestWhatASourceIsKnownFor(t *testing.T) {
	p := plantest.New(t)
	p.Exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
		VALUES ('harwell', 'H', 'harwell:22', 'sftp', '', 1, '1 hour', 'available', 1, '{"preference": 7}')`)
	p.Exec("INSERT INTO control.reputation VALUES ('harwell', 'harwell:22', 4, 3, 1, 4000, 2, $1)", reporttest.Start().Add(time.Hour))
	server := busy(t, func(s *pages.Site) { s.Control = p.Pool })
	answers(t, server, "/sources/harwell", http.StatusOK, "Among hostings", "preference 7; 75% of the fetches of late brought the right bytes, 25% corrupt ones, at 2.0 kB/s")
}

// What a source shows and nobody takes up is listed with why, page by page.
func TestWhatASourceShowsInVain(t *testing.T) {
	p := plantest.New(t)
	p.Exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition, ignored)
		VALUES ('harwell', 'H', 'harwell:22', 'sftp', '', 1, '1 hour', 'available', 1, '{}', 1060)`)
	p.Exec(`INSERT INTO control.ignored (source, ordinal, directory, name, reason, rule)
		SELECT 'harwell', n, 'add', CASE n WHEN 1 THEN $1 ELSE 'n' || n || '.part' END, CASE n WHEN 1 THEN 'directory' WHEN 2 THEN 'filtered' ELSE 'not_zip' END, CASE n WHEN 2 THEN '- *.part' ELSE '' END FROM generate_series(1, 60) n`,
		"<script>alert(1)</script>\u202e")
	server := busy(t, func(s *pages.Site) { s.Control = p.Pool })
	says(t, server, "/sources/harwell", http.StatusOK, "Shown, and not taken up", "1,060 in its last complete listing", "add/&lt;script&gt;alert(1)&lt;/script&gt;", "!\u202e", "it is a directory",
		"a filter of the source excludes it: - *.part", "add/n50.part", "!add/n51.part", `href="/t/sources/harwell?ignored=50#ignored">The next ones`)
	says(t, server, "/sources/harwell?ignored=50", http.StatusOK, "behind the first 50", "!add/n50.part", "add/n51.part", "its name does not end in .zip", "The first ones", "!The next ones")
	says(t, server, "/sources/harwell?ignored=99", http.StatusOK, "No other name is kept.")
	says(t, server, "/sources/jax", http.StatusOK, "!Shown, and not taken up")
	answers(t, server, "/sources/harwell?ignored=-1", http.StatusBadRequest, "")
}

// How fast a source may be asked, why, and until when not at all.
func TestHowFastASourceMayBeAsked(t *testing.T) {
	p := plantest.New(t)
	p.Exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition, opens, closes)
		VALUES ('harwell', 'H', 'harwell:22', 'sftp', '', 1, '1 hour', 'available', 1, '{"throttle": [{"pause": "2s"}]}', $1, $2)`, reporttest.Start().AddDate(1, 0, 0), reporttest.Start().AddDate(2, 0, 0))
	server := busy(t, func(s *pages.Site) {
		s.Control = p.Pool
		p.Exec("INSERT INTO control.throttle (name, left_until) VALUES ('server harwell:22', $1)", s.Now().Add(time.Hour))
	})
	answers(t, server, "/sources/harwell", http.StatusOK, "Its pace", "<dt>server <bdi>harwell:22</bdi></dt><dd><bdi>2s between requests (throttle of harwell)</bdi></dd>",
		"data-local>21 Nov 2026, 12:00:00 UTC</time> (Retry-After)", "It is outside of its window, which opens at ")
	if _, body := get(t, server, "/sources/ics"); strings.Contains(body, "Its pace") {
		t.Error("a source that nothing bounds has a pace")
	}
}

// What is done at a source with files that are inserted, how they stand, and the order
// that is of use: to who may give it.
func TestWhatIsDoneAtASource(t *testing.T) {
	p := plantest.New(t)
	definition := `{"id": "harwell", "url": "sftp://h/out", "done_with": "move done"}`
	p.Exec(`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
		VALUES ('harwell', 'H', 'harwell:22', 'sftp', 'sftp://h/out', 1, '1 hour', 'available', 1, $1)`, definition)
	tracker := reporttest.Told(t, reporttest.Busy())
	page := func(role access.Role, wants ...string) string {
		t.Helper()
		server := servedTo(t, pages.Site{Prefix: "/t", Tracker: tracker, Control: p.Pool, Orders: order.New(order.Deps{Control: p.Pool}), Log: slog.New(slog.DiscardHandler), Now: p.Now}, role)
		answers(t, server, "/sources/harwell", http.StatusOK, wants...)
		_, body := get(t, server, "/sources/harwell")
		return body
	}
	act, stop := `href="/t/sources/harwell/act"`, `href="/t/sources/harwell/stop-acting"`
	if body := page(access.Operator, "<code><bdi>move done</bdi></code>", "it is only shown", "No file's turn has come yet.", act); strings.Contains(body, stop) {
		t.Error("a page offers to stop what isn't done")
	}
	p.Exec("INSERT INTO control.done_with (source, file, look, rule, state, exception, at) SELECT 'harwell', gen_random_uuid(), 1, 'move done', u.state, u.exception, now() FROM (VALUES ('shown', ''), ('shown', ''), ('left', 'file_gone')) u(state, exception)")
	p.Exec("UPDATE control.source SET acts = 'move done at sftp://h/out', acts_said = 'ordered by ann: <script>agreed'")
	for role, offered := range map[access.Role]bool{access.Wrangler: false, access.Operator: true} {
		body := page(role, "it is done", "ordered by ann: &lt;script&gt;agreed", "<dt><bdi>would be done</bdi></dt><dd>2 files</dd>", "<dt><bdi>left alone, file_gone</bdi></dt><dd>1 file</dd>")
		if strings.Contains(body, act) || strings.Contains(body, stop) != offered {
			t.Errorf("what a %s is offered is wrong", role)
		}
	}
}

// Centres, and what one has to correct.
func TestCentres(t *testing.T) {
	server := busy(t, unchanged)
	answers(t, server, "/centres", http.StatusOK, "2 centres: files of 1 of them have failed.", `<a class="strong" href="/t/centres/H"><bdi>H</bdi></a>`, "The Jackson Laboratory",
		`<a href="/t/files?centre=H&amp;status=failed">1</a>`)
	answers(t, server, "/centres/h", http.StatusOK, "Of what H sent, 1 file needs a correction from there.", "MRC Harwell", "data@example.org",
		`<a class="exc" href="/t/files?centre=H&amp;exception=xsd_invalid&amp;status=failed">`, `<a href="/t/files?centre=H&amp;phase=overview&amp;status=done">1</a>`,
		`<a href="/t/sources/ics"><bdi>ics</bdi></a>`, "Nothing waits: every file of it has come to its end.", "tributary centres report H")
	answers(t, server, "/centres/J", http.StatusOK, "Files of J are on their way; none of them has failed.", "add/J.2026-11-20.01.impc.zip")
	for _, path := range []string{"/centres/X", "/centres/%00", "/centres/%ff"} {
		answers(t, server, path, http.StatusNotFound, "There is nothing here.")
	}
}
