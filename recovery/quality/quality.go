// Package quality takes what people decide about documents in quality control: the
// phase qc. A decision is about a document's bytes; it is an event, and keeps nothing
// from the warehouse.
package quality

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Stage is who tells of decisions.
const Stage = "quality"

// Outcome is what became of one document.
type Outcome struct {
	Document string `json:"document"` // action/file/document, or as it was named
	Done     bool   `json:"done"`
	Detail   string `json:"detail"`
}

// Document names a document of a file.
type Document struct {
	Action, File, Entry string
	// SHA256 is of the bytes that were looked at; empty: those that the file shows now.
	SHA256 string
}

// String is how people name the document.
func (d Document) String() string { return d.Action + "/" + d.File + "/" + d.Entry }

// Parse reads action/file/document.
func Parse(named string) (Document, error) {
	action, rest, _ := strings.Cut(named, "/")
	file, entry, ok := strings.Cut(rest, "/")
	if schemas.ActionOrder(action) == 0 || file == "" || entry == "" || !ok {
		return Document{}, fmt.Errorf("%q names no document: write action/file/document, as add/H.2024-01-11.03.impc.zip/H.2024-01-11.1.specimen.impc.xml", named)
	}
	return Document{Action: action, File: file, Entry: entry}, nil
}

// Orders takes decisions about documents.
type Orders struct {
	control.Decision // who, why and when

	Pool    *pgxpool.Pool // of control
	Tracker pg.Querier    // which knows the documents
	Outbox  outbox.Outbox // of control
	Dry     bool          // only tell what would be done
}

// errRefused ends a transaction in which nothing is to be stored.
var errRefused = errors.New("nothing is stored")

// Decide decides about a document: one of schemas.QualityDecisions. It is refused of what
// is not loaded, of bytes that the file does not show any more, and where it is decided so
// already: an outcome, not an error.
func (o Orders) Decide(ctx context.Context, d Document, decision string) (Outcome, error) {
	out := Outcome{Document: d.String()}
	if mayExist := (report.Filter{Name: d.File, Contains: d.Entry, Exception: d.Action}).Check() == nil; !mayExist {
		out.Detail = "there is no document of that name"
		return out, nil
	}
	x, _, err := report.DocumentOf(ctx, o.Tracker, d.Action, d.File, d.Entry)
	switch {
	case errors.Is(err, report.ErrNotFound):
		out.Detail = "the file shows no such document now; which it shows: tributary show " + d.Action + "/" + d.File
		return out, nil
	case err != nil:
		return out, err
	case x.Decidable() == "":
		out.Detail = Undecidable(x.Document)
		return out, nil
	case x.SHA256 == nil:
		out.Detail = "the hash of its bytes is not known"
		return out, nil
	case d.SHA256 != "" && d.SHA256 != *x.SHA256:
		out.Detail = "the file shows other bytes of it by now: look at it again"
		return out, nil
	}
	q := control.Quality{ID: schemas.QualityID(schemas.FileID(d.Action, d.File), d.Entry, *x.SHA256)}
	err = pg.InTx(ctx, o.Pool, func(tx pgx.Tx) error {
		if q, err = control.LockQuality(ctx, tx, q.ID); err != nil {
			return err
		}
		out.Done = q.Decision != decision
		out.Detail = "it is " + decision + " already"
		if !out.Done {
			return errRefused
		}
		out.Detail = became(q.Decision, decision)
		if o.Dry {
			return errRefused
		}
		q.Decision, q.Revision = decision, q.Revision+1
		if err := control.StoreQuality(ctx, tx, q); err != nil {
			return err
		}
		return o.Outbox.Append(ctx, tx, o.event(d, x, q))
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", d, err)
	}
	return out, nil
}

// Undecidable is why nothing is decided about a document that isn't decidable.
func Undecidable(x report.Document) string {
	return "it stands at " + x.Phase + ", " + x.Status + ": what is decided about is loaded and was not found wrong"
}

// became says what is decided, in place of what.
func became(before, now string) string {
	detail := map[string]string{
		schemas.QualityAccepted:   "it is accepted: it stands at qc, done",
		schemas.QualityQuestioned: "it is questioned: it stands at qc, running, and stays in the warehouse",
		schemas.QualityHeld:       "it is held: it stands at qc, cancelled, which whoever uses the warehouse can see, and stays there",
	}[now]
	if before != "" {
		detail += "; it was " + before
	}
	return detail
}

// event tells of a decision. It is of the document's bytes, and so names no attempt.
func (o Orders) event(d Document, x report.DocumentFacts, q control.Quality) schemas.Message {
	ref := schemas.FileRef{File: schemas.FileID(d.Action, d.File), FileName: d.File, Action: d.Action}
	body := &schemas.StatusChanged{
		Scope: schemas.Scope{Run: schemas.LiveRun}, FileRef: ref, Entity: schemas.EntityQuality,
		DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(ref.File, d.Entry), Entry: d.Entry, SHA256: *x.SHA256},
		Phase:       string(schemas.QC), Status: string(schemas.QualityStatus(q.Decision)), Note: q.Decision, Revision: q.Revision,
		Message: o.Said(q.Decision), Attributes: map[string]string{"by": o.By, "reason": o.Reason},
	}
	if x.Centre != nil {
		body.Centre = *x.Centre
	}
	return schemas.Message{ID: schemas.EventID(Stage, schemas.LiveRun, q.ID, q.Decision, strconv.FormatInt(q.Revision, 10)), Topic: schemas.StatusChangedTopic,
		Key: ref.File, Stage: Stage, Subject: d.String(), Time: o.At, Body: body}
}
