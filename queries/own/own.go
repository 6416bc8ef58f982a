// Package own tells a centre of what is its own: its files and their errors, its weeks
// and its servers. All that is shown by a centre's link comes from here, so that what is
// of other centres, or of the inside of this installation, is held back in one place:
// other centres' servers, messages about machines, sessions, positions, notes. What is
// not the centre's is report.ErrNotFound, whether it is somebody else's or nobody's.
package own

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// View is what one centre sees.
type View struct {
	Tracker pg.Querier
	Centre  string // its short name
	Now     time.Time
}

// mine are the centre's ids, whichever way it was spelled when.
const mine = "(SELECT c.id FROM tracker.centre c WHERE lower(c.short_name) = lower($1))"

// nameless are files whose names tell no centre, and that only the centre's own servers
// show: nobody else can correct them.
const nameless = `z.centre_id IS NULL
	AND EXISTS (SELECT FROM tracker.file_source_has_zip h JOIN tracker.file_source s ON s.id = h.file_source_id WHERE h.za_id = a.id AND s.centre_id IN ` + mine + `)
	AND NOT EXISTS (SELECT FROM tracker.file_source_has_zip h JOIN tracker.file_source s ON s.id = h.file_source_id
		WHERE h.za_id = a.id AND (s.centre_id IS NULL OR s.centre_id NOT IN ` + mine + `))`

// Standing is how the centre stands, the servers included that it runs. One of which
// nothing was heard yet stands nowhere.
func (v View) Standing(ctx context.Context) (report.CentreStanding, error) {
	s, err := report.StandingOf(ctx, v.Tracker, v.Centre)
	if unknown(err) {
		return report.CentreStanding{Centre: v.Centre, Active: true}, nil
	}
	return s, err
}

// Files is a page of the centre's files. The filter's centre, source and session say
// nothing.
func (v View) Files(ctx context.Context, f report.Filter) (report.Page[report.File], error) {
	f.Centre, f.Source, f.Session = v.Centre, "", ""
	page, err := report.FilePage(ctx, v.Tracker, f)
	if unknown(err) {
		return report.Page[report.File]{}, nil
	}
	if err != nil {
		return page, err
	}
	servers, err := v.servers(ctx)
	for i := range page.Rows {
		v.file(&page.Rows[i], servers)
	}
	return page, err
}

// Nameless are the files whose names tell no centre and that only the centre's servers
// show, the newest first, at most limit.
func (v View) Nameless(ctx context.Context, limit int) ([]report.File, error) {
	return list[report.File](ctx, v.Tracker, `SELECT z.file_name AS file, t.short_name AS action, p.short_name AS phase, st.short_name AS status, x.short_name AS exception, a.message,
			CASE WHEN isfinite(a.last_update) THEN a.last_update END AS last
		FROM tracker.zip_file z JOIN tracker.zip_action a ON a.zip_id = z.id JOIN tracker.processing_type t ON t.id = a.todo_id
		JOIN tracker.phase p ON p.id = a.phase_id JOIN tracker.a_status st ON st.id = a.status_id LEFT JOIN tracker.an_exception x ON x.id = a.exception_id
		WHERE `+nameless+` ORDER BY a.last_update DESC, a.id LIMIT $2`, v.Centre, limit)
}

// Documents is a page of the documents in the centre's files. The filter's centre and
// session say nothing.
func (v View) Documents(ctx context.Context, f report.Filter) (report.Page[report.Document], error) {
	f.Centre, f.Session = v.Centre, ""
	page, err := report.DocumentPage(ctx, v.Tracker, f)
	if unknown(err) {
		return report.Page[report.Document]{}, nil
	}
	for i := range page.Rows {
		document(&page.Rows[i])
	}
	return page, err
}

// Story is the story of one of the centre's files.
func (v View) Story(ctx context.Context, action, name string) (report.Told, error) {
	if err := v.owns(ctx, action, name); err != nil {
		return report.Told{}, err
	}
	t, err := report.Tell(ctx, v.Tracker, action, name)
	if err == nil && t.Centre != nil && !strings.EqualFold(*t.Centre, v.Centre) {
		err = report.ErrNotFound
	}
	if err != nil {
		return report.Told{}, err
	}
	servers, err := v.servers(ctx)
	if err != nil {
		return report.Told{}, err
	}
	v.file(&t.File, servers)
	t.Session, t.Priority, t.Waits = nil, nil, ""
	t.Hostings = slices.DeleteFunc(t.Hostings, func(h report.Hosting) bool { return !slices.Contains(servers, h.Source) })
	for i := range t.Hostings {
		t.Hostings[i].Note, t.Hostings[i].Message = nil, nil
	}
	for i := range t.Tries {
		attempt(&t.Tries[i], servers)
	}
	for i := range t.Documents {
		facts(&t.Documents[i])
	}
	return t, nil
}

// Document is a document of one of the centre's files, with its errors, and what their
// exceptions mean.
func (v View) Document(ctx context.Context, action, file, name string) (report.DocumentFacts, map[string]string, error) {
	if err := v.owns(ctx, action, file); err != nil {
		return report.DocumentFacts{}, nil, err
	}
	d, means, err := report.DocumentOf(ctx, v.Tracker, action, file, name)
	facts(&d)
	return d, means, err
}

// owns is ErrNotFound for what is not the centre's, asked in the same way whether it is
// another's or there is none.
func (v View) owns(ctx context.Context, action, name string) error {
	if (report.Filter{Name: name, Contains: action}).Check() != nil {
		return report.ErrNotFound
	}
	var owned bool
	err := v.Tracker.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tracker.zip_file z JOIN tracker.zip_action a ON a.zip_id = z.id JOIN tracker.processing_type t ON t.id = a.todo_id
		WHERE z.file_name = $2 AND t.short_name = $3 AND (z.centre_id IN `+mine+` OR `+nameless+`))`, v.Centre, name, action).Scan(&owned)
	switch {
	case err != nil:
		return fmt.Errorf("ask the tracker whose a file is: %w", err)
	case !owned:
		return report.ErrNotFound
	}
	return nil
}

// servers are the names of those that the centre runs.
func (v View) servers(ctx context.Context) ([]string, error) {
	return pg.One(ctx, v.Tracker, "ask the tracker which servers a centre runs", pgx.RowTo[[]string], "SELECT ARRAY(SELECT s.short_name FROM tracker.file_source s WHERE s.centre_id IN "+mine+" ORDER BY s.short_name COLLATE \"C\")", v.Centre)
}

// file holds back what is not for the centre.
func (v View) file(f *report.File, servers []string) {
	f.Source, f.Message = among(f.Source, servers), said(f.Phase, f.Exception, f.Message)
}

func attempt(a *report.Attempt, servers []string) {
	a.Source, a.Note, a.Repeats, a.Run = among(a.Source, servers), nil, nil, ""
	a.Request, a.Response = nil, nil // they name servers
	a.Message = said(a.Phase, a.Exception, a.Message)
	for i, l := range a.Log {
		a.Log[i].Message = said(l.Phase, &l.Exception, l.Message)
	}
}

func facts(d *report.DocumentFacts) {
	d.Position = nil
	document(&d.Document)
}

func document(d *report.Document) {
	for i, e := range d.Errors {
		d.Errors[i].Message = said(d.Phase, &e.Exception, e.Message)
	}
}

// among is the name of one of the servers; nil for another's.
func among(name *string, servers []string) *string {
	if name == nil || !slices.Contains(servers, *name) {
		return nil
	}
	return name
}

// said is a message, if it is for the centre: where it has something to correct in its
// file. Those about servers and machines may name what is not its affair.
func said(phase string, name, message *string) *string {
	if name == nil {
		return nil
	}
	switch e, known := exception.Find(*name); {
	case known && e.Group != exception.Source && exception.MoveOf(*name) == exception.Centre:
	case !known && schemas.Phase(phase).ID() >= schemas.XMLName.ID(): // a finding
	default:
		return nil
	}
	return message
}

func unknown(err error) bool {
	var unknown *report.UnknownError
	return errors.As(err, &unknown)
}

// list reads rows by the names of their columns.
func list[T any](ctx context.Context, q pg.Querier, sql string, args ...any) ([]T, error) {
	return pg.List(ctx, q, "ask the tracker about a centre", pgx.RowToStructByNameLax[T], schemas.Numbered(sql), args...)
}
