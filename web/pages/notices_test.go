package pages_test

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/web/pages/pagestest"
)

// A feed has what its rule tells, the newest first, each with an id that stays, and with
// the page of what it is about; texts of others do no harm.
func TestNotices(t *testing.T) {
	events, _ := reporttest.Moments()
	events = append(events, schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "J", Source: "jax"}, FileRef: schemas.FileRef{File: schemas.FileID("add", reporttest.RunningZip), FileName: reporttest.RunningZip, Action: "add"},
		Entity: schemas.EntityDownload, Attempt: 3, Phase: string(schemas.Unzip), Status: string(schemas.Failed), Exception: "corrupted_at_producer", Accepted: "corrupted_at_producer", Message: reporttest.HostileText})
	server := served(t, pagestest.Remembering(t, reporttest.Told(t, events), reporttest.HistoryOf(t, events)))
	var feed struct {
		ID      string `xml:"id"`
		Updated string `xml:"updated"`
		Entries []struct {
			ID      string `xml:"id"`
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
			Link    struct {
				To string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	read := func(rule string) []string {
		t.Helper()
		body := says(t, server, "/notices.xml?"+rule, http.StatusOK, "!<script", "!\u202e")
		feed.Entries = nil
		if err := xml.Unmarshal([]byte(body), &feed); err != nil {
			t.Fatal(err)
		}
		titles := []string{}
		for _, e := range feed.Entries {
			titles = append(titles, e.Title+" "+e.Link.To)
			if !strings.HasPrefix(e.ID, "urn:uuid:") || e.Updated > feed.Updated {
				t.Errorf("%s: an entry %+v in a feed of %s", rule, e, feed.Updated)
			}
		}
		return titles
	}
	document := "/documents/H.2026-11-20.1.specimen.impc.xml"
	for rule, want := range map[string][]string{
		"when=phase_reached&phase=overview": {"add/" + reporttest.InsertedZip + "/H.2026-11-20.1.specimen.impc.xml is through overview /t/files/add/" + reporttest.InsertedZip + document},
		"when=file_failed":                  {"add/" + reporttest.RunningZip + " failed in unzip: corrupted_at_producer /t/files/add/" + reporttest.RunningZip},
		"when=batch_closed":                 {"Batch 2 of H is closed: 1 documents /t/centres/H", "Batch 1 of H is closed: 3 documents /t/centres/H"},
		"when=source_suspended":             {"The source jax of J is suspended /t/sources/jax"},
		"when=centre_late":                  {},
		"when=server_clock_skewed":          {},
		"when=finding_opened":               {"add/" + reporttest.InvalidZip + ": specimen_unknown in its data /t/files/add/" + reporttest.InvalidZip + document},
	} {
		if d := cmp.Diff(want, read(rule)); d != "" {
			t.Errorf("%s (-want +got):\n%s", rule, d)
		}
	}
	read("when=finding_opened")
	before := slices.Clone(feed.Entries)
	if read("when=finding_opened"); cmp.Diff(before, feed.Entries) != "" {
		t.Errorf("asked again it is %v, and was %v", feed.Entries, before)
	}
	if all := read("when=file_failed&centre=J&centre=none"); len(all) == 0 || slices.ContainsFunc(all, func(title string) bool { return !strings.Contains(title, reporttest.RunningZip) }) {
		t.Errorf("of J failed: %v", all)
	}
	if all := read("when=file_failed&centre=j&exception=none"); len(all) > 0 {
		t.Errorf("nothing is called so: %v", all)
	}
	for rule, why := range map[string]string{
		"":                            "when: give one of phase_reached",
		"when=all":                    "when: give one of",
		"when=phase_reached":          "name the phase",
		"when=phase_reached&phase=x":  "name the phase",
		"when=file_failed&phase=xsd":  "it goes with when=phase_reached",
		"when=file_failed&centre=%00": "no text",
		"when=file_failed&as_of=1h":   "no_past",
		"when=file_failed" + strings.Repeat("&source=a", 21): "at most 20",
	} {
		says(t, server, "/notices.xml?"+rule, http.StatusBadRequest, why)
	}
}

// Pages name the feeds of what they show, in the head too, where the past is at hand and is
// not what is shown.
func TestPagesNameTheirFeeds(t *testing.T) {
	events, _ := reporttest.Moments()
	s := pagestest.Remembering(t, reporttest.Told(t, events), reporttest.HistoryOf(t, events))
	server := served(t, s)
	for path, feed := range map[string]string{
		"/tail":                                `/t/notices.xml?when=file_failed`,
		"/tail?centre=J&exception=x&phase=xsd": `/t/notices.xml?centre=J&amp;exception=x&amp;phase=xsd&amp;when=phase_reached`,
		"/centres/H":                           `/t/notices.xml?centre=H&amp;when=batch_closed`,
		"/sources/jax":                         `/t/notices.xml?source=jax&amp;when=source_suspended`,
	} {
		says(t, server, path, http.StatusOK, `<link rel="alternate" type="application/atom+xml" title="`, ` href="`+feed+`">`, `<a href="`+feed+`" type="application/atom+xml">`)
	}
	says(t, server, "/centres/H?as_of=30m", http.StatusOK, "!notices.xml")
	says(t, server, "/centres", http.StatusOK, "!notices.xml")
	s.Past = nil
	says(t, served(t, s), "/centres/H", http.StatusOK, "!notices.xml")
}

// Who wants to be told something sees what that would have been, and how to be told it.
func TestHowToBeTold(t *testing.T) {
	events, _ := reporttest.Moments()
	s := pagestest.Remembering(t, reporttest.Told(t, events), reporttest.HistoryOf(t, events))
	s.Notify = config.Notify{
		Targets: []config.NotifyTarget{{ID: "ops", Webhook: "https://chat.example.org/secret"}, {ID: "people", Mail: []string{"ann@example.org"}, Digest: config.Duration(24 * time.Hour)}, {ID: "others", Mail: []string{"b@example.org"}}},
		Rules:   []config.NotifyRule{{When: config.SourceSuspended, To: []string{"ops", "people"}}, {When: config.BatchClosed, To: []string{"others"}}},
	}
	server := served(t, s)
	says(t, server, "/notices", http.StatusOK, `aria-current="page">Notices`, `<option value="file_failed" selected>`, "Nobody is told of this kind", `href="/t/notices.xml?when=file_failed"`)
	says(t, server, "/notices?when=source_suspended&phase=xsd&centre=J", http.StatusOK, "1 notice of this kind", `<a href="/t/sources/jax"><bdi>The source jax of J is suspended</bdi></a>`,
		`href="/t/notices.xml?centre=J&amp;when=source_suspended"`, "- {when: source_suspended, centres: [&#34;J&#34;], to: [TARGET]}", `<bdi>ops</bdi> <span class="muted">webhook</span>`, `<bdi>people</bdi> <span class="muted">mail every 24h</span>`, "!others", "!example.org")
	says(t, server, "/notices?when=phase_reached", http.StatusOK, `phase=overview&amp;when=phase_reached`, "is through overview")
	says(t, server, "/notices?when=centre_late", http.StatusOK, "There was no notice of this kind", "Choose another kind")
	says(t, server, "/notices?when=soon", http.StatusBadRequest, "give one of")
	says(t, server, "/notices?as_of=1h", http.StatusBadRequest, "no_past")
	s.Past = nil
	says(t, served(t, s), "/notices", http.StatusServiceUnavailable, "This can&#39;t be read here.")
}
