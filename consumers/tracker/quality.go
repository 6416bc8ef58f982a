package tracker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"tributary/internal/pg"
	"tributary/schemas"
)

// quality is what people decided about a document's bytes: the last decision counts.
type quality struct {
	First    time.Time `json:"t0,omitzero"`
	File     string    `json:"-"`
	Entry    string    `json:"e"`
	SHA256   string    `json:"h"`
	Revision int64     `json:"r"`
	Decision string    `json:"d"`
	By       string    `json:"b,omitempty"`
	Why      string    `json:"w,omitempty"`
	At       time.Time `json:"t"`
}

func (q *quality) add(o *quality) {
	q.First = earliest(q.First, o.First)
	q.File, q.Entry, q.SHA256 = max(q.File, o.File), max(q.Entry, o.Entry), max(q.SHA256, o.SHA256)
	if cmp.Or(cmp.Compare(q.Revision, o.Revision), q.At.Compare(o.At), cmp.Compare(q.Decision, o.Decision), cmp.Compare(q.By, o.By), cmp.Compare(q.Why, o.Why)) < 0 {
		q.Revision, q.At, q.Decision, q.By, q.Why = o.Revision, o.At, o.Decision, o.By, o.Why
	}
}

// status is how the phase qc stands by the decision.
func (q *quality) status() int { return schemas.QualityStatus(q.Decision).ID() }

// quality adds a decision. It changes nothing of when something was last heard of the
// file: that is when it came, not when people looked at it.
func (f *fold) quality(file uuid.UUID, e *schemas.StatusChanged, now time.Time) error {
	if schemas.QualityStatus(e.Note) == "" || e.Entry == "" || e.SHA256 == "" || e.Revision < 1 {
		return fmt.Errorf("an event about quality has the decision %q, the revision %d, the document %q and the hash %q", e.Note, e.Revision, e.Entry, e.SHA256)
	}
	into(f.qualities, f.qualityID(file.String(), e.Entry, e.SHA256), &quality{First: now, File: file.String(), Entry: e.Entry, SHA256: e.SHA256,
		Revision: e.Revision, Decision: e.Note, By: e.Attributes["by"], Why: e.Attributes["reason"], At: now})
	return nil
}

// qualityID is schemas.QualityID, remembered.
func (f *fold) qualityID(file, entry, sha256 string) uuid.UUID {
	return f.id("quality", file, entry, sha256)
}

// writeQualities writes the decisions that were told, and has the documents written
// that may be about the same bytes, with the attempts that brought them.
func (f *fold) writeQualities(ctx context.Context, s *store, attempts map[uuid.UUID][]attemptRow) error {
	if len(f.qualities) == 0 {
		return nil
	}
	if err := writeStates(ctx, s, "quality", f.qualities, func(to *pg.Rows, id uuid.UUID, q *quality, text string) {
		to.Add("id", [16]byte(id), "za_id", [16]byte(uuid.MustParse(q.File)), "fname", q.Entry, "content_sha256", q.SHA256, "status_id", q.status(),
			"decision", q.Decision, "decided_by", orNull(q.By), "reason", orNull(q.Why), "decided", q.At, "revision", q.Revision, "created", q.First, "merge", text)
	}); err != nil {
		return err
	}
	perhaps := map[uuid.UUID]*document{}
	for _, q := range f.qualities {
		for _, a := range attempts[uuid.MustParse(q.File)] {
			for outcome := range a.state.Outcomes {
				id := f.documentID(a.id.String(), outcome, q.Entry)
				if f.documents[id] == nil && parts(outcome) == 2 {
					perhaps[id] = &document{File: q.File, Download: a.id.String(), Outcome: outcome, Entry: q.Entry}
				}
			}
		}
	}
	known, err := f.known(ctx, s, perhaps)
	if err != nil {
		return err
	}
	for _, id := range known {
		d := perhaps[id]
		f.documents[id] = d
		rows := attempts[uuid.MustParse(d.File)]
		for i := range rows {
			if r := &rows[i]; r.id.String() == d.Download {
				r.changed = true
				f.attempts[r.id] = r.state
			}
		}
	}
	return nil
}

// known are those of some documents that have rows.
func (f *fold) known(ctx context.Context, s *store, perhaps map[uuid.UUID]*document) ([]uuid.UUID, error) {
	var out []uuid.UUID
	err := f.each(ctx, s, "SELECT id, '' FROM tracker.xml_file WHERE id = ANY($1)", ids(perhaps), func(id uuid.UUID, _ []byte) error {
		out = append(out, id)
		return nil
	})
	return out, err
}

// decide finds for each document that has come to its end what was decided about its
// bytes.
func (f *fold) decide(ctx context.Context, s *store) error {
	of := map[uuid.UUID][]*document{}
	left := map[uuid.UUID]bool{}
	for _, d := range f.documents {
		if now := d.shown(); now.Phase != schemas.Overview.ID() || now.Status != done || d.SHA256 == "" {
			continue
		}
		id := f.qualityID(d.File, d.Entry, d.SHA256)
		if d.decided = f.qualities[id]; d.decided == nil {
			of[id], left[id] = append(of[id], d), true
		}
	}
	return f.each(ctx, s, "SELECT id, merge FROM tracker.quality WHERE id = ANY($1)", ids(left), func(id uuid.UUID, text []byte) error {
		q := &quality{}
		if err := json.Unmarshal(text, q); err != nil {
			return fmt.Errorf("read tracker.quality: column merge of %s: %w", id, err)
		}
		for _, d := range of[id] {
			d.decided = q
		}
		return nil
	})
}

// each reads an id and a text of the rows that there are of some ids.
func (f *fold) each(ctx context.Context, s *store, sql string, keys [][16]byte, take func(uuid.UUID, []byte) error) error {
	if keys = s.target.perhaps(keys); len(keys) == 0 {
		return nil
	}
	var id [16]byte
	var text []byte
	for err := range pg.Each(ctx, s.tx, "look for what was decided about documents", []any{&id, &text}, s.sql(sql), keys) {
		if err == nil {
			err = take(id, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rolledUp is how a document counts for where its file stands: what is questioned or
// held keeps the file where it was before quality control.
func (is shown) rolledUp() shown {
	if is.Phase == schemas.QC.ID() && is.Status != done {
		is.Phase, is.Status = schemas.Overview.ID(), done
	}
	return is
}
