package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tributary/internal/pg"
)

// ErrNotFound says that the tracker knows no such file.
var ErrNotFound = errors.New("no such file")

// Story is everything that is known of one file.
type Story struct {
	File
	Created   *string     `json:"created"` // the date in its name
	Inc       *int64      `json:"inc"`
	FirstSeen time.Time   `json:"first_seen"`
	Hostings  []Hosting   `json:"hostings"`
	Versions  []Version   `json:"versions"`
	SameBytes []SameBytes `json:"same_bytes"` // other files of its centre that have had the bytes which it shows, at most ten, the first to have them at the beginning
	Tries     []Attempt   `json:"tries"`
	Documents []Document  `json:"documents"` // of the attempt it shows
	Priority  *Priority   `json:"priority,omitempty"`
}

// Priority is what a person has given the file in place of its source's. The tracker
// doesn't know it: whoever shows the story reads it from control.
type Priority struct {
	Priority int    `json:"priority"`
	By       string `json:"by"`
	Reason   string `json:"reason"`
}

// Hosting is a source that shows, or has shown, the file.
type Hosting struct {
	Source   string     `json:"source"`
	Centre   *string    `json:"centre"` // that runs the source
	State    *string    `json:"state"`  // present or gone
	Look     int        `json:"look"`
	Size     *int64     `json:"size"`
	ModTime  *time.Time `json:"mod_time"`
	ListedAt *time.Time `json:"listed_at"`
	Note     *string    `json:"note"`
	Message  *string    `json:"message"` // why it can't be fetched as it is shown here
	Retries  int        `json:"retries"`
	// Attributes are what the source says of the file beside size and time, by name, such
	// as the title of a feed's item.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Version is bytes received for the file.
type Version struct {
	SHA256   string    `json:"sha256"`
	MD5      *string   `json:"md5"`
	Size     *int64    `json:"size"`
	Received time.Time `json:"received"`
	Last     time.Time `json:"last"`
	Current  bool      `json:"current"`
}

// SameBytes is a file that has had the bytes of another.
type SameBytes struct {
	Action   string    `json:"action"`
	File     string    `json:"file"`
	Received time.Time `json:"received"`
}

// Attempt is one attempt to fetch the file, and what became of it.
type Attempt struct {
	Attempt   int        `json:"attempt"`
	Run       string     `json:"run"`
	Source    *string    `json:"source"`
	Phase     string     `json:"phase"`
	Status    string     `json:"status"`
	Exception *string    `json:"exception"`
	Message   *string    `json:"message"`
	Note      *string    `json:"note"`
	Repeats   *int       `json:"repeats"`
	SHA256    *string    `json:"sha256"`
	Bytes     int64      `json:"bytes"`
	From      *int64     `json:"resumed_from" doc:"where the transfer went on with what attempts before had brought, in bytes; null: it began anew"`
	Requested *time.Time `json:"requested"`
	Started   *time.Time `json:"started"`
	Received  *time.Time `json:"received"`
	Unzipped  *time.Time `json:"unzipped"`
	Documents *int       `json:"documents"`
	Failed    int        `json:"documents_failed"`
	Open      int        `json:"documents_open"`
	Shown     bool       `json:"shown"` // the file shows this attempt
	Log       []LogLine  `json:"log"`
	Request   *string    `json:"request_head" doc:"head of the request that was answered last, over HTTP: one line, without secrets"`
	Response  *string    `json:"response_head" doc:"head of the answer by which the server handed the bytes out or refused them, alike"`
}

// LogLine is why an attempt failed or was cancelled, by a stage's report or by
// control's judgement.
type LogLine struct {
	Phase     string    `json:"phase"`
	Status    string    `json:"status"`
	Exception string    `json:"exception"`
	Message   *string   `json:"message"`
	Judged    bool      `json:"judged"`
	At        time.Time `json:"at"`
}

// Show tells the whole story of a file: of each of its actions, unless one is
// given. It returns ErrNotFound (by errors.Is) for a name that is not known.
func Show(ctx context.Context, q pg.Querier, name, action string) ([]Story, error) {
	rows, err := list[storyRow](ctx, q, "the file", `SELECT id::text, file, action, version, centre, source, phase, status, exception, message, attempts, size_bytes, sha256, last_update,
		created::text, inc, first_seen FROM tracker.file WHERE file = $1 AND ($2 = '' OR action = $2) ORDER BY action`, name, action)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: %w: list those known with `tributary files`", name, ErrNotFound)
	}
	out := make([]Story, 0, len(rows))
	for _, r := range rows {
		s := Story{File: r.File, Created: r.Created, Inc: r.Inc, FirstSeen: r.FirstSeen, Documents: []Document{}}
		if err := s.read(ctx, q, r.ID); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

type storyRow struct {
	ID string
	File
	Created   *string
	Inc       *int64
	FirstSeen time.Time
}

// facts reads what there is of the file but its documents: of versions and attempts the
// last ones, so many at most; 0: all.
func (s *Story) facts(ctx context.Context, q pg.Querier, id string, most int) error {
	limit := Filter{Limit: most}.limit()
	var err error
	if s.Hostings, err = list[Hosting](ctx, q, "hostings", `SELECT s.short_name, c.short_name, h.state, h.look, h.size_bytes, h.mod_time, h.listed_at, h.note, h.message, h.num_retries, h.attributes
		FROM tracker.file_source_has_zip h JOIN tracker.file_source s ON s.id = h.file_source_id LEFT JOIN tracker.centre c ON c.id = s.centre_id
		WHERE h.za_id = $1 ORDER BY s.short_name COLLATE "C"`, id); err != nil {
		return err
	}
	if s.Versions, err = list[Version](ctx, q, "versions", `SELECT v.sha256, v.content_md5, v.size_bytes, v.received, v.last_update, v.sha256 IS NOT DISTINCT FROM $2
		FROM tracker.zip_version v WHERE v.za_id = $1 ORDER BY v.received DESC, v.sha256 DESC`+limit, id, s.SHA256); err != nil {
		return err
	}
	if s.SameBytes, err = list[SameBytes](ctx, q, "files of the same bytes", `SELECT t.short_name, z.file_name, v.received
		FROM tracker.zip_version v JOIN tracker.zip_action a ON a.id = v.za_id JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.processing_type t ON t.id = a.todo_id
		WHERE v.sha256 = $2 AND v.za_id <> $1 AND z.centre_id = (SELECT i.centre_id FROM tracker.zip_action o JOIN tracker.zip_file i ON i.id = o.zip_id WHERE o.id = $1)
		ORDER BY v.received, z.file_name COLLATE "C", t.short_name LIMIT 10`, id, s.SHA256); err != nil {
		return err
	}
	if s.Tries, err = list[Attempt](ctx, q, "attempts", `SELECT d.attempt, d.run::text, s.short_name, p.short_name, st.short_name, x.short_name, d.message, d.note, d.repeats,
			d.version, coalesce(d.progress_bytes, d.downloaded_size_bytes), d.resumed_from, d.request, d.started, d.received, d.unzipped, d.documents, d.documents_failed, d.documents_open,
			d.id IS NOT DISTINCT FROM a.download_id,
			coalesce((SELECT json_agg(json_build_object('phase', lp.short_name, 'status', ls.short_name, 'exception', lx.short_name, 'message', l.message,
				'judged', l.judged, 'at', l.last_update) ORDER BY l.judged, l.last_update, l.id)
				FROM tracker.zip_log l JOIN tracker.phase lp ON lp.id = l.phase_id JOIN tracker.a_status ls ON ls.id = l.status_id
				JOIN tracker.an_exception lx ON lx.id = l.exception_id WHERE l.zip_id = d.id), '[]'), d.request_head, d.response_head
		FROM tracker.zip_download d JOIN tracker.zip_action a ON a.id = d.za_id
		JOIN tracker.phase p ON p.id = d.phase_id JOIN tracker.a_status st ON st.id = d.status_id
		LEFT JOIN tracker.an_exception x ON x.id = d.exception_id
		LEFT JOIN tracker.file_source_has_zip h ON h.id = d.zf_id LEFT JOIN tracker.file_source s ON s.id = h.file_source_id
		WHERE d.za_id = $1 ORDER BY d.attempt DESC, d.run DESC`+limit, id); err != nil {
		return err
	}
	slices.Reverse(s.Versions)
	slices.Reverse(s.Tries)
	return nil
}

func (s *Story) read(ctx context.Context, q pg.Querier, id string) error {
	if err := s.facts(ctx, q, id, 0); err != nil {
		return err
	}
	return Documents(ctx, q, Filter{id: id}, func(d Document) error {
		s.Documents = append(s.Documents, d)
		return nil
	})
}
