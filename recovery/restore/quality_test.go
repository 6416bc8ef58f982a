package restore

import (
	"strings"
	"testing"

	"tributary/schemas"
)

// What people have decided about documents comes back from the log, so that what they
// decide next counts; what can't be a decision does not.
func TestDecisionsAboutDocumentsAreRestored(t *testing.T) {
	s := newScene(t)
	file, _ := s.fetched()
	for _, d := range []struct {
		entry, bytes, decision string
		revision               int64
	}{
		{"a.xml", "a", schemas.QualityHeld, 1},
		{"a.xml", "a", schemas.QualityAccepted, 2},
		{"a.xml", "b", schemas.QualityQuestioned, 1},
		{"b.xml", "b", schemas.QualityHeld, 3},
		{"b.xml", "b", schemas.QualityHeld, 3}, // a repeat
		{"b.xml", "c", "liked", 4},
		{"", "c", schemas.QualityHeld, 1},
	} {
		e := &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
			Entity: schemas.EntityQuality, Phase: string(schemas.QC), Status: string(schemas.QualityStatus(d.decision)), Note: d.decision, Revision: d.revision}
		e.Entry, e.SHA256 = d.entry, d.bytes
		s.tell(schemas.StatusChangedTopic, "quality", e)
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := func(entry, bytes string) string {
		return "(SELECT decision || ' ' || revision FROM control.quality WHERE id = '" + schemas.QualityID(file, entry, bytes) + "')"
	}
	s.same("decisions", "SELECT concat_ws(', ', "+strings.Join([]string{of("a.xml", "a"), of("a.xml", "b"), of("b.xml", "b"), "(SELECT count(*) FROM control.quality)"}, ", ")+")",
		"accepted 2, questioned 1, held 3, 3")
}
