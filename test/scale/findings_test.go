package scale

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/finding"
	"tributary/queries/report/reporttest"
	trackersql "tributary/sql/tracker"
	"tributary/test/scale/plans"
	"tributary/web/pages/pagestest"
)

// fillFindings is a warehouse with so many open findings, ten in each document, nine of
// them of one check. The documents of each of twenty centres lie together.
const fillFindings = `WITH d AS (
	INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
		document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5,
		rank, version_key, attempt, download, unzip, profile, state, phase, exception, rows)
	SELECT i, 'e' || i, 'r', 0, 's', 'source', 'b', 'C' || (i - 1) * 200 / $1::int, 1, false, 'f' || i, i || '.zip', 'add', '', 0,
		'd' || i, i || '.xml', 0, 'experiment', '', '', 0, 'a' || i, 0, 0, 0, 0, 0, '', '', '', '', 1, '', '', '', 'loaded', '', '', 10
	FROM generate_series(1, $1::int / 10) i RETURNING position, centre)
INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
SELECT d.position, k, k, CASE WHEN k = 0 THEN 'a_rare_check' ELSE 'a_check' END, d.centre, 'experiment', 'subject', 'warn', 1, 1, 'a message', true
FROM d, generate_series(0, 9) k`

// withFindings fills the warehouse beside a tracker.
func withFindings(t *testing.T, pool *pgxpool.Pool, findings int) {
	t.Helper()
	for _, s := range []statement{
		{fillFindings, []any{findings}},
		{`INSERT INTO warehouse.finding_count (centre, record_type, subject, test, level, findings)
		SELECT centre, record_type, subject, test, level, count(*) FROM warehouse.finding GROUP BY 1, 2, 3, 4, 5`, nil},
		{"ANALYZE warehouse.document, warehouse.finding, warehouse.finding_count", nil},
	} {
		if _, err := pool.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
}

// A page of the open findings of a check, the first and the last, looks at what
// it shows, however many there are.
func TestFindingsByIndex(t *testing.T) {
	dsn := enginetest.Filled(t, "tracker", trackersql.Migrate)
	plain, err := pg.Open(t.Context(), dsn, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	site := pagestest.Site(t, plain)
	findings := number(t, "TRIBUTARY_SCALE_FINDINGS", half(300_000))
	withFindings(t, plain, findings)
	p := plans.Watcher{Large: []string{"finding", "document"}}
	watched := p.Pool(t, dsn)
	site.Warehouse = watched
	handler, _ := served(t, site, watched, reporttest.Start())
	p.Watch()
	for _, address := range []string{"/findings", "/findings?centre=C7&check=a_check", "/findings?centre=C7&check=a_rare_check"} {
		ask(t, handler, address)
	}
	last := findings / 10 / 20 * 8 // the last document of C7
	end, err := finding.Open(t.Context(), watched, "C7", "a_check", fmt.Sprintf("%d-5", last-10), 100)
	if err != nil || len(end) != 4+9*10 || end[0].Document != fmt.Sprintf("%d.xml", last-10) {
		t.Errorf("at the end of the list there are %d findings, %v", len(end), err)
	}
	if _, err := watched.Exec(t.Context(), "SELECT 1"); err != nil { // Postgres tells of a statement when the next one comes
		t.Fatal(err)
	}
	p.Check(t, nil)
	if !p.Seen("FROM warehouse.finding WHERE") || !p.Seen("FROM warehouse.finding_count") {
		t.Error("the statements that the test is about were not executed")
	}
}
