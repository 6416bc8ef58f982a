package own_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/schemas/exception"
)

func view(t *testing.T, centre string, events []schemas.StatusChanged) own.View {
	t.Helper()
	return own.View{Tracker: reporttest.Told(t, events), Centre: centre, Now: reporttest.Start().Add(time.Hour)}
}

func names(page report.Page[report.File]) (out []string) {
	for _, f := range page.Rows {
		out = append(out, f.File)
	}
	slices.Sort(out)
	return out
}

// What is of another centre is as if it were not, by whichever way it is asked for.
func TestNothingOfOthers(t *testing.T) {
	v := view(t, "H", reporttest.Busy())
	for _, f := range []report.Filter{{}, {Centre: "J"}, {Source: "jax"}, {Session: "1"}, {Sort: report.Newest}} {
		page, err := v.Files(t.Context(), f)
		if d := cmp.Diff([]string{reporttest.InsertedZip, reporttest.InvalidZip}, names(page)); d != "" || err != nil {
			t.Errorf("%+v: %v\n%s", f, err, d)
		}
	}
	for _, f := range []report.Filter{{Name: reporttest.RunningZip}, {Name: "J.*"}, {Exception: "transfer_truncated"}} {
		if page, err := v.Files(t.Context(), f); err != nil || len(page.Rows) > 0 {
			t.Errorf("%+v: %v %v", f, names(page), err)
		}
	}
	for _, name := range []string{reporttest.RunningZip, reporttest.RetriedZip, "nowhere.zip", "", "*", "H.*", "a\x00b", "\xff"} {
		if _, err := v.Story(t.Context(), "add", name); !errors.Is(err, report.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := v.Document(t.Context(), "add", name, "H.2026-11-20.1.specimen.impc.xml"); !errors.Is(err, report.ErrNotFound) {
			t.Errorf("a document of %q: %v", name, err)
		}
	}
	theirs := own.View{Tracker: v.Tracker, Centre: "J", Now: v.Now}
	if _, _, err := theirs.Document(t.Context(), "add", reporttest.InvalidZip, "H.2026-11-20.1.specimen.impc.xml"); !errors.Is(err, report.ErrNotFound) {
		t.Errorf("J is told of a document of H: %v", err)
	}
	if page, err := theirs.Documents(t.Context(), report.Filter{}); err != nil || len(page.Rows) > 0 {
		t.Errorf("J is shown documents of H: %+v, %v", page, err)
	}
	troubles, err := theirs.Troubles(t.Context())
	if err != nil || len(troubles) != 1 || troubles[0].Exception != "transfer_truncated" || troubles[0].Move != exception.Nobody {
		t.Errorf("J has %+v, %v", troubles, err)
	}
	servers, err := theirs.Servers(t.Context())
	if err != nil || len(servers) != 1 || servers[0].Name != "jax" || servers[0].Status != "failed" || !strings.Contains(servers[0].Says, "another identity") {
		t.Errorf("J runs %+v, %v", servers, err)
	}
	if nobody, err := (own.View{Tracker: v.Tracker, Centre: "Nowhere", Now: v.Now}).Files(t.Context(), report.Filter{}); err != nil || len(nobody.Rows) > 0 {
		t.Errorf("a centre without files: %+v, %v", nobody, err)
	}
}

// A file's story names no server of others, and says nothing about machines.
func TestStoryIsTheCentresOwn(t *testing.T) {
	v := view(t, "H", reporttest.Story())
	for _, name := range []string{reporttest.GoodZip, reporttest.BrokenZip} {
		told, err := v.Story(t.Context(), "add", name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(told)
		if err != nil {
			t.Fatal(err)
		}
		for _, inner := range []string{`"ics"`, `"Ics"`, "40 of 120 bytes", "no_checksum", "Authorization", "206 Partial", schemas.LiveRun, `"session":1`} {
			if strings.Contains(string(all), inner) {
				t.Errorf("%s: %s is told: %s", name, inner, all)
			}
		}
		if text := string(all); name == reporttest.GoodZip && !(strings.Contains(text, `"harwell"`) && strings.Contains(text, "no id")) ||
			name == reporttest.BrokenZip && !strings.Contains(text, "bad CRC on both hostings") {
			t.Errorf("%s: what is for the centre is not told: %s", name, all)
		}
	}
	retried, err := view(t, "J", reporttest.Busy()).Story(t.Context(), "add", reporttest.RetriedZip)
	if err != nil || len(retried.Tries) == 0 || len(retried.Tries[0].Log) != 1 {
		t.Fatalf("the file that is tried again: %+v, %v", retried.Tries, err)
	}
	if l := retried.Tries[0].Log[0]; l.Exception != "transfer_truncated" || l.Message != nil || retried.Tries[0].Message != nil {
		t.Errorf("a message about a transfer is told: %+v", l)
	}
	whole, err := report.Tell(t.Context(), v.Tracker, "add", reporttest.GoodZip)
	if err != nil || len(whole.Hostings) != 2 {
		t.Errorf("there is nothing to hold back: %+v, %v", whole.Hostings, err)
	}
	d, _, err := v.Document(t.Context(), "add", reporttest.GoodZip, "H.2012-10-02.1.experiment.impc.xml")
	if err != nil || len(d.Errors) != 2 || d.Position != nil {
		t.Errorf("the document: %+v, %v", d, err)
	}
}

// A name that tells no centre is shown to the centre whose servers alone show it.
func TestNameless(t *testing.T) {
	shown := func(source, centre string) schemas.StatusChanged {
		return schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: centre, Source: source}, Entity: schemas.EntityHosting, Look: 1, FileSize: 1,
			FileRef: schemas.FileRef{File: schemas.FileID("add", reporttest.BadZip), FileName: reporttest.BadZip, Action: "add"}, Attributes: map[string]string{"state": "present"}}
	}
	other := schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "Ics", Source: "ics"}, Attributes: map[string]string{"state": "available"}}
	for _, c := range []struct {
		what   string
		more   []schemas.StatusChanged
		h, ics bool
	}{
		{"nobody shows it", nil, false, false},
		{"its server", []schemas.StatusChanged{shown("harwell", "H")}, true, false},
		{"two centres' servers", []schemas.StatusChanged{shown("harwell", "H"), other, shown("ics", "Ics")}, false, false},
		{"another's server", []schemas.StatusChanged{other, shown("ics", "Ics")}, false, true},
	} {
		v := view(t, "H", append(reporttest.Story(), c.more...))
		for centre, want := range map[string]bool{"H": c.h, "Ics": c.ics} {
			v.Centre = centre
			files, err := v.Nameless(t.Context(), 10)
			if err != nil || (len(files) == 1) != want {
				t.Errorf("%s: %s is shown %+v, %v", c.what, centre, files, err)
			}
			if _, err := v.Story(t.Context(), "add", reporttest.BadZip); (err == nil) != want {
				t.Errorf("%s: %s is told %v", c.what, centre, err)
			}
		}
	}
}

func TestWeeks(t *testing.T) {
	v := view(t, "H", reporttest.Busy())
	last, err := v.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	want := own.Summary{Centre: "H", From: start, Until: start.AddDate(0, 0, 7), Came: 2, Loaded: 1, Failed: 1,
		Troubles: []own.Trouble{{Exception: "xsd_invalid", Title: "A document does not follow the schema", Move: exception.Centre, Files: 1, Failed: 1}}}
	for i := range 7 {
		want.Days = append(want.Days, own.Count{Day: start.AddDate(0, 0, i)})
	}
	want.Days[6].Came, want.Days[6].Failed = 2, 1
	if d := cmp.Diff(want, last, cmpopts.IgnoreFields(own.Trouble{}, "Do"), cmpopts.IgnoreFields(own.Summary{}, "Servers")); d != "" {
		t.Error(d)
	}
	if len(last.Servers) != 2 || last.Servers[0].Status != "done" || last.Servers[1].Status != "failed" {
		t.Errorf("the servers: %+v", last.Servers)
	}
	if all, err := v.Ended(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("no week has ended, but %+v, %v", all, err)
	}
	v.Now = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	all, err := v.Ended(t.Context())
	if err != nil || len(all) != 2 || own.Name(all[0].From) != "2026-W48" || all[0].Came != 0 || own.Name(all[1].From) != "2026-W47" || all[1].Came != 2 || all[0].Servers == nil || all[1].Servers != nil {
		t.Errorf("the weeks that have ended: %+v, %v", all, err)
	}
	v.Now = v.Now.AddDate(0, 0, 7*own.Weeks)
	if all, err := v.Ended(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("weeks of long ago: %+v, %v", all, err)
	}
}

func TestText(t *testing.T) {
	v := view(t, "H", reporttest.Busy())
	last, err := v.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := last.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `H: 15 November 2026 to 21 November 2026
2 files of yours came; 1 needs a correction from you.
As of now 1 in the warehouse, 1 failed.

What to correct
- A document does not follow the schema (xsd_invalid): 1 file
  Correct it where your export writes it. Then pack the documents again, and upload them under a new increment.

Your servers
- harwell: It answers. Last new file: 21 November 2026.
- ics: The server refuses the user, password or key. Nothing comes from there until that is mended.
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
