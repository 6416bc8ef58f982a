package lineage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tributary/internal/pg"
)

// withdrawal is joined to warehouse.document d: why it is withdrawn, the unload of
// its version or else the first reason if there are several.
const withdrawal = ` LEFT JOIN LATERAL (SELECT w.what, w.version, w.at FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w
	WHERE d.withdrawn ORDER BY w.what <> 'unloaded', w.at LIMIT 1) x ON true`

// columns are what is read of warehouse.document d, and where it goes.
func (d *Document) columns() (row pg.Rows) {
	row.Add("d.position", &d.Position, "d.document", &d.Document, "d.entry", &d.Entry, "d.kind", &d.Kind, "d.sha256", &d.SHA256, "d.size", &d.Size,
		"d.file_name", &d.File, "d.action", &d.Action, "d.archive", &d.Version, "d.version_key", &d.VersionKey, "d.file_date", &d.FileDate,
		"d.file_inc", &d.FileInc, "d.doc_date", &d.DocDate, "d.doc_inc", &d.DocInc, "d.rank", &d.rank, "d.attempt", &d.Attempt,
		"d.run_number", &d.Run, "d.source", &d.Source, "d.session", &d.Session, "d.centre", &d.Centre, "d.number", &d.Batch,
		"d.profile", &d.Profile, "d.state", &d.State, "d.phase", &d.Phase, "d.exception", &d.Exception, "d.rows", &d.Rows,
		"d.withdrawn", &d.Withdrawn, "d.entry_ordinal", &d.ordinal, "d.archive_offset", &d.offset, "d.packed", &d.pack, "d.method", &d.method,
		"d.crc32", &d.crc32, "x.what", &d.withdrawnWhat, "x.version", &d.withdrawnBy, "x.at", &d.withdrawnAt)
	return row
}

// documentColumns are the names of columns.
func documentColumns() string { return strings.Join((&Document{}).columns().Columns, ", ") }

// targets are where the columns go.
func (d *Document) targets() []any { return d.columns().Values[0] }

// reason says why the document is withdrawn, if it is.
func (d *Document) reason() string {
	switch {
	case !d.Withdrawn:
		return ""
	case d.withdrawnWhat == nil:
		return "a later position withdrew the document"
	case *d.withdrawnWhat == "unloaded":
		return fmt.Sprintf("this version of the file was unloaded, at position %d", *d.withdrawnAt)
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
	var position int64
	var number *int64
	var host *string
	var requested, received, last *time.Time
	for err := range pg.Each(ctx, r.Tracker, "ask the tracker for documents", []any{&position, &number, &host, &requested, &received, &last}, `SELECT m.position, s.number, nullif(concat_ws(' ', f.hostname, f.base_path), ''), z.request, z.received,
			CASE WHEN isfinite(m.last_update) THEN m.last_update END
		FROM unnest($1::bigint[], $2::text[]) AS w(position, entry)
		JOIN tracker.xml_file m ON m.fname = w.entry AND m.position = w.position
		JOIN tracker.zip_download z ON z.id = m.zip_id
		LEFT JOIN tracker.crawling_session s ON s.id = z.session_id
		LEFT JOIN tracker.file_source_has_zip h ON h.id = z.zf_id LEFT JOIN tracker.file_source f ON f.id = h.file_source_id`, positions, names) {
		if err != nil {
			return err
		}
		for _, d := range byPosition[position] {
			d.SessionNumber, d.Host, d.Requested, d.Received, d.Last = number, host, requested, received, last
		}
	}
	return nil
}
