package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// MostPriority is the priority that comes first; 0 is the one that comes last.
const MostPriority = 9

// Turn is where a source stands among those of its server, which take turns at its
// sessions. The clock of a server is the greatest Last of its sources.
type Turn struct {
	Source, Server string
	Priority       int    // of the source, or of the file that it gives first
	Last           *int64 // the turn in which it was given its last job; nil: none
	Jobs           int64  // that it was given
}

// whole is what weights share: each of them, 1 to 10, divides it.
const whole = 2520

// Due is the turn in which the source may be given its next job, on the given clock
// of its server: the later the lower its priority, since sources share sessions by
// priority + 1. Who has been idle is due at once, and is owed nothing.
func (t *Turn) Due(clock int64) int64 {
	if t.Last == nil {
		return clock + 1
	}
	return max(clock+1, *t.Last+whole/int64(t.Priority+1))
}

// Give notes that the source is given a job, and returns the clock of its server
// then.
func (t *Turn) Give(clock int64) int64 {
	due := t.Due(clock)
	t.Last = &due
	t.Jobs++
	return due
}

// Lane says in which order a source's wanted files are requested, as the function of
// that name in SQL: 0 for what was never tried, 1 for what has failed before, 2 for
// replays.
func (a *Acquisition) Lane() int {
	switch {
	case a.Run != schemas.LiveRun:
		return 2
	case a.Retries > 0 || a.Exception != "" || a.Message != "":
		return 1
	}
	return 0
}

// laneOf is the lane of acquisition a.
const laneOf = `control.lane(a.run, a.retries, a.exception, a.message)`

// priorityOf is the priority of source s, as it is defined; 5 where it says nothing.
const priorityOf = `CASE WHEN s.definition->>'priority' ~ '^[0-9]$' THEN (s.definition->>'priority')::int ELSE 5 END`

// Turns returns where all sources stand. The caller has locked the credit.
func Turns(ctx context.Context, tx pgx.Tx) (map[string]*Turn, error) {
	all, err := pg.List(ctx, tx, "read turns of sources", pgx.RowToAddrOfStructByName[Turn], `SELECT s.id AS source, s.server, `+priorityOf+` AS priority, t.turn AS last, coalesce(t.jobs, 0) AS jobs
		FROM control.source s LEFT JOIN control.turn t ON t.source = s.id AND t.server = s.server`)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Turn, len(all))
	for _, t := range all {
		out[t.Source] = t
	}
	return out, nil
}

// StoreTurns stores where sources stand that were given jobs, each once. The caller
// has locked the credit.
func StoreTurns(ctx context.Context, tx pgx.Tx, given []*Turn) error {
	type row struct {
		Source string `json:"source"`
		Server string `json:"server"`
		Turn   int64  `json:"turn"`
		Jobs   int64  `json:"jobs"`
	}
	var rows []row
	for _, t := range given {
		if t.Last != nil {
			rows = append(rows, row{t.Source, t.Server, *t.Last, t.Jobs})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return pg.Exec(ctx, tx, "store turns of sources", `INSERT INTO control.turn (source, server, turn, jobs) SELECT r.source, r.server, r.turn, r.jobs
			FROM jsonb_to_recordset($1) AS r(source text, server text, turn bigint, jobs bigint)
		ON CONFLICT (source) DO UPDATE SET server = excluded.server, turn = excluded.turn, jobs = excluded.jobs`, pg.JSON(rows))
}
