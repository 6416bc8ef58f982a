package expect_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/schemas"
)

func ids(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	out, err := pg.List(t.Context(), pool, "sources", pgx.RowTo[string], "SELECT id::text FROM tracker.file_source")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eachAlone is how it was read how fast sources are fetched from: for each poll by itself.
const eachAlone = `SELECT s.short_name, k.finish_time, d.bytes, d.took, coalesce(extract(epoch FROM b.finish_time - k.finish_time), 0)::float8
	FROM tracker.file_source s CROSS JOIN LATERAL (SELECT finish_time, session_id FROM tracker.poll_task k WHERE k.file_source_id = s.id AND k.finish_time IS NOT NULL
		AND (coalesce(k.counts->>'new', '0') <> '0' OR coalesce(k.counts->>'changed', '0') <> '0') ORDER BY k.finish_time DESC LIMIT $2) k
	CROSS JOIN LATERAL (SELECT least(coalesce(sum(d.downloaded_size_bytes), 0), 1e18)::bigint AS bytes, coalesce(extract(epoch FROM max(d.received) - min(d.started)), 0)::float8 AS took
		FROM tracker.zip_download d JOIN tracker.file_source_has_zip h ON h.id = d.zf_id AND h.file_source_id = s.id
		WHERE d.session_id = k.session_id AND d.run = $3::uuid AND d.received IS NOT NULL AND d.started IS NOT NULL) d
	LEFT JOIN LATERAL (SELECT max(b.finish_time) AS finish_time FROM tracker.batch b WHERE b.session_id = k.session_id AND b.centre_id = s.centre_id) b ON true
	WHERE s.id = ANY($1::uuid[])`

// Where sources share sessions, what is read of all at once is what was read of each poll by
// itself, and no session is read twice.
func TestSharedSessionsAreReadOnce(t *testing.T) {
	const sources, sessions = 12, 8
	w := &world{t: t}
	for i := range sources {
		w.source(begin(), fmt.Sprint("s", i), fmt.Sprint("C", i%5), "available")
	}
	for n := range sessions {
		at := begin().AddDate(0, 0, n+1)
		session := schemas.ID("session", "shared", strconv.Itoa(n))
		w.tell(at, schemas.StatusChanged{Entity: schemas.EntitySession, Scope: schemas.Scope{Run: schemas.LiveRun, Session: session}, Number: int64(1000 + n), StartedAt: &at})
		for i := range sources {
			source, centre := fmt.Sprint("s", i), fmt.Sprint("C", i%5)
			w.tell(at, schemas.StatusChanged{Entity: schemas.EntityTask, Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: centre, Source: source}, Phase: "zip_name", Status: "done",
				StartedAt: &at, FinishedAt: &at, Attributes: map[string]string{"new": strconv.Itoa(i % 3), "changed": "0"}})
			for f := range i % 3 {
				name := fmt.Sprintf("%s.2026-01-02.%d%02d%d.impc.zip", centre, i+1, n, f)
				w.fetched(schemas.LiveRun, session, source, centre, name, int64(1000*(i+1)), at, time.Duration(i+f+1)*time.Second)
				w.fetched(schemas.ID("replay"), session, source, centre, name, 7, at, time.Hour)
			}
		}
		for c := range 4 { // of one centre nothing is loaded
			w.loaded(session, fmt.Sprint("C", c), int64(n+1), at.Add(time.Duration(c+n)*time.Minute))
		}
	}
	pool := w.tracker()
	if _, err := pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	read := func(sql string) []string {
		t.Helper()
		out, err := pg.List(t.Context(), pool, "fetches", func(row pgx.CollectableRow) (string, error) {
			var name string
			var at time.Time
			var bytes int64
			var took, until float64
			err := row.Scan(&name, &at, &bytes, &took, &until)
			return fmt.Sprint(name, " ", at.UTC(), " ", bytes, " ", took, " ", until), err
		}, "SELECT * FROM ("+schemas.Numbered(sql)+") q ORDER BY 1, 2", ids(t, pool), expect.MaxFetches, schemas.LiveRun)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before, now := read(eachAlone), read(expect.FetchesSQL)
	if d := cmp.Diff(before, now); d != "" || len(now) != sessions*sources*2/3 {
		t.Errorf("%d rows (- each alone, + all at once):\n%s", len(now), d)
	}
	plan, err := pg.List(t.Context(), pool, "plan", pgx.RowTo[string], "EXPLAIN (ANALYZE, TIMING OFF) "+schemas.Numbered(expect.FetchesSQL), ids(t, pool), expect.MaxFetches, schemas.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, line := range plan {
		if strings.Contains(line, " on zip_download ") || strings.Contains(line, " on batch ") {
			loops, err := strconv.Atoi(strings.TrimSuffix(line[strings.LastIndex(line, "loops=")+len("loops="):], ")"))
			if err != nil || loops > sessions {
				t.Errorf("sessions are read again for each poll, %v:\n%s", err, strings.Join(plan, "\n"))
			}
			tables++
		}
	}
	if tables != 2 {
		t.Errorf("%d tables are read of sessions:\n%s", tables, strings.Join(plan, "\n"))
	}
}
