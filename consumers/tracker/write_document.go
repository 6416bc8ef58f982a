package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"tributary/schemas"
)

// writeDocuments writes the documents spoken of, and their errors where these
// have changed.
func (f *fold) writeDocuments(ctx context.Context, s *store) error {
	if len(f.documents) == 0 {
		return nil
	}
	before, err := f.loadDocuments(ctx, s)
	if err != nil {
		return err
	}
	rows := make([][]any, 0, len(f.documents))
	var stale [][16]byte
	var logs [][]any
	for _, raw := range ids(f.documents) {
		id := uuid.UUID(raw)
		d := f.documents[id]
		text, err := remembered(d)
		if err != nil {
			return err
		}
		now, was := d.shown(), before[id]
		rows = append(rows, documentRow(id, d, now, text))
		if now.Digest == was.Digest && now.At.Equal(was.At) {
			continue
		}
		if was.Digest != "" {
			stale = append(stale, id)
		}
		// A step that replaces another is from this batch and so has its
		// errors with it: what was once replaced is never shown again.
		for i, x := range now.errors {
			ordinal := strconv.Itoa(i)
			row := []any{[16]byte(key("xml_log", id.String(), ordinal)), [16]byte(id), [16]byte(key("exception", x.Exception)), i,
				orNull(x.Line), orNull(x.Column), orNull(x.Message), now.At}
			if was.Phase != 0 {
				s.oldRows("xml_log", [][]any{row})
			}
			logs = append(logs, row)
		}
	}
	if err := s.upsert(ctx, "xml_file", rows); err != nil {
		return err
	}
	if len(stale) > 0 {
		if _, err := s.tx.Exec(ctx, s.sql("DELETE FROM tracker.xml_log WHERE xml_id = ANY($1)"), stale); err != nil {
			return fmt.Errorf("replace errors of documents: %w", err)
		}
	}
	return s.upsert(ctx, "xml_log", logs)
}

// loadDocuments adds what the rows of documents remember, and returns what
// each showed before.
func (f *fold) loadDocuments(ctx context.Context, s *store) (map[uuid.UUID]step, error) {
	before := map[uuid.UUID]step{}
	keys := s.alone.perhaps(ids(f.documents))
	if len(keys) == 0 {
		return before, nil
	}
	rows, err := s.tx.Query(ctx, s.sql("SELECT id, merge FROM tracker.xml_file WHERE id = ANY($1)"), keys)
	if err != nil {
		return nil, fmt.Errorf("read tracker.xml_file: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id [16]byte
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return nil, fmt.Errorf("read tracker.xml_file: %w", err)
		}
		var old document
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, fmt.Errorf("read tracker.xml_file: column merge of %s: %w", uuid.UUID(id), err)
		}
		before[id] = old.shown()
		s.alone.found("xml_file", id)
		f.documents[id].add(&old)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read tracker.xml_file: %w", err)
	}
	return before, nil
}

// shownRow is the step that the document shows, as rows show it.
func (d *document) shownRow() shown {
	now := d.shown()
	is := show(now)
	if now.Phase == 0 {
		is.Phase = 5 // a document that is known at all is at xml_name
	}
	return is
}

func documentRow(id uuid.UUID, d *document, now step, text string) []any {
	is := d.shownRow()
	var inc any
	if d.Date != "" {
		inc = d.Inc
	}
	return []any{[16]byte(id), [16]byte(uuid.MustParse(d.Download)), d.Outcome, idOrNull("document", d.Document), d.Entry, d.Ordinal, nameOrNull("centre", d.Centre),
		dateOrNull(d.Date), inc, orNull(d.Kind), orNull(d.Size), orNull(d.MD5), orNull(d.SHA256), is.Phase, is.Status, uuidOrNull(is.Exception), orNull(is.Message),
		now.Total, d.Check, orNull(d.Rows), orNull(d.Position), idOrNull("session", d.Session), orNull(d.versionOf(schemas.XMLName)), orNull(d.versionOf(schemas.XSD)),
		orNull(d.versionOf(schemas.Upload)), orNull(d.versionOf(schemas.Data)), d.First, d.Last, text}
}
