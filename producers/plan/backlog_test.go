//go:build !race

package plan_test

import (
	"fmt"
	"testing"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
)

// backlog has more files wanted from the centre's own source than one turn looks at.
const backlog = `WITH f AS (INSERT INTO control.file (id, name, action, centre, file_date, file_inc)
		SELECT md5('f' || i)::uuid, 'H.2020-01-01.' || i || '.impc.zip', 'add', 'H', '2020-01-01', i FROM generate_series(1, 5000) i RETURNING id, name),
	h AS (INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) SELECT 'own', id, 'add', name, 1, 100, '2020-01-02', true, 'present' FROM f)
	INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before) SELECT '00000000-0000-5000-8000-000000000000', id, 'H', 'own', 1, 100, 'wanted', '2020-01-02' FROM f`

// The backlog of one source delays another source's single file by no more than one
// job: at another server by none, at the same one until the first of the jobs under way
// ends, whatever its priority and whoever plans.
func TestABacklogDelaysASingleFileByOneJob(t *testing.T) {
	for name, c := range map[string]struct {
		server   string
		sessions int
		jobs     int // of the backlog that end before the file is requested
	}{
		"at another server":              {"other:22", 1, 0},
		"at the same server":             {"own:22", 1, 1},
		"at the same, of three sessions": {"own:22", 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := plantest.New(t)
			p.EndPolls()
			p.Exec(backlog)
			p.Exec("UPDATE control.source SET server = $1, max_sessions = $2", "own:22", c.sessions)
			p.Exec("UPDATE control.source SET server = $1, definition = '{\"id\": \"other\", \"priority\": 0}' WHERE id = 'other'", c.server)
			under := p.Requested()
			if len(under) != c.sessions {
				t.Fatalf("%d jobs of the backlog", len(under))
			}
			p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "one.zip", 1, 10))
			for ended := 0; ; ended++ {
				p.Planner = p.Member(p.Pool) // another member goes on
				for _, j := range p.Requested() {
					if j.Source == plantest.Other {
						if ended != c.jobs {
							t.Errorf("it is requested after %d jobs of the backlog have ended, not %d", ended, c.jobs)
						}
						return
					}
					under = append(under, j)
				}
				if ended > c.jobs {
					t.Fatalf("it is not requested after %d jobs of the backlog have ended", ended)
				}
				var outcomes []any
				for i, f := range under[0].Files {
					outcomes = append(outcomes, plantest.FetchedOf(under[0], f, fmt.Sprintf("%s/%d", under[0].Job, i)))
				}
				p.Read(schemas.DownloadFinishedTopic, outcomes...)
				under = under[1:]
			}
		})
	}
}
