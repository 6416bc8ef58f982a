package report

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// A list is read in two steps: what is on it, from few tables, so that Postgres finds
// the way by index; then how each of these stands, from the views, which join too many
// for that.
const named = " FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.processing_type t ON t.id = a.todo_id"

// shown is the view of what was chosen: of all at once, or, of few, one by one.
func (f Filter) shown(view, same string) string {
	if !f.few() {
		return " JOIN " + view + " v ON " + same
	}
	return " CROSS JOIN LATERAL (SELECT * FROM " + view + " v WHERE " + same + " OFFSET 0) v"
}

// few tells whether a page is asked for, or one file.
func (f Filter) few() bool { return f.Limit > 0 || f.id != "" }

// ofChosen is the order of what was chosen, by the names that its columns have then.
func ofChosen(order string) string {
	return strings.NewReplacer("z.file_name", "k.name", "t.short_name", "k.what", "a.last_update", "k.changed", "a.id", "k.file_id", "m.fname", "k.entry", "m.ordinal", "k.ordinal").Replace(order)
}

// lastChange is a time that is null where nothing was heard.
const lastChange = "CASE WHEN isfinite(v.last_update) THEN v.last_update END"

// Files calls each with every file that passes, in the filter's order, and stops
// at its first error. That none passes because the filter's centre or source is
// not known is an UnknownError; a filter that can't be is a FilterError.
func Files(ctx context.Context, q pg.Querier, f Filter, each func(File) error) error {
	return files(ctx, q, f, func(r fileRow) error { return each(r.File) })
}

// FilePage is the part of Files that the filter's After and Limit say.
func FilePage(ctx context.Context, q pg.Querier, f Filter) (Page[File], error) {
	f = f.bounded()
	p, err := pageOf(f, func(each func(fileRow) error) error { return files(ctx, q, f, each) }, func(r fileRow) []string {
		if f.byChange() {
			return []string{changed(r.Last), r.ID}
		}
		return []string{r.File.File, r.Action}
	})
	out := Page[File]{Rows: make([]File, len(p.Rows)), Next: p.Next}
	for i, r := range p.Rows {
		out.Rows[i] = r.File
	}
	return out, err
}

type fileRow struct {
	File
	ID string
}

func files(ctx context.Context, q pg.Querier, f Filter, each func(fileRow) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	key, err := f.key(fileKey)
	if err != nil {
		return err
	}
	var w pg.Conditions
	if err := f.common(ctx, q, &w); err != nil {
		return err
	}
	stands, err := f.stands(ctx, q, "a")
	if err != nil {
		return err
	}
	w.All = append(w.All, stands...)
	if f.Source != "" {
		ids, err := idsOf(ctx, q, "file_source", "short_name = $1", f.Source)
		if err != nil {
			return err
		}
		w.Add("EXISTS (SELECT FROM tracker.file_source_has_zip h WHERE h.id = d.zf_id AND h.file_source_id IN (" + ids + "))")
	}
	if f.early() {
		w.Add(unfinished)
	}
	if f.QC != "" {
		w.Add(ofFile(f.qc().decided("x")))
	}
	if f.Waiting {
		w.Add(open)
	}
	order := `z.file_name COLLATE "C", t.short_name`
	switch {
	case f.byChange():
		var beyond string
		order, beyond = f.changes()
		if key != nil {
			w.Add("(a.last_update, a.id) "+beyond+" (%s::timestamptz, %s::uuid)", key[0], key[1])
		}
	case key != nil:
		w.Add(`z.file_name COLLATE "C" >= %[1]s AND (z.file_name COLLATE "C" > %[1]s OR t.short_name > %[2]s)`, key[0], key[1])
	}
	return orKnown(ctx, q, f, each, func(each func(fileRow) error) error {
		return stream(ctx, q, "files", `SELECT v.file, v.action, v.version, v.centre, v.source, v.phase, v.status, v.exception, v.message, v.attempts, v.size_bytes, v.sha256, `+lastChange+`, v.id::text
		FROM (SELECT a.id AS file_id, z.file_name AS name, t.short_name AS what, a.last_update AS changed`+
			named+" LEFT JOIN tracker.zip_download d ON d.id = a.download_id"+w.Where()+` ORDER BY `+order+f.limit()+`) k`+
			f.shown("tracker.file", "v.id = k.file_id")+` ORDER BY `+ofChosen(order), w.Args, each)
	})
}

// Documents calls each with every document shown that passes, in the filter's
// order, and stops at its first error. By name they come by file, action and their
// own name; by changes they come by those of their files. A centre
// that is not known is an UnknownError, as in Files. The filter's Source says
// nothing.
func Documents(ctx context.Context, q pg.Querier, f Filter, each func(Document) error) error {
	return documents(ctx, q, f, func(r documentRow) error { return each(r.Document) })
}

// DocumentPage is the part of Documents that the filter's After and Limit say.
func DocumentPage(ctx context.Context, q pg.Querier, f Filter) (Page[Document], error) {
	f = f.bounded()
	p, err := pageOf(f, func(each func(documentRow) error) error { return documents(ctx, q, f, each) }, func(r documentRow) []string {
		first, second := r.File, r.Action
		if f.byChange() {
			first, second = changed(r.FileLast), r.FileID
		}
		return []string{first, second, r.Document.Document, strconv.Itoa(r.Ordinal)}
	})
	out := Page[Document]{Rows: make([]Document, len(p.Rows)), Next: p.Next}
	for i, r := range p.Rows {
		out.Rows[i] = r.Document
	}
	return out, err
}

type documentRow struct {
	Document
	Ordinal  int
	FileID   string
	FileLast *time.Time
}

func documents(ctx context.Context, q pg.Querier, f Filter, each func(documentRow) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	key, err := f.key(documentKey)
	if err != nil {
		return err
	}
	f.Source = ""
	from := named
	var w pg.Conditions
	if err := f.common(ctx, q, &w); err != nil {
		return err
	}
	of, err := f.stands(ctx, q, "m")
	if err != nil {
		return err
	}
	if f.Waiting {
		of = append(of, "m.phase_id < {phase qc}", "(m.status_id < {status done} OR m.status_id = {status done} AND m.phase_id < {phase overview})")
	}
	if f.QC != "" {
		of = append(of, f.qc().of("m"))
		w.Add(ofFile(f.qc().decided("x")))
	}
	if f.Phase == string(schemas.QC) {
		w.Add(ofFile("x.qc_status_id > {status pending}"))
	}
	if f.early() { // such is the file that shows such a document
		from = f.unfinishedOrDecided()
	}
	of = append(of, "m.zip_id = d.id", "m.outcome = d.accepted")
	members := " JOIN tracker.zip_download d ON d.id = a.download_id CROSS JOIN LATERAL (SELECT * FROM tracker.xml_file m WHERE " + strings.Join(of, " AND ") + few(f.few(), " OFFSET 0") + ") m"
	order := `z.file_name COLLATE "C", t.short_name, m.fname COLLATE "C", m.ordinal`
	switch {
	case f.byChange():
		changes, beyond := f.changes()
		order = changes + `, m.fname COLLATE "C", m.ordinal`
		if key != nil {
			w.Add(`a.last_update `+beyond+`= %[1]s::timestamptz AND ((a.last_update, a.id) `+beyond+` (%[1]s::timestamptz, %[2]s::uuid)
				OR (a.last_update, a.id) = (%[1]s::timestamptz, %[2]s::uuid) AND (m.fname COLLATE "C", m.ordinal) > (%[3]s, %[4]s::int))`, key[0], key[1], key[2], key[3])
		}
	case key != nil:
		w.Add(`z.file_name COLLATE "C" >= %[1]s AND (z.file_name COLLATE "C" > %[1]s OR t.short_name > %[2]s OR t.short_name = %[2]s AND (m.fname COLLATE "C", m.ordinal) > (%[3]s, %[4]s::int))`, key[0], key[1], key[2], key[3])
	}
	return orKnown(ctx, q, f, each, func(each func(documentRow) error) error {
		return streamWith(ctx, q, "documents", `SELECT v.document, v.file, v.action, v.version, v.centre, v.phase, v.status,
		(SELECT json_agg(json_build_object('line', l.line, 'column', l.col, 'exception', x.short_name, 'message', l.message) ORDER BY l.ordinal)
			FROM (SELECT * FROM tracker.xml_log g WHERE g.xml_id = v.id ORDER BY g.ordinal`+few(f.Errors > 0, " LIMIT "+strconv.Itoa(f.Errors))+`) l JOIN tracker.an_exception x ON x.id = l.exception_id) AS errors,
		v.errors_total, `+lastChange+`, v.sha256, `+qualityOf+`, v.ordinal, k.file_id::text, CASE WHEN isfinite(k.changed) THEN k.changed END
		FROM (SELECT m.id, a.id AS file_id, z.file_name AS name, t.short_name AS what, a.last_update AS changed, m.fname AS entry, m.ordinal`+
			from+members+w.Where()+` ORDER BY `+order+f.limit()+`) k`+f.shown("tracker.document", "v.id = k.id AND v.file_id = k.file_id")+` ORDER BY `+ofChosen(order), w.Args, scanDocument, each)
	})
}

// few is a text, if it is wanted.
func few(wanted bool, text string) string {
	if wanted {
		return text
	}
	return ""
}

func scanDocument(rows pgx.CollectableRow) (documentRow, error) {
	d, err := pgx.RowToStructByPos[documentRow](rows)
	if d.Errors == nil {
		d.Errors = []Error{}
	}
	return d, err
}

// pageOf reads a page.
func pageOf[T any](f Filter, list func(func(T) error) error, key func(T) []string) (Page[T], error) {
	rows := []T{}
	err := list(func(r T) error {
		rows = append(rows, r)
		return nil
	})
	return page(f, rows, key), err
}
