package e2e

import (
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// sessionsTell checks that each session that is closed has the status of its first
// task that failed, that the tasks of
// fetching and of comparing checksums count every attempt that came to them, and that
// every exception is described.
func (s *system) sessionsTell() {
	s.t.Helper()
	type lie struct {
		Number        int64
		Status, First int
	}
	for _, l := range sql[lie](s, "tracker", `SELECT number, status, first FROM (SELECT s.number, s.status,
			coalesce((SELECT min(t.phase_id) FROM tracker.session_task t WHERE t.session_id = s.id AND t.status = 1), 0) AS first
		FROM tracker.crawling_session s WHERE s.status IS NOT NULL) c WHERE status <> first`) {
		s.t.Errorf("session %d has the status %d, and its first task that failed is %d", l.Number, l.Status, l.First)
	}
	type exception struct{ Name string }
	for _, x := range sql[exception](s, "tracker", "SELECT short_name AS name FROM tracker.an_exception WHERE description IS NULL OR description = ''") {
		s.t.Errorf("it is not said what %s means", x.Name)
	}
	type task struct {
		Phase string
		N     int64
	}
	const arrived = `SELECT p.short_name AS phase, count(*) AS n FROM tracker.zip_download d
		JOIN tracker.phase p ON p.id BETWEEN {phase download} AND {phase zip_md5} AND d.phase_id >= p.id WHERE d.session_id IS NOT NULL GROUP BY 1 ORDER BY 1`
	const told = `SELECT phase, sum(split_part(comment, ' ', 1)::bigint)::bigint AS n FROM tracker.session_task WHERE phase_id BETWEEN {phase download} AND {phase zip_md5} GROUP BY 1 ORDER BY 1`
	if diff := gocmp.Diff(sql[task](s, "tracker", schemas.Numbered(arrived)), sql[task](s, "tracker", schemas.Numbered(told))); diff != "" {
		s.t.Errorf("attempts by phase (- there are, + the sessions' tasks tell):\n%s", diff)
	}
}
