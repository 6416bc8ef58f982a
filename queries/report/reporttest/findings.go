package reporttest

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/warehouse"
)

// Findings adds to the database of a tracker a warehouse with two documents of H, of
// which one has three open findings of specimen_unknown, whose messages are Hostile, and
// a closed one; the other an open one of date_odd. Of J there is one of specimen_unknown.
func Findings(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	err := warehouse.Migrate(t.Context(), pool)
	for position, d := range map[int64][2]string{3: {InvalidZip, "H"}, 4: {InsertedZip, "H"}, 5: {RetriedZip, "J"}} {
		_, inserted := pool.Exec(t.Context(), `INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
				document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
				attempt, download, unzip, profile, state, phase, exception, rows)
			VALUES ($1, '', '', 0, '', 'harwell', '', $3, 1, false, '', $2, 'add', '2026-11-20', 1,
				'', 'entry.xml', 0, 'specimen', $3, '2026-11-20', 1, 'aa11', 0, 0, 0, 0, 0, '', '', '', '', 1, '', '', '', 'loaded', 'upload', '', 10)`, position, d[0], d[1])
		err = errors.Join(err, inserted)
	}
	_, inserted := pool.Exec(t.Context(), `INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open) VALUES
		(3, 1, 1, 'specimen_unknown', 'H', 'procedure_run', '', 'error', 12, 3, $1, true),
		(3, 2, 2, 'specimen_unknown', 'H', 'procedure_run', '', 'error', 13, 3, $1, true),
		(3, 3, 3, 'specimen_unknown', 'H', 'procedure_run', '', 'error', 14, 3, 'closed again', false),
		(3, 4, 4, 'specimen_unknown', 'H', 'procedure_run', '', 'error', 15, 0, $1, true),
		(4, 1, 1, 'date_odd', 'H', 'specimen', '', 'warn', 20, 2, 'in the future', true),
		(5, 1, 1, 'specimen_unknown', 'J', 'procedure_run', '', 'error', 9, 1, 'of J', true)`, Hostile)
	_, counted := pool.Exec(t.Context(), `INSERT INTO warehouse.finding_count SELECT centre, record_type, subject, test, level, count(*) FROM warehouse.finding WHERE open GROUP BY 1, 2, 3, 4, 5`)
	if err := errors.Join(err, inserted, counted); err != nil {
		t.Fatal(err)
	}
}
