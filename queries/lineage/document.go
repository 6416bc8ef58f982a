package lineage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// documentColumns are read by Document.scan, from warehouse.document d.
const documentColumns = `d.position, d.document, d.entry, d.kind, d.sha256, d.size, d.file_name, d.action, d.archive, d.version_key, d.file_date, d.file_inc, d.doc_date, d.doc_inc, d.rank, d.attempt, d.run_number,
	d.source, d.session, d.centre, d.number, d.profile, d.state, d.phase, d.exception, d.rows, d.withdrawn,
	d.entry_ordinal, d.archive_offset, d.packed, d.method, d.crc32, x.unloaded_at, x.what, x.archive, x.at`

// withdrawal is joined to warehouse.document d: why it is withdrawn, the first
// reason if there are several.
const withdrawal = ` LEFT JOIN LATERAL (SELECT u.unloaded_at, w.what, w.archive, w.position AS at FROM
	(SELECT min(u.position) AS unloaded_at FROM warehouse.unload u WHERE u.file = d.file AND u.archive = d.archive) u
	LEFT JOIN LATERAL (SELECT w.what, w.archive, w.position FROM warehouse.withdrawal w WHERE w.file = d.file
		AND NOT EXISTS (SELECT FROM warehouse.unload n WHERE n.file = w.file AND n.archive = w.archive)
		AND (w.entry = d.entry AND (w.what = 'loaded' AND (d.rank, d.run_number) < (w.rank, w.run_number) OR w.what = 'failed' AND d.rank = w.rank AND d.run_number < w.run_number)
			OR w.entry = '' AND w.what = 'lacks' AND d.rank < w.rank AND NOT EXISTS (
				SELECT FROM warehouse.document e WHERE e.file = w.file AND e.entry = d.entry AND e.rank = w.rank))
		ORDER BY w.position LIMIT 1) w ON true WHERE d.withdrawn) x ON true`

// targets are where documentColumns go.
func (d *Document) targets() []any {
	return []any{&d.Position, &d.Document, &d.Entry, &d.Kind, &d.SHA256, &d.Size, &d.File, &d.Action, &d.Version, &d.VersionKey, &d.FileDate, &d.FileInc, &d.DocDate, &d.DocInc, &d.rank, &d.Attempt, &d.Run,
		&d.Source, &d.Session, &d.Centre, &d.Batch, &d.Profile, &d.State, &d.Phase, &d.Exception, &d.Rows, &d.Withdrawn,
		&d.ordinal, &d.offset, &d.pack, &d.method, &d.crc32, &d.unloadedAt, &d.withdrawnWhat, &d.withdrawnBy, &d.withdrawnAt}
}

// reason says why the document is withdrawn, if it is.
func (d *Document) reason() string {
	switch {
	case !d.Withdrawn:
		return ""
	case d.unloadedAt != nil:
		return fmt.Sprintf("this version of the file was unloaded, at position %d", *d.unloadedAt)
	case d.withdrawnWhat == nil:
		return "a later position withdrew the document"
	}
	by := fmt.Sprintf("version %s of the file, complete at position %d,", short(*d.withdrawnBy), *d.withdrawnAt)
	switch *d.withdrawnWhat {
	case "lacks":
		return by + " has no such document any more"
	case "failed":
		return "a later run of this version of the file, complete at position " + fmt.Sprint(*d.withdrawnAt) + ", failed on the document"
	}
	return by + " brought the document anew"
}

// short is as much of a hash as people compare.
func short(sha256 string) string { return sha256[:min(len(sha256), 12)] }

// when asks the tracker when documents came, and from where.
func (r *Reader) when(ctx context.Context, docs ...*Document) error {
	if len(docs) == 0 || r.Tracker == nil {
		return nil
	}
	byPosition := map[int64][]*Document{}
	var positions []int64
	var names []string
	for _, d := range docs {
		if len(byPosition[d.Position]) == 0 {
			positions, names = append(positions, d.Position), append(names, d.Entry)
		}
		byPosition[d.Position] = append(byPosition[d.Position], d)
	}
	rows, err := r.Tracker.Query(ctx, `SELECT m.position, s.number, nullif(concat_ws(' ', f.hostname, f.base_path), ''), z.request, z.received,
			CASE WHEN isfinite(m.last_update) THEN m.last_update END
		FROM unnest($1::bigint[], $2::text[]) AS w(position, entry)
		JOIN tracker.xml_file m ON m.fname = w.entry AND m.position = w.position
		JOIN tracker.zip_download z ON z.id = m.zip_id
		LEFT JOIN tracker.crawling_session s ON s.id = z.session_id
		LEFT JOIN tracker.file_source_has_zip h ON h.id = z.zf_id LEFT JOIN tracker.file_source f ON f.id = h.file_source_id`, positions, names)
	if err != nil {
		return fmt.Errorf("ask the tracker for documents: %w", err)
	}
	var position int64
	var number *int64
	var host *string
	var requested, received, last *time.Time
	if _, err := pgx.ForEachRow(rows, []any{&position, &number, &host, &requested, &received, &last}, func() error {
		for _, d := range byPosition[position] {
			d.SessionNumber, d.Host, d.Requested, d.Received, d.Last = number, host, requested, received, last
		}
		return nil
	}); err != nil {
		return fmt.Errorf("ask the tracker for documents: %w", err)
	}
	return nil
}
