package reporttest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

// Years are what the tracker has after Fill.
type Years struct {
	Begin time.Time
	Each  time.Duration // from one file to the next
	End   time.Time     // some minutes after the last file
}

// fillTracker is what the tracker knows after years: files of 20 centres, each hosted
// by one source and fetched once, in sessions of a hundred, an hour each, with two
// documents. One in sixty has failed with one of them, one in a thousand waits for its
// documents, one in a thousand to be fetched again, and of the last some that failed have
// a document that is on its way. Each session polled every source, one in ten found
// something, one in a hundred failed.
const fillTracker = `
INSERT INTO tracker.an_exception (id, short_name) SELECT md5('x' || i)::uuid, CASE i WHEN 10 THEN 'connection_lost' ELSE 'exception_' || i END FROM generate_series(0, 10) i;
INSERT INTO tracker.centre (id, short_name, merge) SELECT md5('c' || i)::uuid, 'C' || i, '{}' FROM generate_series(0, 19) i;
INSERT INTO tracker.file_source (id, short_name, centre_id, state_id, protocol_id, merge) SELECT md5('s' || i)::uuid, 'source-' || i, md5('c' || i)::uuid, 1, 2, '{}' FROM generate_series(0, 19) i;
INSERT INTO tracker.source_revision (id, file_source_id, revision, state_id, declared, definition, created)
	SELECT md5('r' || i || '/' || k)::uuid, md5('s' || i)::uuid, k, 1, true, '{"id": "source-' || i || '"}', '2020-01-01' FROM generate_series(0, 19) i, generate_series(1, 2) k;
INSERT INTO tracker.crawling_session (id, number, start_time, finish_time, status, merge)
	SELECT md5('n' || i)::uuid, i, '2020-01-01'::timestamptz + i * interval '1 hour', '2020-01-01'::timestamptz + i * interval '1 hour' + interval '50 minutes', 0, '{}' FROM generate_series(0, {N} / 100) i;
INSERT INTO tracker.poll_task (id, session_id, file_source_id, phase_id, status_id, exception_id, start_time, finish_time, counts, created, last_update, merge)
	SELECT md5('p' || i || '/' || k)::uuid, md5('n' || i)::uuid, md5('s' || k)::uuid, 1, CASE WHEN failed THEN 5 ELSE 3 END, CASE WHEN failed THEN md5('x10')::uuid END, at, at + interval '1 minute',
		jsonb_build_object('listed', '1000', 'new', CASE WHEN (i + k) % 10 = 0 THEN '5' ELSE '0' END, 'changed', '0'), at, at, '{}'
	FROM (SELECT i, k, (i + 7 * k) % 100 = 0 AS failed, '2020-01-01'::timestamptz + i * interval '1 hour' AS at FROM generate_series(0, {N} / 100) i, generate_series(0, 19) k) x;
INSERT INTO tracker.batch (id, centre_id, number, session_id, status_id, documents, start_time, finish_time, created, last_update, merge)
	SELECT md5('t' || i || '/' || k)::uuid, md5('c' || k)::uuid, i + 1, md5('n' || i)::uuid, 3, 10, at, at + interval '40 minutes', at, at, '{}'
	FROM (SELECT i, k, '2020-01-01'::timestamptz + i * interval '1 hour' AS at FROM generate_series(0, {N} / 100) i, generate_series(0, 19) k) x;
INSERT INTO tracker.zip_file (id, file_name, centre_id, last_update, merge)
	SELECT md5('z' || i)::uuid, 'C' || i % 20 || '.2020-01-01.' || i || '.impc.zip', md5('c' || i % 20)::uuid, '2020-01-01', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_action (id, zip_id, todo_id, phase_id, status_id, exception_id, download_id, attempts, created, last_update, merge)
	SELECT md5('a' || i)::uuid, md5('z' || i)::uuid, 1, CASE WHEN i % 60 = 7 THEN 6 WHEN i % 1000 = 8 THEN 4 WHEN i % 1000 = 9 THEN 2 ELSE 10 END, CASE WHEN i % 60 = 7 THEN 5 WHEN i % 1000 = 9 THEN 1 ELSE 3 END,
		CASE WHEN i % 60 = 7 THEN md5('x' || i % 10)::uuid END, md5('d' || i)::uuid, 1, '2020-01-01'::timestamptz + i * interval '36 seconds', '2020-01-01'::timestamptz + i * interval '36 seconds' + interval '5 minutes', '{}'
	FROM generate_series(1, {N}) i;
INSERT INTO tracker.file_source_has_zip (id, za_id, file_source_id, num_retries, look, state, created, last_update, merge)
	SELECT md5('h' || i)::uuid, md5('a' || i)::uuid, md5('s' || i % 20)::uuid, 0, 1, 'present', '2020-01-01', '2020-01-01', '{}' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_version (id, za_id, sha256, received, last_update, merge)
	SELECT md5('v' || i)::uuid, md5('a' || i)::uuid, md5('b' || i) || md5('B' || i), '2020-01-01', '2020-01-01', '{}' FROM generate_series(1, {N}) i WHERE i % 1000 <> 9;
INSERT INTO tracker.zip_download (id, za_id, zf_id, run, attempt, session_id, phase_id, status_id, exception_id, accepted, version, downloaded_size_bytes, started, received, documents, documents_known, documents_open, documents_failed, created, last_update, merge)
	SELECT md5('d' || i)::uuid, md5('a' || i)::uuid, md5('h' || i)::uuid, '00000000-0000-5000-8000-000000000000', 1, md5('n' || i / 100)::uuid, 4, 3, CASE WHEN i % 60 = 7 THEN md5('x' || i % 10)::uuid END, 'done', md5('b' || i) || md5('B' || i), 1000, at, at + interval '1 minute',
		2, 2, CASE WHEN i % 60 = 7 AND i > {N} - 600 THEN 1 ELSE 0 END, CASE WHEN i % 60 = 7 THEN 1 ELSE 0 END, at, at + interval '5 minutes', '{}'
	FROM (SELECT i, '2020-01-01'::timestamptz + i * interval '36 seconds' AS at FROM generate_series(1, {N}) i WHERE i % 1000 <> 9) x;
INSERT INTO tracker.zip_download (id, za_id, zf_id, run, attempt, session_id, phase_id, status_id, exception_id, downloaded_size_bytes, started, documents_known, documents_open, documents_failed, created, last_update, merge)
	SELECT md5('d' || i)::uuid, md5('a' || i)::uuid, md5('h' || i)::uuid, '00000000-0000-5000-8000-000000000000', 1, md5('n' || i / 100)::uuid, 2, 5, md5('x10')::uuid, 10, at, 0, 0, 0, at, at, '{}'
	FROM (SELECT i, '2020-01-01'::timestamptz + i * interval '36 seconds' AS at FROM generate_series(1, {N}) i WHERE i % 1000 = 9) x;
INSERT INTO tracker.xml_file (id, zip_id, outcome, fname, ordinal, phase_id, status_id, exception_id, errors_total, checked, session_id, first_seen, last_update, merge)
	SELECT md5('m' || i || '/' || k)::uuid, md5('d' || i)::uuid, 'done', 'C' || i % 20 || '.' || k || '.xml', k, CASE WHEN k = 1 AND i % 60 = 7 OR i % 1000 = 8 THEN 6 WHEN i % 60 = 7 AND i > {N} - 600 THEN 7 ELSE 10 END,
		CASE WHEN k = 1 AND i % 60 = 7 THEN 5 WHEN i % 60 = 7 AND i > {N} - 600 THEN 1 ELSE 3 END,
		CASE WHEN k = 1 AND i % 60 = 7 THEN md5('x' || i % 10)::uuid END, 0, 0, md5('n' || i / 100)::uuid, at, at + interval '5 minutes', '{}'
	FROM (SELECT i, '2020-01-01'::timestamptz + i * interval '36 seconds' AS at FROM generate_series(1, {N}) i WHERE i % 1000 <> 9) x, generate_series(1, 2) k;
INSERT INTO tracker.xml_log (id, xml_id, exception_id, ordinal, line, col, message, last_update)
	SELECT md5('l' || i || '/' || k)::uuid, md5('m' || i || '/1')::uuid, md5('x' || i % 10)::uuid, k, k, 1, 'a message', '2020-01-01' FROM generate_series(1, {N}) i, generate_series(0, 4) k WHERE i % 60 = 7;
INSERT INTO tracker.ordered (id, ordered_at, ordered_by, kind, subject, what, reason)
	SELECT md5('o' || i)::uuid, '2020-01-01'::timestamptz + i * interval '36 seconds', 'person-' || i % 40, (ARRAY['source', 'file', 'dead_letter'])[1 + i % 3], 'add/C' || i % 20 || '.2020-01-01.' || i || '.impc.zip', 'retried', 'a reason' FROM generate_series(1, {N}) i;
INSERT INTO tracker.zip_log (id, zip_id, exception_id, phase_id, status_id, outcome, judged, last_update)
	SELECT md5('l' || i || '/' || k)::uuid, md5('d' || i)::uuid, md5('x10')::uuid, 2, 5, 'lost', k = 1, '2020-01-01' FROM generate_series(1, {N}) i, generate_series(0, 1) k WHERE i % 100 = 9`

// What is around the statements that fill the tables: to make an index once takes a
// fraction of what it takes to keep it up row by row.
const (
	withoutIndexes = `SET session_replication_role = replica;
SET statement_timeout = '30min';
SET maintenance_work_mem = '512MB';
UPDATE pg_index SET indisready = false, indisvalid = false WHERE indrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'tracker'::regnamespace AND relname <> 'tally');
`
	withIndexes = `;
REINDEX SCHEMA tracker;
VACUUM (ANALYZE);
`
	afterwards = `;
RESET maintenance_work_mem;
RESET session_replication_role;
VACUUM (ANALYZE) tracker.tally`
)

// Fill fills an empty tracker with that many files and what belongs to them. Its
// triggers don't count meanwhile: what there is, is counted then.
func Fill(t testing.TB, pool *pgxpool.Pool, files int) Years {
	t.Helper()
	all, err := trackersql.Statements(trackersql.Schema)
	if err != nil {
		t.Fatal(err)
	}
	_, counts, _ := strings.Cut(strings.Join(all, ""), "INSERT INTO tracker.tally\n") // of the migration
	counts, _, ok := strings.Cut(counts, ";")
	if !ok {
		t.Fatal("no migration counts what there is")
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	statements := withoutIndexes + schemas.Numbered(fillTracker) + withIndexes + "INSERT INTO tracker.tally\n" + counts + afterwards
	for statement := range strings.SplitSeq(statements, ";\n") {
		if _, err := conn.Exec(t.Context(), strings.ReplaceAll(statement, "{N}", strconv.Itoa(files))); err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
	}
	return YearsOf(files)
}

// YearsOf are what a tracker has that Fill filled with so many files.
func YearsOf(files int) Years {
	y := Years{Begin: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Each: 36 * time.Second}
	y.End = y.Begin.Add(time.Duration(files)*y.Each + 7*time.Minute)
	return y
}
