package explained_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/explained"
	"tributary/queries/original"
	"tributary/queries/original/originaltest"
	"tributary/queries/report"
	"tributary/schemas/exception"
)

func ptr[T any](v T) *T { return &v }

// facts are of a document with two errors, and another that has no place.
func facts(archive string, entry originaltest.Entry) report.DocumentFacts {
	message := "cvc-enumeration-valid: Value 'x' is not facet-valid with respect to enumeration '[a, b]'. It must be a value from the enumeration."
	x := report.DocumentFacts{Document: report.Document{Document: entry.Name, File: "a.zip", Action: "add", Version: &archive, Phase: "xsd", Status: "failed", SHA256: ptr(entry.SHA256()), ErrorsTotal: 5,
		Errors: []report.Error{{Exception: "document_name", Message: ptr("it has \x1b[1m a name")}, {Line: ptr(3), Column: ptr(3), Exception: "xsd_invalid", Message: &message}, {Line: ptr(9), Exception: "unheard_of"}}}}
	x.Size = ptr(int64(len(entry.Text)))
	return x
}

// Each error has its rule, what to do, and the lines around it, of which its own is marked;
// what is no place has none.
func TestDocument(t *testing.T) {
	entry := originaltest.Entry{Name: "a.xml", Text: "<a>\n  <b>1</b>\n  <c>x</c>\n</a>\n"}
	store, archive := originaltest.Store(t, entry)
	d := explained.New(&original.Reader{Blobs: store}).Document(t.Context(), facts(archive, entry), map[string]string{"unheard_of": "Nobody knows."})
	var lines []string
	for _, e := range d.Errors {
		text := fmt.Sprintf("%s (%s) means %t rule %t do %t unseen %q:", e.Exception, e.Move, e.Means != "", e.Rule != "", e.Do != "", e.Unseen)
		for _, l := range e.Lines {
			text += fmt.Sprintf(" %d%t[%s]", l.Number, l.Hit, l.At)
		}
		lines = append(lines, text)
	}
	want := []string{
		`document_name (us) means false rule false do false unseen "":`,
		`xsd_invalid (centre) means true rule false do true unseen "": 1false[] 2false[] 3true[<c>] 4false[]`,
		`unheard_of (us) means true rule false do false unseen "":`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("explained (-want +got):\n%s", diff)
	}
	if x := explained.Explain(report.Error{Exception: "of_a_check"}, "data", nil); x.Move != exception.Centre {
		t.Errorf("a finding is for %s", x.Move)
	}
	var text strings.Builder
	if err := d.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"add/a.zip\n  a.xml\n", "stands at xsd, failed", "\nxsd_invalid, line 3, column 3\n", "  >      3    <c>x</c>\n", "         2    <b>1</b>\n", "2 more are only counted"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, &text)
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Errorf("a control character is printed: %q", &text)
	}
}

// Where the bytes can't be read, one error says why, and all the rest is told.
func TestUnseen(t *testing.T) {
	entry := originaltest.Entry{Name: "a.xml", Text: "<a/>"}
	store, archive := originaltest.Store(t, entry)
	gone := facts(strings.Repeat("0", 64), entry)
	large := facts(archive, entry)
	for _, x := range []struct {
		reader *explained.Reader
		facts  report.DocumentFacts
		left   int64
		want   string
	}{
		{explained.New(nil), large, explained.MostRead, "can't be read from here"},
		{explained.New(&original.Reader{Blobs: store}), gone, explained.MostRead, "not in the blob store any more"},
		{explained.New(&original.Reader{Blobs: store}), large, 1, "too large"},
	} {
		all := make([]explained.Error, len(x.facts.Errors))
		for i, e := range x.facts.Errors {
			all[i] = explained.Explain(e, "xsd", nil)
		}
		if err := x.reader.Lines(t.Context(), x.facts, &x.left, all); err == nil {
			t.Errorf("%s: no error", x.want)
		}
		if !strings.Contains(all[1].Unseen, x.want) || all[0].Unseen != "" || all[2].Unseen != "" || len(all[1].Lines) > 0 {
			t.Errorf("%q: %+v", x.want, all)
		}
	}
}

// No more documents are read at once than may be.
func TestTurns(t *testing.T) {
	r := explained.New(nil)
	var ends []func()
	for range 2 {
		end, err := r.Turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := r.Turn(t.Context()); err == nil || !strings.Contains(explained.Unseen(err), "read for others") {
		t.Errorf("a third: %v", err)
	}
	ends[0]()
	if _, err := r.Turn(t.Context()); err != nil {
		t.Error(err)
	}
}
