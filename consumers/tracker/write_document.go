package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"tributary/internal/pg"
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
	if err := f.decide(ctx, s); err != nil {
		return err
	}
	keys := ids(f.documents)
	var logs pg.Rows
	var stale [][16]byte
	for _, raw := range keys {
		id := uuid.UUID(raw)
		now, was := f.documents[id].shown(), before[id]
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
			logs.Add("id", [16]byte(key("xml_log", id.String(), ordinal)), "xml_id", [16]byte(id), "exception_id", [16]byte(key("exception", x.Exception)),
				"ordinal", i, "line", orNull(x.Line), "col", orNull(x.Column), "message", orNull(x.Message), "last_update", now.At)
			if was.Phase != 0 {
				s.oldRows("xml_log", logs.Values[len(logs.Values)-1:])
			}
		}
	}
	if err := s.write(ctx, "xml_file", keys, func(i int, to *pg.Rows) error { return f.documentRow(to, keys[i]) }); err != nil {
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
	keys := s.target.perhaps(ids(f.documents))
	if len(keys) == 0 {
		return before, nil
	}
	var id [16]byte
	var text []byte
	for err := range pg.Each(ctx, s.tx, "read tracker.xml_file", []any{&id, &text}, s.sql("SELECT id, merge FROM tracker.xml_file WHERE id = ANY($1)"), keys) {
		if err != nil {
			return nil, err
		}
		var old document
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, fmt.Errorf("read tracker.xml_file: column merge of %s: %w", uuid.UUID(id), err)
		}
		before[id] = old.shown()
		s.target.found("xml_file", id)
		f.documents[id].add(&old)
	}
	return before, nil
}

// shownRow is the step that the document shows, as rows show it.
func (d *document) shownRow() shown {
	now := d.shown()
	is := show(now)
	if now.Phase == 0 {
		is.Phase = schemas.XMLName.ID() // where a document that is known at all is
	}
	if d.decided != nil {
		is.Phase, is.Status = schemas.QC.ID(), d.decided.status()
	}
	return is
}

func (f *fold) documentRow(to *pg.Rows, id uuid.UUID) error {
	d := f.documents[id]
	text, err := remembered(d)
	if err != nil {
		return err
	}
	now, is := d.shown(), d.shownRow()
	var inc any
	if d.Date != "" {
		inc = d.Inc
	}
	var decided any
	if d.decided != nil {
		decided = [16]byte(f.qualityID(d.File, d.Entry, d.SHA256))
	}
	to.Add("id", [16]byte(id), "zip_id", [16]byte(uuid.MustParse(d.Download)), "outcome", d.Outcome, "document_id", idOrNull("document", d.Document),
		"fname", d.Entry, "ordinal", d.Ordinal, "centre_id", nameOrNull("centre", d.Centre), "created", dateOrNull(d.Date), "inc", inc,
		"kind", orNull(d.Kind), "size_bytes", orNull(d.Size), "content_md5", orNull(d.MD5), "content_sha256", orNull(d.SHA256),
		"phase_id", is.Phase, "status_id", is.Status, "exception_id", uuidOrNull(is.Exception), "message", orNull(is.Message),
		"errors_total", now.Total, "checked", d.Check, "rows_loaded", orNull(d.Rows), "position", orNull(d.Position),
		"session_id", idOrNull("session", d.Session), "unzip_version", orNull(d.versionOf(schemas.XMLName)),
		"xsd_version", orNull(d.versionOf(schemas.XSD)), "upload_version", orNull(d.versionOf(schemas.Upload)),
		"data_version", orNull(d.versionOf(schemas.Data)), "quality_id", decided, "first_seen", d.First, "last_update", d.Last, "merge", text)
	return nil
}
