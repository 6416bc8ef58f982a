//go:build !race

package tracker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// Every event that has an author is an order, whatever it is about; what is told of an
// order a second time is none, nor is what nobody ordered.
func TestWhatPeopleOrder(t *testing.T) {
	source := func(message string, attributes map[string]string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "s"}, Message: message, Attributes: attributes}
	}
	by := func(more ...string) map[string]string {
		m := map[string]string{"by": "ann", "reason": "so"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	file := schemas.FileRef{File: schemas.FileID("add", "H.1.zip"), FileName: "H.1.zip", Action: "add"}
	replay := func(note, status string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntityReplay, Scope: schemas.Scope{Run: "00000000-0000-4000-8000-00000000000a"}, Number: 3, Note: note, Status: status, Attributes: by("from", "xsd", "where", "centre=H")}
	}
	overrun := source("", by())
	overrun.Note = schemas.NoteOverrun
	quality := schemas.StatusChanged{Entity: schemas.EntityQuality, FileRef: file, DocumentRef: schemas.DocumentRef{Entry: "a.xml", SHA256: "h"}, Note: "held", Revision: 1, Message: "held by ann: so", Attributes: by()}
	for _, c := range []struct {
		name string
		e    schemas.StatusChanged
		want []string
	}{
		{"a source", source("changed by ann: so", by("changed", "url: a → b")), []string{"ann|source|s|changed|so|url: a → b"}},
		{"without a reason", source("changed by ann", map[string]string{"by": "ann", "reason": ""}), []string{"ann|source|s|changed|-|-"}},
		{"of an older program", source("put into maintenance by root@host: moving: soon", nil), []string{"root@host|source|s|put into maintenance|moving: soon|-"}},
		{"of an older program, in several words", source("to act no more on done_with: move to done by ann", nil), []string{"ann|source|s|to act no more on done_with: move to done|-|-"}},
		{"of an older program, of several lines", source("resumed by ann: a\nb", nil), []string{"ann|source|s|resumed|a\nb|-"}},
		{"whose polls fail", source("its server was stopped by somebody: who knows", nil), nil},
		{"which nobody changed", source("", map[string]string{"state": "suspended"}), nil},
		{"an overrun", overrun, nil},
		{"a centre", schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Message: "added by ann: so", Attributes: by()}, []string{"ann|centre|H|added|so|-"}},
		{"a centre of an older program", schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}, Message: "removed by ann"}, []string{"ann|centre|H|removed|-|-"}},
		{"a file", schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: file, Note: "priority", Message: "given the priority 9 by ann: so", Attributes: by()}, []string{"ann|file|add/H.1.zip|given the priority 9|so|-"}},
		{"a file whose message is cut", schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: file, Note: "held", Message: "held by an", Attributes: by()}, []string{"ann|file|add/H.1.zip|held|so|-"}},
		{"a file that nobody orders", schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: file, Message: "resumed by ann: so"}, nil},
		{"a dead letter", schemas.StatusChanged{Entity: schemas.EntityDownload, FileRef: file, Attempt: 2, Note: "dead_letter_retried", Attributes: by("dead_letter", "id", "stage", "validate", "document", "a.xml")}, []string{"ann|dead_letter|add/H.1.zip/a.xml|retried|so|validate"}},
		{"a document", quality, []string{"ann|document|add/H.1.zip/a.xml|held|so|-"}},
		{"a replay", replay(schemas.ReplayRequested, "running"), []string{"ann|replay|3|requested|so|from xsd, where centre=H"}},
		{"a replay that is stopped", replay("stopped", "pending"), []string{"ann|replay|3|stopped|so|-"}},
		{"a replay that is done", replay("done", "done"), nil},
		{"a member", schemas.StatusChanged{Entity: schemas.EntityMember, Message: "asked to stop by ann: so", Attributes: by("member", "m1", "roles", "poll,plan")}, []string{"ann|member|m1|asked to stop|so|poll,plan"}},
		{"an unload", schemas.StatusChanged{Entity: schemas.EntityOperation, FileRef: file, DocumentRef: schemas.DocumentRef{Archive: "h"}, Note: "unload", Message: "ordered to be unloaded by ann: so", Attributes: by()}, []string{"ann|file|add/H.1.zip|ordered to be unloaded|so|version h"}},
		{"a reference", schemas.StatusChanged{Entity: schemas.EntityOperation, FileRef: schemas.FileRef{FileName: "p.csv"}, DocumentRef: schemas.DocumentRef{Entry: "parameter"}, Note: "reference", Message: "ordered to be loaded by ann: so", Attributes: by()}, []string{"ann|reference|parameter|ordered to be loaded|so|p.csv"}},
		{"what can't be placed", schemas.StatusChanged{Entity: schemas.EntitySource, Message: "changed by ann: so", Attributes: by()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFold()
			for range 2 {
				_ = f.add(&c.e, time.Unix(1, 0)) // what can't be placed is no order
			}
			var got []string
			for _, o := range f.ordered {
				orNone := func(s string) string { return map[bool]string{true: "-", false: s}[s == ""] }
				got = append(got, o.by+"|"+o.kind+"|"+o.subject+"|"+o.what+"|"+orNone(o.reason)+"|"+orNone(o.detail))
			}
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("orders (- want, + got):\n%s", d)
			}
		})
	}
}
