package why

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
)

// failures is how many refused documents are told of a file.
const failures = 3

// tracked returns what the tracker tells of a file, and its action and name; nil
// where it does not know it.
func tracked(ctx context.Context, q pg.Querier, id string) (t *Tracked, action, name string, err error) {
	t = &Tracked{}
	var download *string
	err = q.QueryRow(ctx, `SELECT f.action, f.file, f.phase, f.status, coalesce(f.exception, ''), coalesce(f.message, ''), coalesce(f.run::text, ''), coalesce(f.attempt, 0),
			coalesce(f.sha256, ''), coalesce(f.documents, 0), f.ended, f.last_update, f.download_id::text
		FROM tracker.file f WHERE f.id = $1::text::uuid`, id).
		Scan(&action, &name, &t.Phase, &t.Status, &t.Exception, &t.Message, &t.Run, &t.Attempt, &t.SHA256, &t.Expected, &t.Ended, &t.Last, &download)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, "", "", nil
	}
	if err == nil && download != nil {
		err = t.read(ctx, q, id, *download)
	}
	if err == nil && t.Phase == string(schemas.Download) && t.Status == string(schemas.Running) {
		err = t.transfer(ctx, q, id)
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("ask the tracker for a file: %w", err)
	}
	return t, action, name, nil
}

// transfer reads how far the download is that the file shows.
func (t *Tracked) transfer(ctx context.Context, q pg.Querier, id string) error {
	all, err := report.Transfers(ctx, q, id, 10)
	for i := range all {
		if all[i].Attempt == t.Attempt {
			t.Transfer = &all[i]
		}
	}
	return err
}

// read reads what became of the file's documents.
func (t *Tracked) read(ctx context.Context, q pg.Querier, id, download string) error {
	err := q.QueryRow(ctx, schemas.Numbered(`SELECT count(*), count(*) FILTER (WHERE m.phase_id < {phase qc} AND m.status_id IN ({status cancelled}, {status failed})),
			count(*) FILTER (WHERE m.status_id = {status failed} AND m.phase_id >= {phase data}),
			count(*) FILTER (WHERE NOT (m.phase_id = {phase qc} OR m.status_id IN ({status cancelled}, {status failed}) OR m.phase_id = {phase overview} AND m.status_id = {status done})),
			count(*) FILTER (WHERE m.status_id = {status failed} AND x.short_name = $2), coalesce(sum(m.rows_loaded), 0)::bigint, min(m.position), max(m.position)
		FROM (SELECT m.* FROM tracker.xml_file m JOIN tracker.zip_download d ON d.id = m.zip_id AND d.accepted = m.outcome WHERE m.zip_id = $1::text::uuid LIMIT 100000) m
		LEFT JOIN tracker.an_exception x ON x.id = m.exception_id`), download, schemas.Quarantined).
		Scan(&t.Documents, &t.Failed, &t.Found, &t.Open, &t.Quarantined, &t.Rows, &t.First, &t.Final)
	if err != nil || t.Failed == 0 {
		return err
	}
	t.Failures, err = pg.List(ctx, q, "documents that failed", pgx.RowToStructByName[Failure], schemas.Numbered(`SELECT d.document, d.phase, coalesce(l.exception, d.exception, '') AS exception, coalesce(l.message, d.message, '') AS message, l.line
		FROM tracker.document d LEFT JOIN LATERAL (SELECT g.line, g.message, x.short_name AS exception FROM tracker.xml_log g JOIN tracker.an_exception x ON x.id = g.exception_id
			WHERE g.xml_id = d.id ORDER BY g.ordinal LIMIT 1) l ON true
		WHERE d.file_id = $1::text::uuid AND d.phase_id < {phase qc} AND d.status_id IN ({status cancelled}, {status failed}) ORDER BY d.ordinal LIMIT $2`), id, failures)
	return err
}

// hostedAt returns what the tracker tells of a file at each source, by source.
func hostedAt(ctx context.Context, q pg.Querier, id string) (map[string]*Hosted, error) {
	out := map[string]*Hosted{}
	var source string
	h := Hosted{}
	for err := range pg.Each(ctx, q, "ask the tracker where a file lies", []any{&source, &h.State, &h.Note, &h.Message, &h.Changed}, `SELECT s.short_name, coalesce(h.state, ''), coalesce(h.note, ''), coalesce(h.message, ''), h.last_update
		FROM tracker.file_source_has_zip h JOIN tracker.file_source s ON s.id = h.file_source_id WHERE h.za_id = $1::text::uuid LIMIT 1000`, id) {
		if err != nil {
			return nil, err
		}
		one := h
		out[source] = &one
	}
	return out, nil
}

// lastComplete returns the last complete listing among the newest polls of a
// source that the tracker knows; nil if there is none.
func lastComplete(ctx context.Context, q pg.Querier, source string) (*CompleteListing, error) {
	c := &CompleteListing{}
	err := q.QueryRow(ctx, schemas.Numbered(`SELECT k.finish_time, coalesce(n.number, 0), coalesce(k.counts ->> 'listed', ''), coalesce(k.counts ->> 'ignored', '')
		FROM (SELECT * FROM tracker.poll_task WHERE file_source_id = (SELECT id FROM tracker.file_source WHERE short_name = $1) AND finish_time IS NOT NULL
			ORDER BY finish_time DESC LIMIT 1000) k LEFT JOIN tracker.crawling_session n ON n.id = k.session_id
		WHERE k.status_id = {status done} AND k.counts ->> 'end' IS DISTINCT FROM 'minimal' ORDER BY k.finish_time DESC LIMIT 1`), source).Scan(&c.At, &c.Session, &c.Listed, &c.Ignored)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the tracker how %s was listed: %w", source, err)
	}
	return c, nil
}
