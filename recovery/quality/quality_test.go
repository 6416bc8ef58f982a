package quality_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/producers/plan/plantest"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/recovery/quality"
	"tributary/schemas"
	"tributary/sql/control"
)

const (
	entry   = "H.2012-10-02.1.specimen.impc.xml"
	invalid = "H.2012-10-02.1.experiment.impc.xml"
)

// told is the document's own event, which tells its bytes.
func told(bytes string) schemas.StatusChanged {
	for _, e := range reporttest.Story() {
		if e.Entry == entry {
			e.SHA256 = strings.Repeat(bytes, 64)
			return e
		}
	}
	panic("the story has no such document")
}

// A decision is an event with its author, which the tracker makes of the document what
// was decided; the same again is refused, another replaces it, and nobody decides about
// what is not loaded, or about other bytes than they saw.
func TestDecide(t *testing.T) {
	p := plantest.New(t)
	tracker := reporttest.Told(t, append(reporttest.Story(), told("a")))
	seen := strings.Repeat("a", 64)
	d := quality.Document{Action: "add", File: reporttest.GoodZip, Entry: entry}
	for i, c := range []struct {
		what     string
		document quality.Document
		decision string
		dry      bool
		done     bool
		detail   string
		stands   string // the document, with how often it was decided about
	}{
		{"only said", d, "held", true, true, "it is held", "overview done"},
		{"held", d, "held", false, true, "it is held", "qc cancelled held 1 ann <b>1"},
		{"again", d, "held", false, false, "it is held already", "qc cancelled held 1 ann <b>1"},
		{"questioned", d, "questioned", false, true, "; it was held", "qc running questioned 2 ann <b>3"},
		{"accepted as it was seen", quality.Document{Action: d.Action, File: d.File, Entry: d.Entry, SHA256: seen}, "accepted", false, true, "it is accepted", "qc done accepted 3 ann <b>4"},
		{"not as it was seen", quality.Document{Action: d.Action, File: d.File, Entry: d.Entry, SHA256: strings.Repeat("b", 64)}, "held", false, false, "other bytes", "qc done accepted 3 ann <b>4"},
		{"found wrong", quality.Document{Action: d.Action, File: d.File, Entry: invalid}, "accepted", false, false, "it stands at xsd, failed", "qc done accepted 3 ann <b>4"},
		{"none of the file's", quality.Document{Action: d.Action, File: d.File, Entry: "other.xml"}, "accepted", false, false, "no such document", "qc done accepted 3 ann <b>4"},
		{"no name", quality.Document{Action: d.Action, File: d.File, Entry: "a\x00b"}, "accepted", false, false, "no document of that name", "qc done accepted 3 ann <b>4"},
	} {
		o := quality.Orders{Decision: control.Decision{By: "ann", Reason: "<b>" + string(rune('0'+i)), At: reporttest.Start().Add(time.Hour)}, Pool: p.Pool, Tracker: tracker, Outbox: p.Outbox, Dry: c.dry}
		got, err := o.Decide(t.Context(), c.document, c.decision)
		if err != nil {
			t.Fatal(err)
		}
		if got.Done != c.done || !strings.Contains(got.Detail, c.detail) || got.Document != c.document.String() {
			t.Errorf("%s: %+v, want %v and %q", c.what, got, c.done, c.detail)
		}
		read(t, p, tracker)
		if is := stands(t, tracker); is != c.stands {
			t.Errorf("%s: it stands %q, want %q", c.what, is, c.stands)
		}
	}
	reporttest.Add(t, tracker, told("b")) // a hash is told once: the greater counts
	if is := stands(t, tracker); is != "overview done" {
		t.Errorf("other bytes stand %q", is)
	}
}

// read lets the tracker read what control has told.
func read(t *testing.T, p *plantest.Plane, tracker *pgxpool.Pool) {
	t.Helper()
	for _, m := range p.Drain() {
		e, ok := m.Body.(*schemas.StatusChanged)
		if !ok || m.Key != e.File || e.Message == "" {
			t.Fatalf("told: %+v", m)
		}
		reporttest.Add(t, tracker, *e)
	}
}

func stands(t *testing.T, tracker *pgxpool.Pool) (text string) {
	t.Helper()
	if err := tracker.QueryRow(t.Context(), `SELECT concat_ws(' ', d.phase, d.status, d.qc, q.revision, d.qc_by, d.qc_reason)
		FROM tracker.document d LEFT JOIN tracker.xml_file m USING (id) LEFT JOIN tracker.quality q ON q.id = m.quality_id WHERE d.document = $1`, entry).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// through is the story, without the document of the file that failed.
func through() []schemas.StatusChanged {
	out := slices.DeleteFunc(reporttest.Story(), func(e schemas.StatusChanged) bool { return e.Entry == invalid })
	for i := range out {
		out[i].Rows = min(out[i].Rows, 1)
	}
	return out
}

// What is decided narrows lists, of documents and of their files, also by the status that
// a decision is; and it is no end that anything waits for.
func TestListsOfWhatWasDecided(t *testing.T) {
	decided := func(decision string) schemas.StatusChanged {
		e := told("a")
		e.Entity, e.Attempt, e.Outcome, e.Phase, e.Status = schemas.EntityQuality, 0, "", "qc", string(schemas.QualityStatus(decision))
		e.Note, e.Revision = decision, 1
		return e
	}
	for _, c := range []struct {
		decision string
		want     string // how many documents and files are listed by each filter
	}{
		{"", "awaiting 1 1, accepted 0 0, questioned 0 0, held 0 0, qc 0, running 0, cancelled 0, waiting 0"},
		{"accepted", "awaiting 0 0, accepted 1 1, questioned 0 0, held 0 0, qc 1, running 0, cancelled 0, waiting 0"},
		{"questioned", "awaiting 0 0, accepted 0 0, questioned 1 1, held 0 0, qc 1, running 1, cancelled 0, waiting 0"},
		{"held", "awaiting 0 0, accepted 0 0, questioned 0 0, held 1 1, qc 1, running 0, cancelled 1, waiting 0"},
	} {
		events := append(through(), told("a"))
		if c.decision != "" {
			events = append(events, decided(c.decision))
		}
		tracker := reporttest.Told(t, events)
		documents := func(f report.Filter) string {
			n := 0
			f.Limit = 10
			if err := report.Documents(t.Context(), tracker, f, func(d report.Document) error {
				if d.Document == entry {
					n++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return " " + string(rune('0'+n))
		}
		var got []string
		for _, qc := range report.Qualities() {
			n := 0
			if err := report.Files(t.Context(), tracker, report.Filter{QC: qc, Limit: 10}, func(report.File) error { n++; return nil }); err != nil {
				t.Fatal(err)
			}
			got = append(got, qc+documents(report.Filter{QC: qc, Sort: report.Newest})+" "+string(rune('0'+n)))
		}
		got = append(got, "qc"+documents(report.Filter{Phase: "qc"}), "running"+documents(report.Filter{Status: "running"}), "cancelled"+documents(report.Filter{Status: "cancelled"}),
			"waiting"+documents(report.Filter{Waiting: true}))
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%q:\n%s, want\n%s", c.decision, text, c.want)
		}
		counts, err := report.QualityStands(t.Context(), tracker, "h")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range counts {
			if want := n.Decision == c.decision || c.decision == "" && n.Decision == report.Awaiting; want != (n.Documents == 1) {
				t.Errorf("%q: %d are counted as %s", c.decision, n.Documents, n.Decision)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for named, want := range map[string]quality.Document{
		"add/a.zip/a.xml":   {Action: "add", File: "a.zip", Entry: "a.xml"},
		"edit/a.zip/d/a/.x": {Action: "edit", File: "a.zip", Entry: "d/a/.x"},
		"":                  {}, "add": {}, "add/a.zip": {}, "add/a.zip/": {}, "add//a.xml": {}, "move/a.zip/a.xml": {},
	} {
		got, err := quality.Parse(named)
		if got != want || (err == nil) != (want != quality.Document{}) {
			t.Errorf("%q: %+v, %v", named, got, err)
		}
	}
}
