package scale

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/test/scale/plans"
)

// number is the value of an environment variable, or fallback.
func number(t testing.TB, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a positive number", name, text)
	}
	return n
}

// half of what there is will do with -short.
func half(n int) int {
	if testing.Short() {
		return n / 2
	}
	return n
}

// hosts is how many sources host every file.
const hosts = 10

// fillControl is what control knows after years: files, each at ten sources, of
// which the first is its centre's own; all but one in twenty carried to their end
// in sessions long closed. Those few are what a busy moment adds: announced,
// waiting for the centre's own source, wanted from a server without credit,
// wanted later, under way, to be tried again tomorrow.
const fillControl = `
INSERT INTO control.centre (short_name, revision) SELECT 'C' || i, 1 FROM generate_series(1, 10) i;
INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, next_due)
	SELECT 'big-' || i, 'C' || i, 'big-' || i || ':22', 'sftp', 'sftp://reader@big-' || i || '/', 1, '1 hour', 'available', 1, '9999-01-01' FROM generate_series(1, 10) i;
INSERT INTO control.file (id, name, action, centre, file_date, file_inc, exception, current_sha256, current_attempt, attempts, acceptances)
	SELECT md5('f' || i)::uuid, 'C' || 1 + i % 10 || '.2020-01-01.' || i || '.impc.zip', 'add', 'C' || 1 + i % 10, '2020-01-01', i,
		CASE WHEN i % 100 = 0 THEN 'zip_name_pattern' ELSE '' END, md5('b' || i), 1, 1, 1 FROM generate_series(1, {F}) i;
INSERT INTO control.hosting (source, file, action, name, look, size, mtime, listed_at, settled, state)
	SELECT 'big-' || s, md5('f' || i)::uuid, 'add', 'C' || 1 + i % 10 || '.2020-01-01.' || i || '.impc.zip', 1, 1000 + i % 5000, '2020-01-02', '2020-01-03', true, 'present'
	FROM generate_series(1, {F}) i, generate_series(1, 10) s;
INSERT INTO control.session (id, number, once, opened_at, polls_ended_at, end_position, closed_at)
	SELECT md5('s' || i)::uuid, i, false, '2020-01-01', '2020-01-01', i, CASE WHEN i < {S} THEN '2020-01-01'::timestamptz END FROM generate_series(1, {S}) i;
UPDATE control.session SET end_position = NULL, polls_ended_at = NULL, opened_at = now() + interval '1 year' WHERE closed_at IS NULL;
UPDATE control.counter SET value = {S} WHERE name = 'session';
INSERT INTO control.poll (id, session, source, server, centre, state, started_at, ended_at)
	SELECT md5('p' || s || '/' || i)::uuid, md5('s' || i)::uuid, 'big-' || s, 'big-' || s || ':22', 'C' || s, CASE WHEN i < {S} THEN 'complete' WHEN s < 3 THEN 'running' ELSE 'complete' END, '2020-01-01', '2020-01-01'
	FROM generate_series(1, {S}) i, generate_series(1, 10) s;
UPDATE control.poll SET lease_until = 'infinity' WHERE state = 'running';
INSERT INTO control.listing (sha256, source, base, digest, entries, bytes, listed_at)
	SELECT md5('l' || s || '/' || i) || md5(s || '/' || i), 'big-' || s, CASE WHEN i % 10 > 0 THEN md5('l' || s || '/' || i - i % 10) || md5(s || '/' || i - i % 10) END, '', 1000, 1000, now() + interval '1 year'
	FROM generate_series(10, {S}) i, generate_series(1, 10) s;
INSERT INTO control.look (source, file, look, session, domain, centre, size, mtime, listed_at, class, announced_at)
	SELECT 'big-' || s, md5('f' || i)::uuid, 1, md5('s' || CASE WHEN i % 20 = 0 THEN {S} ELSE 1 + i % ({S} - 1) END)::uuid, 'C' || 1 + i % 10, 'C' || s, 1000 + i % 5000, '2020-01-02', '2020-01-03',
		CASE WHEN i % 40 = 0 AND s = 1 THEN 'waiting' WHEN i % 20 = 0 THEN 'announced' WHEN s = 1 + i % 10 THEN 'taken' ELSE 'duplicate' END,
		CASE WHEN i % 20 = 0 THEN now() + interval '1 year' END
	FROM generate_series(1, {F}) i, generate_series(1, 10) s;
INSERT INTO control.batch (id, session, domain, opened_at, number, released_at, last_position)
	SELECT md5('t' || i || '/' || c)::uuid, md5('s' || i)::uuid, 'C' || c, now() + interval '1 year', CASE WHEN i < {S} THEN i END, CASE WHEN i < {S} THEN '2020-01-02'::timestamptz END, CASE WHEN i < {S} THEN i END
	FROM generate_series(1, {S}) i, generate_series(1, 10) c;
INSERT INTO control.domain SELECT 'C' || c, {S} FROM generate_series(1, 10) c;
INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, not_before, attempt, download, unzip, sha256, documents,
		rank_own, rank_time, rank_ordinal, news_at, result, ended_at, retry_at)
	SELECT '00000000-0000-5000-8000-000000000000', md5('f' || i)::uuid, md5('s' || session)::uuid, 'C' || 1 + i % 10, md5('t' || session || '/' || 1 + i % 10)::uuid, 'big-' || 1 + i % 10, 1, 1000 + i % 5000,
		state, CASE WHEN i % 40 = 1 THEN now() ELSE now() + interval '1 year' END, 1, md5('b' || i), 'done', md5('b' || i), 1, true, '2020-01-02', 1, now() + interval '1 year',
		CASE WHEN state <> 'ended' THEN '' WHEN i % 20 = 5 THEN 'failed' ELSE 'complete' END,
		CASE WHEN state = 'ended' THEN '2020-01-02'::timestamptz END, CASE WHEN i % 20 = 5 THEN now() + interval '1 day' END
	FROM (SELECT i, CASE WHEN i % 20 = 1 THEN 'wanted' WHEN i % 20 = 2 THEN 'requested' WHEN i % 20 = 3 THEN 'received' WHEN i % 20 = 4 THEN 'extracted' ELSE 'ended' END AS state,
		CASE WHEN i % 20 BETWEEN 1 AND 4 THEN {S} ELSE 1 + i % ({S} - 1) END AS session FROM generate_series(1, {F}) i) x ORDER BY i;
INSERT INTO control.job (id, server, source, remaining, requested_at, news_at, event, headers)
	SELECT md5('j' || i)::uuid, 'big-' || i || ':22', 'big-' || i, 1, now(), now() + interval '1 year', '', '[]' FROM generate_series(1, 10) i;
INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job, download, unzip)
	SELECT run, file, 1, id, source, 1, md5('j1')::uuid, sha256, 'done' FROM control.acquisition WHERE state <> 'wanted';
INSERT INTO control.document (run, file, attempt, download, unzip, document, entry, kind, doc_date, doc_inc, sha256, result, body)
	SELECT run, file, 1, sha256, 'done', md5('d' || id)::uuid, 'C.2020-01-01.' || id || '.experiment.impc.xml', 'experiment', '2020-01-01', id, sha256, 'valid', decode(repeat('00', 200), 'hex')
	FROM control.acquisition WHERE state = 'ended'`

// fill fills control, a tenth as many files as hostings. The largest tables get
// their indexes when they are full, and nothing is checked that the text above
// makes so: that takes minutes instead of an hour.
func fill(t *testing.T, pool *pgxpool.Pool, hostings int) {
	t.Helper()
	began := time.Now()
	files := hostings / hosts
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%.200s: %v", plans.Words(sql), err)
		}
	}
	exec("SET session_replication_role = replica")
	exec("SET maintenance_work_mem = '512MB'")
	rows, err := conn.Query(t.Context(), `SELECT CASE WHEN c.oid IS NULL THEN 'DROP INDEX ' || i.indexrelid::regclass ELSE 'ALTER TABLE ' || i.indrelid::regclass || ' DROP CONSTRAINT ' || c.conname END,
			CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid) ELSE 'ALTER TABLE ' || i.indrelid::regclass || ' ADD CONSTRAINT ' || c.conname || ' ' || pg_get_constraintdef(c.oid) END
		FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid
		WHERE i.indrelid = ANY(ARRAY['control.hosting', 'control.look', 'control.attempt', 'control.document']::regclass[])`)
	if err != nil {
		t.Fatal(err)
	}
	type index struct{ Drop, Create string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil || len(indexes) < 8 {
		t.Fatalf("%d indexes: %v", len(indexes), err)
	}
	for _, i := range indexes {
		exec(i.Drop)
	}
	values := strings.NewReplacer("{F}", strconv.Itoa(files), "{S}", strconv.Itoa(max(2, files/10)))
	for sql := range strings.SplitSeq(fillControl, ";\n") {
		exec(values.Replace(sql))
	}
	for _, i := range indexes {
		exec(i.Create)
	}
	exec("VACUUM (ANALYZE)")
	exec("RESET session_replication_role")
	t.Logf("%d hostings of %d files are known after %s", hostings, files, time.Since(began).Round(time.Millisecond))
}

// eventually waits until check returns nothing; what it returned last fails the
// test when the time is over.
func eventually(t testing.TB, limit time.Duration, check func() string) {
	t.Helper()
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := check()
		if last == "" {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-over.C:
			t.Fatalf("still not so after %s: %s", limit, last)
		case <-tick.C:
		}
	}
}
