// Package report answers what people and programs ask: where files and
// documents stand, what became of one file, what sources and centres there
// are, and any query in SQL. It reads the tracker and the history, never
// control, and writes nothing but its answers.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// File is where one file stands: a zip's name and the action of its directory.
// Absent values are nil.
type File struct {
	File      string  `json:"file"`
	Action    string  `json:"action"`
	Version   *string `json:"version"` // sha256 of the bytes that it shows
	Centre    *string `json:"centre"`  // that produced it; nil where the name breaks the convention
	Source    *string `json:"source"`  // fetched from
	Phase     string  `json:"phase"`
	Status    string  `json:"status"`
	Exception *string `json:"exception"` // its own, else that of its first failed document
	Message   *string `json:"message"`
	Attempts  int     `json:"attempts"`
	Size      *int64  `json:"size"` // bytes received, else as listed
	SHA256    *string `json:"sha256"`

	AsOf *time.Time `db:"-" json:"as_of,omitempty"` // the moment that was asked about; nil: now
}

// Document is where one document stands.
type Document struct {
	Document string  `json:"document"` // its entry's name
	File     string  `json:"file"`
	Action   string  `json:"action"`
	Version  *string `json:"version"` // sha256 of its file's bytes
	Centre   *string `json:"centre"`  // that produced its file
	Phase    string  `json:"phase"`
	Status   string  `json:"status"`
	Errors   []Error `json:"errors"` // sorted by position

	AsOf *time.Time `db:"-" json:"as_of,omitempty"` // the moment that was asked about; nil: now
}

// Error is one error of a document. Line and column count from 1.
type Error struct {
	Line      *int    `json:"line"`
	Column    *int    `json:"column"`
	Exception string  `json:"exception"`
	Message   *string `json:"message"`
}

// Filter narrows what is listed. Empty fields let everything through.
type Filter struct {
	Name      string // the file's name, with * for any characters
	Action    string
	Centre    string // without regard to case
	Source    string
	Phase     string
	Status    string
	Exception string
	Session   string // UUID
	Limit     int    // 0: no limit

	id string // of the file
}

// where is the filter as SQL, by the names that the columns have there; what has
// no column does not filter.
func (f Filter) where(columns map[string]string) (string, []any) {
	var parts []string
	var args []any
	add := func(value, key, condition string) {
		column, ok := columns[key]
		if value == "" || !ok {
			return
		}
		args = append(args, value)
		parts = append(parts, fmt.Sprintf(condition, column, "$"+strconv.Itoa(len(args))))
	}
	if strings.Contains(f.Name, "*") {
		escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(f.Name)
		add(escaped, "name", "%s LIKE %s")
	} else {
		add(f.Name, "name", "%s = %s")
	}
	add(f.Action, "action", "%s = %s")
	add(f.Centre, "centre", "lower(%s) = lower(%s)")
	add(f.Source, "source", "%s = %s")
	add(f.Phase, "phase", "%s = %s")
	add(f.Status, "status", "%s = %s")
	add(f.Exception, "exception", "%s = %s")
	add(f.Session, "session", "%s = %s::uuid")
	add(f.id, "id", "%s = %s::uuid")
	if len(parts) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(parts, " AND "), args
}

func (f Filter) limit() string {
	if f.Limit <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(f.Limit)
}

// Files calls each with every file that passes, by name and action, and stops
// at its first error. That none passes because the filter's centre or source is
// not known is an UnknownError.
func Files(ctx context.Context, q pg.Querier, f Filter, each func(File) error) error {
	where, args := f.where(map[string]string{"name": "file", "action": "action", "centre": "centre", "source": "source",
		"phase": "phase", "status": "status", "exception": "exception", "session": "session_id"})
	return orKnown(ctx, q, f, each, func(each func(File) error) error {
		return stream(ctx, q, "files", `SELECT file, action, version, centre, source, phase, status, exception, message, attempts, size_bytes, sha256
		FROM tracker.file`+where+` ORDER BY file COLLATE "C", action`+f.limit(), args, each)
	})
}

// Documents calls each with every document shown that passes, by file, action
// and name, and stops at its first error. A centre that is not known is an
// UnknownError, as in Files.
func Documents(ctx context.Context, q pg.Querier, f Filter, each func(Document) error) error {
	where, args := f.where(map[string]string{"name": "d.file", "action": "d.action", "centre": "d.centre",
		"phase": "d.phase", "status": "d.status", "exception": "d.exception", "session": "d.session_id", "id": "d.file_id"})
	return orKnown(ctx, q, f, each, func(each func(Document) error) error {
		return streamWith(ctx, q, "documents", `SELECT d.document, d.file, d.action, d.version, d.centre, d.phase, d.status,
		(SELECT json_agg(json_build_object('line', l.line, 'column', l.col, 'exception', x.short_name, 'message', l.message) ORDER BY l.ordinal)
			FROM tracker.xml_log l JOIN tracker.an_exception x ON x.id = l.exception_id WHERE l.xml_id = d.id) AS errors
		FROM tracker.document d`+where+` ORDER BY d.file COLLATE "C", d.action, d.document COLLATE "C", d.ordinal`+f.limit(), args, scanDocument, each)
	})
}

func scanDocument(rows pgx.CollectableRow) (Document, error) {
	d, err := pgx.RowToStructByPos[Document](rows)
	if d.Errors == nil {
		d.Errors = []Error{}
	}
	return d, err
}

// Source is a base path on a server, what it shows, and how its last poll
// ended.
type Source struct {
	Source    string            `json:"source"`
	Centre    *string           `json:"centre"`
	Protocol  *string           `json:"protocol"`
	Hostname  *string           `json:"hostname"` // and port
	BasePath  *string           `json:"base_path"`
	State     *string           `json:"state"`
	Files     int64             `json:"files"` // that it shows now
	LastPoll  *time.Time        `json:"last_poll"`
	Poll      *string           `json:"poll"` // done or failed
	Exception *string           `json:"exception"`
	Message   *string           `json:"message"`
	Counts    map[string]string `json:"counts"` // of the last poll
	// Server is under which name its sessions are counted; empty: its hostname.
	Server string `json:"server,omitempty" db:"-"`

	Definition *string `json:"-"`
}

// Has tells whether each of the texts is in one of the columns by which people look
// for a source; capitals don't matter.
func (s Source) Has(texts ...string) bool {
	return has([]string{s.Source, text(s.Centre), text(s.Hostname), text(s.BasePath), text(s.State), text(s.Exception)}, texts)
}

func has(columns, texts []string) bool {
	return !slices.ContainsFunc(texts, func(t string) bool {
		return !slices.ContainsFunc(columns, func(c string) bool { return strings.Contains(strings.ToLower(c), strings.ToLower(t)) })
	})
}

// Sources calls each with every source, by name.
func Sources(ctx context.Context, q pg.Querier, each func(Source) error) error {
	return sourcesOf(ctx, q, "", each)
}

// sourcesOf is Sources; with a source's name it is that one's alone.
func sourcesOf(ctx context.Context, q pg.Querier, source string, each func(Source) error) error {
	return stream(ctx, q, "sources", `SELECT source, centre, protocol, hostname, base_path, state, files, last_poll, last_poll_status, exception, message, counts,
		(SELECT r.definition FROM tracker.source_revision r WHERE r.file_source_id = s.id ORDER BY r.revision DESC LIMIT 1)
		FROM tracker.source s WHERE $1 = '' OR source = $1 ORDER BY source COLLATE "C"`, []any{source}, func(s Source) error {
		var defined struct{ Server string }
		if json.Unmarshal([]byte(text(s.Definition)), &defined) == nil { // whoever writes to the topic may have told nonsense
			s.Server = defined.Server
		}
		return each(s)
	})
}

// Centre is an institute, and how its files and documents stand.
type Centre struct {
	Centre    string  `json:"centre"`
	FullName  *string `json:"full_name"`
	Email     *string `json:"email"`
	Active    bool    `json:"active"`
	Sources   int64   `json:"sources"`
	Files     int64   `json:"files"`
	Done      int64   `json:"done"`   // files at (overview, done) or later
	Failed    int64   `json:"failed"` // files
	Open      int64   `json:"open"`   // files that are neither
	Documents int64   `json:"documents"`
}

// Has tells whether each of the texts is in the short or the full name; capitals don't
// matter.
func (c Centre) Has(texts ...string) bool {
	return has([]string{c.Centre, text(c.FullName)}, texts)
}

// Centres calls each with every centre, by short name.
func Centres(ctx context.Context, q pg.Querier, each func(Centre) error) error {
	return stream(ctx, q, "centres", `
		WITH f AS (
			SELECT z.centre_id, count(*) AS files, count(*) FILTER (WHERE a.phase_id >= {phase overview} AND a.status_id = {status done}) AS done,
				count(*) FILTER (WHERE a.status_id = {status failed}) AS failed, coalesce(sum(d.documents_known), 0)::bigint AS documents
			FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id LEFT JOIN tracker.zip_download d ON d.id = a.download_id
			GROUP BY z.centre_id)
		SELECT c.short_name, c.full_name, c.email, c.is_active, (SELECT count(*) FROM tracker.file_source s WHERE s.centre_id = c.id),
			coalesce(f.files, 0), coalesce(f.done, 0), coalesce(f.failed, 0), coalesce(f.files - f.done - f.failed, 0), coalesce(f.documents, 0)
		FROM tracker.centre c LEFT JOIN f ON f.centre_id = c.id ORDER BY c.short_name COLLATE "C"`, nil, each)
}

// stream calls each with every row, which has the columns of T in order.
func stream[T any](ctx context.Context, q pg.Querier, what, sql string, args []any, each func(T) error) error {
	return streamWith(ctx, q, what, sql, args, pgx.RowToStructByPos[T], each)
}

func streamWith[T any](ctx context.Context, q pg.Querier, what, sql string, args []any, scan pgx.RowToFunc[T], each func(T) error) error {
	rows, err := q.Query(ctx, schemas.Numbered(sql), args...)
	if err != nil {
		return fmt.Errorf("read %s from the tracker: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return fmt.Errorf("read %s from the tracker: %w", what, err)
		}
		if err := each(v); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s from the tracker: %w", what, err)
	}
	return nil
}

// list is what stream gives, as a slice.
func list[T any](ctx context.Context, q pg.Querier, what, sql string, args ...any) ([]T, error) {
	out := []T{}
	err := stream(ctx, q, what, sql, args, func(v T) error {
		out = append(out, v)
		return nil
	})
	return out, err
}
