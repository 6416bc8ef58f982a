package report

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Told is the story of one file as a page tells it: bounded, however long it is.
type Told struct {
	Story // its documents are Told.Documents

	Ended     bool              `json:"ended"`
	Session   *int64            `json:"session"` // number of the one that fetched what it shows
	Documents []DocumentFacts   `json:"documents"`
	Stands    []Count           `json:"stands"`          // of all its documents
	Waits     string            `json:"waits"`           // what it waits for; empty: it has ended
	Left      int64             `json:"documents_left"`  // documents that are not among these
	Older     bool              `json:"older,omitempty"` // there are attempts before these
	Meanings  map[string]string `json:"-"`               // of the exceptions in it that are described
}

// DocumentFacts is what is known of a document.
type DocumentFacts struct {
	Document
	Kind      *string   `json:"kind"`
	Size      *int64    `json:"size"`
	Rows      *int64    `json:"rows"` // put into the warehouse
	Position  *int64    `json:"position"`
	FirstSeen time.Time `json:"first_seen"`
	Ordinal   int       `json:"ordinal"` // its place in its file's directory, from 0
}

// What a file is told with at most.
const (
	mostAttempts  = 100
	mostDocuments = 100
	fewErrors     = 3 // of each document
	mostErrors    = 1000
)

// Tell tells the story of the file of that action and name: of its documents those
// first that failed. It returns ErrNotFound for one that is not known.
func Tell(ctx context.Context, q pg.Querier, action, name string) (Told, error) {
	rows, err := list[struct {
		storyRow
		Ended   bool
		Session *int64
	}](ctx, q, "the file", `SELECT v.id::text, v.file, v.action, v.version, v.centre, v.source, v.phase, v.status, v.exception, v.message, v.attempts, v.size_bytes, v.sha256, `+lastChange+`,
		v.created::text, v.inc, v.first_seen, v.ended, (SELECT n.number FROM tracker.crawling_session n WHERE n.id = v.session_id) FROM tracker.file v WHERE v.file = $1 AND v.action = $2`, name, action)
	if err != nil {
		return Told{}, err
	}
	if len(rows) == 0 {
		return Told{}, fmt.Errorf("%s/%s: %w", action, name, ErrNotFound)
	}
	r := rows[0]
	t := Told{Story: Story{File: r.File, Created: r.Created, Inc: r.Inc, FirstSeen: r.FirstSeen, Documents: []Document{}}, Ended: r.Ended, Session: r.Session}
	if err := t.facts(ctx, q, r.ID, mostAttempts); err != nil {
		return t, err
	}
	t.Older = len(t.Tries) == mostAttempts && t.Tries[0].Attempt > 1
	if t.Documents, err = documentFacts(ctx, q, "v.file_id = $1::uuid", fewErrors, r.ID); err != nil {
		return t, err
	}
	if t.Stands, err = list[Count](ctx, q, "documents", `SELECT phase, status, count(*) FROM tracker.document WHERE file_id = $1::uuid GROUP BY phase_id, phase, status_id, status ORDER BY phase_id, status_id`, r.ID); err != nil {
		return t, err
	}
	t.Left = -int64(len(t.Documents))
	for _, c := range t.Stands {
		t.Left += c.Count
	}
	if !t.Ended {
		waits, err := pendingOf(ctx, q, "f.id = $2::uuid", 1, r.ID)
		if err != nil {
			return t, err
		}
		for _, w := range waits {
			t.Waits = w.Reason
		}
	}
	t.Meanings, err = meanings(ctx, q, t.exceptions())
	return t, err
}

// exceptions are the names in the story.
func (t Told) exceptions() []string {
	names := []string{text(t.Exception)}
	for _, a := range t.Tries {
		for _, l := range a.Log {
			names = append(names, l.Exception)
		}
	}
	for _, d := range t.Documents {
		for _, e := range d.Errors {
			names = append(names, e.Exception)
		}
	}
	return names
}

// DocumentOf tells of one document of the file of that action and name, with its errors
// up to 1000, and what their exceptions mean. It returns ErrNotFound for one that the
// file does not show.
func DocumentOf(ctx context.Context, q pg.Querier, action, file, document string) (DocumentFacts, map[string]string, error) {
	found, err := documentFacts(ctx, q, "v.file_id = (SELECT f.id FROM tracker.file f WHERE f.file = $1 AND f.action = $2) AND v.document = $3", mostErrors, file, action, document)
	if err != nil {
		return DocumentFacts{}, nil, err
	}
	if len(found) == 0 {
		return DocumentFacts{}, nil, fmt.Errorf("%s/%s shows no document %s now, its page tells which versions it had: %w", action, file, document, ErrNotFound)
	}
	var names []string
	for _, e := range found[0].Errors {
		names = append(names, e.Exception)
	}
	means, err := meanings(ctx, q, names)
	return found[0], means, err
}

func documentFacts(ctx context.Context, q pg.Querier, condition string, errors int, args ...any) ([]DocumentFacts, error) {
	out := []DocumentFacts{}
	err := streamWith(ctx, q, "documents", `SELECT v.document, v.file, v.action, v.version, v.centre, v.phase, v.status,
		(SELECT json_agg(json_build_object('line', l.line, 'column', l.col, 'exception', x.short_name, 'message', l.message) ORDER BY l.ordinal)
			FROM (SELECT * FROM tracker.xml_log g WHERE g.xml_id = v.id ORDER BY g.ordinal LIMIT `+strconv.Itoa(errors)+`) l JOIN tracker.an_exception x ON x.id = l.exception_id) AS errors,
		v.errors_total, `+lastChange+`, v.sha256, `+qualityOf+`, v.kind, v.size_bytes, v.rows_loaded, v.position, v.first_seen, v.ordinal
		FROM tracker.document v WHERE `+condition+` ORDER BY v.status_id = {status failed} DESC, v.document COLLATE "C", v.ordinal LIMIT `+strconv.Itoa(mostDocuments), args, pgx.RowToStructByPos[DocumentFacts], func(d DocumentFacts) error {
		out = append(out, d)
		return nil
	})
	return out, err
}

// meanings are what exceptions mean, as the tracker has it.
func meanings(ctx context.Context, q pg.Querier, names []string) (map[string]string, error) {
	rows, err := list[struct{ Name, Description string }](ctx, q, "exceptions", "SELECT short_name, description FROM tracker.an_exception WHERE short_name = ANY($1) AND description IS NOT NULL", names)
	out := map[string]string{}
	for _, r := range rows {
		out[r.Name] = r.Description
	}
	return out, err
}
