// Package report answers what people and programs ask: where files and
// documents stand, what became of one file, what sources and centres there
// are, and any query in SQL. It reads the tracker and the history, never
// control, and writes nothing but its answers.
package report

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// File is where one file stands: a zip's name and the action of its directory.
// Absent values are nil.
type File struct {
	File      string     `json:"file"`
	Action    string     `json:"action"`
	Version   *string    `json:"version"` // sha256 of the bytes that it shows
	Centre    *string    `json:"centre"`  // that produced it; nil where the name breaks the convention
	Source    *string    `json:"source"`  // fetched from
	Phase     string     `json:"phase"`
	Status    string     `json:"status"`
	Exception *string    `json:"exception"` // its own, else that of its first failed document
	Message   *string    `json:"message"`
	Attempts  int        `json:"attempts"`
	Size      *int64     `json:"size"` // bytes received, else as listed
	SHA256    *string    `json:"sha256"`
	Last      *time.Time `json:"last"` // time of its last event, documents included

	AsOf *time.Time `db:"-" json:"as_of,omitempty"` // the moment that was asked about; nil: now
}

// Document is where one document stands.
type Document struct {
	Document    string     `json:"document"` // its entry's name
	File        string     `json:"file"`
	Action      string     `json:"action"`
	Version     *string    `json:"version"` // sha256 of its file's bytes
	Centre      *string    `json:"centre"`  // that produced its file
	Phase       string     `json:"phase"`
	Status      string     `json:"status"`
	Errors      []Error    `json:"errors"`       // sorted by position, up to the cap
	ErrorsTotal int        `json:"errors_total"` // those beyond the cap included
	Last        *time.Time `json:"last"`         // time of its last event
	SHA256      *string    `json:"sha256"`       // of its own bytes
	QC          *Quality   `json:"qc,omitempty"` // what a person decided about these; nil: nobody has, or it stands elsewhere

	AsOf *time.Time `db:"-" json:"as_of,omitempty"` // the moment that was asked about; nil: now
}

// Error is one error of a document. Line and column count from 1.
type Error struct {
	Line      *int    `json:"line"`
	Column    *int    `json:"column"`
	Exception string  `json:"exception"`
	Message   *string `json:"message"`
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
		if s.Counts == nil {
			s.Counts = map[string]string{} // there was no poll
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
			SELECT of_id, coalesce(sum(n) FILTER (WHERE what = 'file'), 0)::bigint AS files,
				coalesce(sum(n) FILTER (WHERE what = 'file' AND phase_id >= {phase overview} AND status_id = {status done}), 0)::bigint AS done,
				coalesce(sum(n) FILTER (WHERE what = 'file' AND status_id = {status failed}), 0)::bigint AS failed, coalesce(sum(n) FILTER (WHERE what = 'document'), 0)::bigint AS documents
			FROM tracker.standing WHERE what IN ('file', 'document') GROUP BY of_id)
		SELECT c.short_name, c.full_name, c.email, c.is_active, (SELECT count(*) FROM tracker.file_source s WHERE s.centre_id = c.id),
			coalesce(f.files, 0), coalesce(f.done, 0), coalesce(f.failed, 0), coalesce(f.files - f.done - f.failed, 0), coalesce(f.documents, 0)
		FROM tracker.centre c LEFT JOIN f ON f.of_id = c.id ORDER BY c.short_name COLLATE "C"`, nil, each)
}

// stream calls each with every row, which has the columns of T in order.
func stream[T any](ctx context.Context, q pg.Querier, what, sql string, args []any, each func(T) error) error {
	return streamWith(ctx, q, what, sql, args, pgx.RowToStructByPos[T], each)
}

func streamWith[T any](ctx context.Context, q pg.Querier, what, sql string, args []any, scan pgx.RowToFunc[T], each func(T) error) error {
	return pg.Stream(ctx, q, "read "+what+" from the tracker", scan, each, schemas.Numbered(sql), args...)
}

// list is what stream gives, as a slice.
func list[T any](ctx context.Context, q pg.Querier, what, sql string, args ...any) ([]T, error) {
	return pg.List(ctx, q, "read "+what+" from the tracker", pgx.RowToStructByPos[T], schemas.Numbered(sql), args...)
}
