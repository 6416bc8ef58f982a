//go:build !race

package sequence

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/texts"
)

// TestHostileTextsOfVerdicts shows that no text of document.validated, whatever
// is in it, keeps sequence from the records behind it, nor reaches control or the
// order as it came. What can be no verdict of ours, since an id is none, is passed
// over; the record itself stays as it was.
func TestHostileTextsOfVerdicts(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	for _, hostile := range texts.Hostile() {
		for _, tc := range texts.Spoiled(func() any { return f.verdict("specimen", "2026-01-01", 1, schemas.Valid) }, hostile) {
			b.verdictAsIs(tc.Field, tc.Body)
		}
	}
	// A verdict that belongs to a document waited for, with texts that go on to
	// the warehouse.
	v := f.verdict("specimen", "2026-01-01", 2, schemas.FailedEnd)
	v.Entry, v.Exception, v.Profile, v.FileName = "nul\x00.xml", "odd\u202e", "p\x1b[0m", "f\x00.zip"
	v.Document = schemas.DocumentID(f.id, v.Entry)
	b.exec("DELETE FROM control.document")
	b.verdictAsIs("several", v)
	b.release()
	got := b.ordered()
	if len(got) == 0 || got[0].Entry != "nul\uFFFD.xml" || got[0].Document != v.Document {
		t.Fatalf("positions: %+v", got)
	}
	for _, o := range got {
		for _, text := range []string{o.Entry, o.Exception, o.Profile, o.FileName} {
			if wrong := texts.Wrong(text); wrong != "" {
				t.Errorf("a position says %s", wrong)
			}
		}
	}
	filled := texts.Look(t, b.Pool, control.Schema)
	if all := strings.Join(filled, " "); !strings.Contains(all, "control.document.entry") || !strings.Contains(all, "control.document.download") {
		t.Errorf("columns that hold a text: %v", filled)
	}
}

// TestExtremeNumbersOfVerdicts shows that no number of document.validated keeps sequence from
// the records behind it, nor from releasing what is in control.
func TestExtremeNumbersOfVerdicts(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	n := int64(0)
	for _, tc := range texts.Extreme(func() any {
		n++
		return f.verdict("specimen", "2026-01-01", n, schemas.Valid)
	}) {
		b.verdictAsIs(tc.Field, tc.Body)
	}
	b.release()
	if got := b.ordered(); len(got) == 0 {
		t.Error("nothing was released")
	}
}

// verdictAsIs reads one record as somebody else may write it.
func (b *bench) verdictAsIs(what string, body any) {
	b.t.Helper()
	value, err := b.deps.Outbox.Codec.EncodeBody(schemas.DocumentValidatedTopic, body)
	if err != nil {
		b.t.Fatal(err)
	}
	rec := kafka.ToKgo("test", schemas.Record{Topic: schemas.DocumentValidatedTopic, Value: value, Headers: []schemas.Header{{Key: "ce_id", Value: []byte(uuid.NewString())}}})
	r := sink.Range{Topic: schemas.DocumentValidatedTopic, From: b.offset, To: b.offset + 1, Records: []*kgo.Record{rec}}
	b.offset++
	if err := b.Apply(b.t.Context(), []sink.Range{r}); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}
