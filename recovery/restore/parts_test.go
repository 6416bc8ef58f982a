package restore

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

const otherZip = "H.2024-01-02.1.impc.zip"

// parts is a batch of two files of two documents each, in two parts, to its end.
func parts(session string) (out []*schemas.DocumentOrdered) {
	for _, name := range []string{otherZip, zipName} {
		for _, entry := range []string{"0", "1", ""} {
			file := schemas.FileID(schemas.Add, name)
			o := &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: name, Action: schemas.Add},
				DocumentRef: schemas.DocumentRef{Archive: sha}, What: schemas.PositionVersion, Batch: schemas.ID("batch", session, "H"), Domain: "H", Number: 5, Attempt: 1, Download: sha, Unzip: "done", RankOwn: true, RankOrdinal: 1}
			if entry != "" {
				o.What, o.DocumentRef.Document, o.Entry = schemas.PositionDocument, schemas.DocumentID(file, entry), entry
			} else {
				o.Documents = 2
			}
			out = append(out, o)
		}
	}
	return append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H"}, What: schemas.PositionBatchEnd,
		Batch: schemas.ID("batch", session, "H"), Domain: "H", Number: 5, Documents: 4})
}

// publish tells of positions.
func (s *scene) publish(positions ...*schemas.DocumentOrdered) {
	for i, o := range positions {
		o.Position = int64(i + 1)
		s.tell(schemas.DocumentOrderedTopic, "sequence", o)
	}
}

// rest is what comes of the open batch once all its files have ended, as
// document.validated tells it of all documents from the beginning: its number, what it
// counts, and the files whose documents are still given positions.
func (s *scene) rest() (number, documents int64, files map[string]int) {
	s.t.Helper()
	files = map[string]int{}
	err := pg.InTx(s.t.Context(), s.Pool, func(tx pgx.Tx) error {
		var all []string
		for _, name := range []string{zipName, otherZip} {
			id := schemas.FileID(schemas.Add, name)
			all = append(all, id)
			for _, entry := range []string{"0", "1"} {
				if err := control.StoreDocuments(s.t.Context(), tx, []control.Document{{Run: schemas.LiveRun, File: id, Attempt: 1, Download: sha, Unzip: "done",
					Document: schemas.DocumentID(id, entry), Entry: entry, Kind: "specimen", Result: schemas.Valid, Body: []byte("the event")}}); err != nil {
					return err
				}
			}
		}
		// As plan accepts what download and unzip have told.
		if _, err := tx.Exec(s.t.Context(), `UPDATE control.acquisition SET state = 'extracted', download = $1, sha256 = $1, unzip = 'done', documents = 2 WHERE state = 'requested'`, sha); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(s.t.Context(), tx, all, s.Now())
		if err == nil {
			err = control.AfterEnds(s.t.Context(), tx, ended, s.Now())
		}
		if err != nil {
			return err
		}
		ready, err := control.ReadyBatches(s.t.Context(), tx, control.Limits{})
		if err != nil || len(ready) == 0 {
			return err
		}
		_, b, err := control.TakeBatch(s.t.Context(), tx, ready[0], control.Limits{})
		if err != nil {
			return err
		}
		docs, err := control.BatchDocuments(s.t.Context(), tx, b.ID, []string{"specimen"})
		number, documents = b.Number, b.Documents
		for _, d := range docs {
			if !d.Before {
				files[d.Name]++
				documents++
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return number, documents, files
}

// Wherever a batch that is released in parts was cut off, it goes on under its number:
// what was ordered is given no position again, also of a version that was not ordered as
// a whole, the rest is, and its end counts all.
func TestABatchInPartsGoesOnWhereverItWasCutOff(t *testing.T) {
	both := map[string]int{otherZip: 2, zipName: 2}
	for cut, want := range []struct {
		closing []string
		number  int64
		files   map[string]int // whose documents get positions
	}{
		{nil, 1, both},
		{nil, 5, map[string]int{otherZip: 1, zipName: 2}},
		{[]string{"3 withdrawal of 2 in 5"}, 5, map[string]int{zipName: 2}},
		{nil, 5, map[string]int{zipName: 2}}, // between the parts
		{nil, 5, map[string]int{zipName: 1}},
		{[]string{"6 withdrawal of 2 in 5"}, 5, map[string]int{}},
		{nil, 5, map[string]int{}},
		{nil, 0, map[string]int{}}, // it is out
	} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			s := newScene(t)
			_, session := s.fetched()
			s.fetchedToo(session, otherZip)
			s.publish(parts(session)[:cut]...)
			report, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.closing, s.outbox()); d != "" {
				t.Errorf("ordered (-want +got):\n%s", d)
			}
			if reopened := cut > 0 && want.number > 0; (report.Reopened == 1) != reopened || report.Closed > 0 {
				t.Errorf("%d batches are reopened, %d closed", report.Reopened, report.Closed)
			}
			number, documents, files := s.rest()
			if d := cmp.Diff(want.files, files); d != "" {
				t.Errorf("what is given positions (-want +got):\n%s", d)
			}
			if number != want.number || number > 0 && documents != 4 {
				t.Errorf("batch %d ends with %d documents", number, documents)
			}
		})
	}
}

// A version of which a document was ordered twice, by a program that began it anew, is
// not taken for whole because so many documents of it came.
func TestDocumentsThatCameTwiceCountOnce(t *testing.T) {
	s := newScene(t)
	_, session := s.fetched()
	s.fetchedToo(session, otherZip)
	all := parts(session)
	again := *all[0]
	s.publish(all[0], &again)
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.outbox(); got != nil {
		t.Errorf("ordered: %v", got)
	}
	if _, documents, files := s.rest(); files[otherZip] != 1 || documents != 5 {
		t.Errorf("given positions: %v; the batch ends with %d", files, documents)
	}
}
