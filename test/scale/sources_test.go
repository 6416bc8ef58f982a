package scale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tributary/queries/expect"
	"tributary/schemas"
	"tributary/test/scale/plans"
	"tributary/test/wait"
	"tributary/web/pages/pagestest"
)

// fillSources is what the tracker knows of hundreds of sources that were polled every
// twenty minutes for weeks: one poll in two found something, one in seven of these left
// something; one source in five is late, one in ten has had nothing but minimal polls since.
const fillSources = `
SET session_replication_role = replica;
INSERT INTO tracker.centre (id, short_name, merge) SELECT md5('c' || i)::uuid, 'C' || i, '{}' FROM generate_series(0, 19) i;
INSERT INTO tracker.file_source (id, short_name, centre_id, state_id, protocol_id, merge)
	SELECT md5('s' || i)::uuid, 'source-' || i, md5('c' || i % 20)::uuid, (SELECT id FROM tracker.resource_state WHERE short_name = 'available'), 2, '{}' FROM generate_series(0, 299) i;
INSERT INTO tracker.source_revision (id, file_source_id, revision, state_id, declared, definition, created)
	SELECT md5('r' || i || '/' || k)::uuid, md5('s' || i)::uuid, k, 1, true, '{"id": "source-' || i || '"}', '2020-01-01' FROM generate_series(0, 299) i, generate_series(1, 2) k;
INSERT INTO tracker.crawling_session (id, number, start_time, finish_time, status, merge)
	SELECT md5('n' || i)::uuid, i, '2020-01-01'::timestamptz + i * interval '20 minutes', '2020-01-01'::timestamptz + i * interval '20 minutes' + interval '10 minutes', 0, '{}' FROM generate_series(0, 1399) i;
INSERT INTO tracker.poll_task (id, session_id, file_source_id, phase_id, status_id, start_time, finish_time, counts, created, last_update, merge)
	SELECT md5('p' || i || '/' || k)::uuid, md5('n' || i)::uuid, md5('s' || k)::uuid, 1, {status done}, at, at + interval '1 minute',
		jsonb_build_object('listed', '1000', 'new', CASE WHEN i % 2 = 0 AND (i < 1300 OR k % 5 > 0) THEN '5' ELSE '0' END, 'changed', '0', 'postponed', CASE WHEN i % 7 = 0 THEN '9' ELSE '0' END,
			'end', CASE WHEN k % 10 = 7 AND i > 400 THEN 'minimal' ELSE 'complete' END), at, at, '{}'
	FROM (SELECT i, k, '2020-01-01'::timestamptz + i * interval '20 minutes' AS at FROM generate_series(0, 1399) i, generate_series(0, 299) k ORDER BY i, k) x;
RESET session_replication_role`

// Who of hundreds of sources is late is told in one statement, which reads of polls only when
// they ended, from indexes; nor does anything else that the pages and the API ask about
// sources look at more than what it gives accounts for.
func TestHundredsOfSources(t *testing.T) {
	dsn, plain := tracker(t)
	conn, err := plain.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for statement := range strings.SplitSeq(schemas.Numbered(fillSources), ";\n") {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
	}
	// Rows that were inserted while another transaction ran, such as Postgres's own analysis, are
	// looked up in their table until that has ended.
	eventually(t, wait.Patience(), func() string {
		if _, err := conn.Exec(t.Context(), "VACUUM (ANALYZE)"); err != nil {
			return err.Error()
		}
		var left int
		if err := conn.QueryRow(t.Context(), "SELECT relpages - relallvisible FROM pg_class WHERE oid = 'tracker.poll_task'::regclass").Scan(&left); err != nil {
			return err.Error()
		}
		if left > 0 {
			return fmt.Sprintf("%d pages of polls are left that not every transaction may read by index", left)
		}
		return ""
	})
	p := plans.Watcher{Large: []string{"poll_task"}} // the others are empty
	watched := p.Pool(t, dsn)
	site := pagestest.Site(t, plain)
	site.History, site.Advice = nil, nil
	handler, _ := served(t, site, watched, time.Date(2020, 1, 20, 12, 0, 0, 0, time.UTC))
	p.Watch()
	late, err := expect.LateSources(t.Context(), watched)
	if err != nil || len(late) == 0 || len(late) >= 100 {
		t.Errorf("%d sources are late: %v", len(late), err)
	}
	for _, address := range []string{"/", "/sources", "/sources/source-7", "/api/v1/status", "/api/v1/sources", "/api/v1/sources/source-7"} {
		began := time.Now()
		ask(t, handler, address)
		t.Logf("%s: %s", address, time.Since(began).Round(time.Millisecond))
	}
	if _, err := watched.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	p.Check(t, map[string]plans.Allowance{
		"SELECT s.short_name, (SELECT k.finish_time": {Reason: "of each source when 500 of its polls ended is read from an index, and of how many of these left something", Work: 300 * (500 + 500) / 300},
	})
	asked := 0
	for statement, total := range p.Totals() {
		if !strings.HasPrefix(statement, "SELECT s.short_name, (SELECT k.finish_time") {
			continue
		}
		asked = total.Calls
		// An index has the polls of one source beside each other; the polls themselves, which come
		// from all sources in turns, would be a page each.
		if each := total.Pages / float64(total.Calls) / 300; each > 30 {
			t.Errorf("to tell who is late, %.0f pages are looked at for a source", each)
		} else {
			t.Logf("to tell who is late, %.1f pages are looked at for a source, in %s", each, total.Took/time.Duration(total.Calls))
		}
	}
	if asked != 4 {
		t.Errorf("who is late is asked %d times, by the test, two pages and the API", asked)
	}
}
