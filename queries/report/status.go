package report

import (
	"context"
	"fmt"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Count is how many files or documents stand at (phase, status).
type Count struct {
	Phase  string `json:"phase"`
	Status string `json:"status"`
	Count  int64  `json:"count"`
}

// Pending is a file that has not ended, and what it waits for.
type Pending struct {
	File   string    `json:"file"`
	Action string    `json:"action"`
	Centre *string   `json:"centre"`
	Source *string   `json:"source"`
	Phase  string    `json:"phase"`
	Status string    `json:"status"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"` // when it was first seen
	Last   time.Time `json:"last"`  // when something last happened to it
}

// Rates are what went on in the minutes before the report.
type Rates struct {
	Minutes   int     `json:"minutes"`
	Files     float64 `json:"files_per_minute"`     // fetched
	Documents float64 `json:"documents_per_minute"` // that changed
	Bytes     float64 `json:"bytes_per_second"`     // fetched
}

// Status is where everything stands.
type Status struct {
	Files     []Count    `json:"files"`
	Documents []Count    `json:"documents"`
	Pending   int64      `json:"pending"`   // files that have not ended
	Oldest    []Pending  `json:"oldest"`    // of these
	Transfers []Transfer `json:"transfers"` // downloads that take long; as many as of the oldest at most
	Rates     Rates      `json:"rates"`
	Session   *int64     `json:"session"`             // the latest
	Opened    *time.Time `json:"opened"`              // when it was opened
	Closed    *time.Time `json:"closed"`              // when it was closed; nil while it is open
	Last      *time.Time `json:"last"`                // when something last happened to a file
	Odd       int64      `json:"unreadable"`          // records of the log that could not be read
	Insertion string     `json:"insertion,omitempty"` // at which record of document.ordered insertion has stopped until a person decides; empty: none
	LogAlarm  string     `json:"log_alarm,omitempty"` // why the embedded broker's log is too large, seen from where this was asked; empty: it is not
	Dormant   string     `json:"dormant,omitempty"`   // why nothing is fetched, or may not be, seen from where this was asked; empty: nothing keeps it

	Outboxes  []Outbox    `json:"outboxes,omitempty"`  // those with something to say
	Suspended []Suspended `json:"suspended,omitempty"` // sources from which nothing comes until they are resumed
	Late      []Late      `json:"late,omitempty"`      // sources that answer, and from which nothing new has come for longer than usual; none: there are none, or nobody asked

	AsOf *time.Time `json:"as_of,omitempty"` // the moment that was asked about; nil: now
}

// rateMinutes is the time over which rates are measured.
const rateMinutes = 5

// Stand reports where everything stands at now, with the given number of the
// oldest files that have not ended.
func Stand(ctx context.Context, q pg.Querier, now time.Time, oldest int) (Status, error) {
	s := Status{Rates: Rates{Minutes: rateMinutes}}
	err := pg.Together(ctx, q,
		pg.Into(&s.Oldest, func(ctx context.Context) ([]Pending, error) { return pendingFiles(ctx, q, "", oldest) }),
		func(ctx context.Context) error { return s.rates(ctx, q, now) },
		pg.Into(&s.Files, func(ctx context.Context) ([]Count, error) { return FileCounts(ctx, q) }),
		pg.Into(&s.Documents, func(ctx context.Context) ([]Count, error) { return counted(ctx, q, "document", "") }),
		func(ctx context.Context) error { return s.latest(ctx, q) },
		pg.Into(&s.Suspended, func(ctx context.Context) ([]Suspended, error) { return suspended(ctx, q) }),
		pg.Into(&s.Transfers, func(ctx context.Context) ([]Transfer, error) { return Transfers(ctx, q, "", oldest) }))
	return s, err
}

// rates reads what went on lately, and how much waits.
func (s *Status) rates(ctx context.Context, q pg.Querier, now time.Time) error {
	var files, documents, bytes int64
	// A file has changed no earlier than each of its documents.
	if err := q.QueryRow(ctx, `SELECT
			(SELECT coalesce(sum(n), 0)::bigint FROM tracker.standing WHERE what = 'file' AND NOT ended),
			(SELECT count(*) FROM tracker.zip_download WHERE received > $1 AND received <= $2),
			(SELECT count(*) FROM tracker.zip_action a JOIN tracker.zip_download d ON d.za_id = a.id JOIN tracker.xml_file m ON m.zip_id = d.id
				WHERE a.last_update > $1 AND m.last_update > $1 AND m.last_update <= $2),
			(SELECT coalesce(sum(downloaded_size_bytes), 0)::bigint FROM tracker.zip_download WHERE received > $1 AND received <= $2),
			(SELECT max(last_update) FROM tracker.zip_action WHERE isfinite(last_update)),
			(SELECT count(*) FROM tracker.unreadable)`, now.Add(-rateMinutes*time.Minute), now).Scan(&s.Pending, &files, &documents, &bytes, &s.Last, &s.Odd); err != nil {
		return fmt.Errorf("read rates from the tracker: %w", err)
	}
	s.Rates.Files, s.Rates.Documents, s.Rates.Bytes = float64(files)/rateMinutes, float64(documents)/rateMinutes, float64(bytes)/rateMinutes/60
	return nil
}

// latest reads which session was opened last.
func (s *Status) latest(ctx context.Context, q pg.Querier) error {
	sessions, err := list[struct {
		Number         *int64
		Opened, Closed *time.Time
	}](ctx, q, "sessions", `SELECT number, start_time, finish_time FROM tracker.crawling_session WHERE start_time IS NOT NULL ORDER BY start_time DESC, id LIMIT 1`)
	for _, x := range sessions {
		s.Session, s.Opened, s.Closed = x.Number, x.Opened, x.Closed
	}
	return err
}

// PendingOf lists the files of one producing centre, by its short name, that
// have not ended: at most limit of them, the oldest first.
func PendingOf(ctx context.Context, q pg.Querier, centre string, limit int) ([]Pending, error) {
	return pendingFiles(ctx, q, centre, limit)
}

// pendingRow is a file that has not ended, with what tells why.
type pendingRow struct {
	File, Action     string
	Centre, Source   *string
	Phase, Status    string
	Since, Last      time.Time
	Documents, Known *int32
	Open             *int32
	Attempt          *int32
	Unsettled        bool
	Hostings         int64
	Before           *string // how its last attempt to be fetched ended that did not bring it
	BeforeAttempt    *int32
}

// pendingFiles looks among the files that are on their way, those first seen first, and
// among those that have failed or were cancelled, of which some documents are open: as
// many as there are, from the last change back, since they are on their way too. OFFSET 0
// keeps Postgres from taking for granted that hardly any is open, and reading all that
// have failed.
func pendingFiles(ctx context.Context, q pg.Querier, centre string, limit int) ([]Pending, error) {
	const left = "(SELECT coalesce(sum(n), 0)::bigint FROM tracker.standing WHERE what = 'file' AND NOT ended AND ($2 = '' OR of_id = (SELECT id FROM tracker.centre WHERE short_name = $2)) AND "
	const from = "FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.processing_type t ON t.id = a.todo_id"
	const of = "($2 = '' OR z.centre_id = (SELECT id FROM tracker.centre WHERE short_name = $2))"
	return pendingOf(ctx, q, `f.id = ANY(ARRAY(
		(SELECT a.id `+from+` LEFT JOIN tracker.zip_download d ON d.id = a.download_id
			WHERE (a.status_id < {status done} OR a.status_id = {status done} AND a.phase_id < {phase overview}) AND (d.note LIKE '%duplicate%' AND d.repeats IS NULL) IS NOT TRUE AND `+of+`
			ORDER BY a.created, z.file_name COLLATE "C", t.short_name LIMIT least($1, `+left+`status_id < {status cancelled})))
		UNION ALL
		(SELECT a.id `+from+` CROSS JOIN LATERAL (SELECT FROM tracker.zip_download d WHERE d.id = a.download_id AND d.documents_open > 0 OFFSET 0) d
			WHERE a.status_id IN ({status cancelled}, {status failed}) AND `+of+`
			ORDER BY a.last_update DESC, a.id DESC LIMIT `+left+`status_id IN ({status cancelled}, {status failed})))))`, limit, centre)
}

// pendingOf lists those of which a condition holds, in which $2 is the value.
func pendingOf(ctx context.Context, q pg.Querier, condition string, limit int, value string) ([]Pending, error) {
	rows, err := list[pendingRow](ctx, q, "pending files", `SELECT f.file, f.action, f.centre, f.source, f.phase, f.status, f.first_seen, f.last_update, f.documents, f.documents_known,
		f.documents_open, f.attempt,
		EXISTS (SELECT FROM tracker.file_source_has_zip h WHERE h.za_id = f.id AND h.note = 'unsettled' AND h.state = 'present'),
		(SELECT count(*) FROM tracker.file_source_has_zip h WHERE h.za_id = f.id AND h.state = 'present'), b.exception, b.attempt
		FROM tracker.file f LEFT JOIN LATERAL (SELECT x.short_name AS exception, d.attempt FROM tracker.zip_download d JOIN tracker.an_exception x ON x.id = d.exception_id
			WHERE d.za_id = f.id AND d.phase_id IN ({phase download}, {phase zip_md5}) AND d.status_id IN ({status cancelled}, {status failed}) ORDER BY d.attempt DESC LIMIT 1) b ON true
		WHERE NOT f.ended AND `+condition+` ORDER BY f.first_seen, f.file COLLATE "C", f.action LIMIT $1`, limit, value)
	if err != nil {
		return nil, err
	}
	out := make([]Pending, len(rows))
	for i, r := range rows {
		out[i] = Pending{File: r.File, Action: r.Action, Centre: r.Centre, Source: r.Source, Phase: r.Phase, Status: r.Status, Reason: r.reason() + r.before(), Since: r.Since, Last: r.Last}
	}
	return out, nil
}

// before says why a file that is still to be fetched was not fetched before.
func (r pendingRow) before() string {
	if r.Before == nil || r.Phase != string(schemas.ZipName) && r.Phase != string(schemas.Download) {
		return ""
	}
	return fmt.Sprintf("; attempt %d ended %s", *r.BeforeAttempt, *r.Before)
}

// reason says what a file waits for.
func (r pendingRow) reason() string {
	source := "its source"
	if r.Source != nil {
		source = *r.Source
	}
	switch r.Phase + " " + r.Status {
	case "zip_name pending", "zip_name running", "zip_name done":
		switch {
		case r.Unsettled:
			return "waits until it has looked the same for long enough"
		case r.Hostings == 0:
			return "no source shows it now"
		}
		return "waits to be fetched"
	case "download pending":
		if r.Attempt == nil {
			return "waits to be fetched"
		}
		return "requested from " + source + "; waits for download"
	case "download running":
		return "is being fetched from " + source
	case "download done", "zip_md5 pending", "zip_md5 running", "zip_md5 done", "unzip pending":
		return "fetched; waits for unzip"
	case "unzip running":
		return "is being unzipped"
	case "unzip done":
		if r.Documents != nil && r.Known != nil && *r.Known < *r.Documents {
			return fmt.Sprintf("%d of its %d documents have not been heard of", *r.Documents-*r.Known, *r.Documents)
		}
		return "unzipped; waits for its documents"
	case "xml_name pending", "xml_name running", "xml_name done", "xsd pending", "xsd running":
		return "a document waits for validate"
	case "xsd done":
		return "a document waits for its batch to be released and inserted"
	case "upload pending", "upload running":
		return "a document is being inserted"
	case "upload done":
		return "a document waits for the checks at its batch's end"
	}
	if r.Status == "failed" || r.Status == "cancelled" {
		if r.Open != nil && *r.Open > 0 {
			return fmt.Sprintf("%d of its other documents have not ended", *r.Open)
		}
	}
	return "a document waits for what follows (" + r.Phase + ", " + r.Status + ")"
}
