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

// The priority that a person has given a file comes back with it and with what waits of
// it, until bytes of it have come or it has ended for good.
func TestPrioritiesOfFilesAreRestored(t *testing.T) {
	given := func(priority string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntityFile, Note: plan.NotePriority, Attributes: map[string]string{"priority": priority, "by": "ann", "reason": "urgent"}}
	}
	judged := func(status schemas.Status, phase schemas.Phase, exception, note string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntityDownload, Attempt: 2, Look: 1, FileSize: 9, Phase: string(phase), Status: string(status), Exception: exception, Note: note,
			Outcome: exception, Accepted: exception}
	}
	for name, c := range map[string]struct {
		told               []schemas.StatusChanged
		file, acquisitions string
	}{
		"it waits":               {[]schemas.StatusChanged{given("2"), given("9")}, "9 ann urgent", "9"},
		"an attempt has failed":  {[]schemas.StatusChanged{given("0"), judged(schemas.Failed, schemas.Download, "timed_out", "")}, "0 ann urgent", "0"},
		"it was not tried":       {[]schemas.StatusChanged{given("9"), judged(schemas.Cancelled, schemas.Download, schemas.NoRoom, schemas.NotTried)}, "9 ann urgent", "9 9"},
		"it has failed for good": {[]schemas.StatusChanged{given("9"), judged(schemas.Failed, schemas.Unzip, "zip_bomb", "")}, "", ""},
		"it was cancelled":       {[]schemas.StatusChanged{given("9"), judged(schemas.Cancelled, schemas.Download, plan.CancelledByHand, "")}, "", ""},
		"it has come":            {[]schemas.StatusChanged{given("9"), judged(schemas.Done, schemas.ZipMD5, sha, "duplicate")}, "", ""},
		"no priority":            {[]schemas.StatusChanged{given("10"), given("-1"), given("urgent")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			file, session := s.fetched()
			for _, e := range c.told {
				e.Scope, e.FileRef = schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}, schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add}
				s.tell(schemas.StatusChangedTopic, "plan", &e)
			}
			if _, err := s.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.same("files", "SELECT concat_ws(' ', priority, nullif(priority_by, ''), nullif(priority_why, '')) FROM control.file", c.file)
			s.same("acquisitions", "SELECT coalesce(string_agg(priority::text, ' '), '') FROM control.acquisition", c.acquisitions)
		})
	}
}
