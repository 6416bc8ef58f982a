package restore

import (
	"testing"

	"tributary/producers/plan"
	"tributary/schemas"
)

// What people have ordered about files comes back from the log: who holds a file, and
// that what they have ended stays so, also what had been accepted before.
func TestOrdersAboutFilesAreRestored(t *testing.T) {
	for name, c := range map[string]struct {
		orders             []string
		acquisitions, held string
	}{
		"held":            {[]string{plan.NoteHeld}, "ended cancelled held_by_hand f", "t ann wrong mice"},
		"released":        {[]string{plan.NoteHeld, plan.NoteReleased}, "ended cancelled held_by_hand t", "f"},
		"held once more":  {[]string{plan.NoteHeld, plan.NoteReleased, plan.NoteHeld}, "ended cancelled held_by_hand f", "t ann wrong mice"},
		"cancelled":       {[]string{plan.NoteCancelled}, "ended cancelled cancelled_by_hand f", "f"},
		"nothing ordered": {nil, "requested f", "f"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			file, session := s.fetched()
			ref := schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add}
			for i, note := range c.orders {
				exception := map[string]string{plan.NoteHeld: plan.HeldByHand, plan.NoteCancelled: plan.CancelledByHand}[note]
				if i == 0 {
					s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}, FileRef: ref,
						Entity: schemas.EntityDownload, Attempt: 1, Look: 1, FileSize: 9, Phase: string(schemas.XSD), Status: string(schemas.Cancelled), Exception: exception,
						Message: "by ann: wrong mice", Outcome: sha + "/done", Accepted: sha + "/done"})
				}
				s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, FileRef: ref, Entity: schemas.EntityFile,
					Note: note, Attributes: map[string]string{"by": "ann", "reason": "wrong mice"}})
			}
			if _, err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.same("acquisitions", "SELECT concat_ws(' ', state, nullif(result, ''), nullif(exception, ''), retry_at IS NOT NULL) FROM control.acquisition", c.acquisitions)
			s.same("files", "SELECT concat_ws(' ', held_at IS NOT NULL, nullif(held_by, ''), nullif(held_why, '')) FROM control.file", c.held)
		})
	}
}
