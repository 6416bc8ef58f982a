package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/clock"
	"tributary/internal/pg"
)

// The states of a source.
const (
	SourceAvailable   = "available"
	SourceMaintenance = "maintenance"
	SourceSuspended   = "suspended"
	SourceRemoved     = "removed"
)

// Standing is how a source stands: its definition as stored, and what its polls
// have made of it.
type Standing struct {
	Source
	Failures     int        // polls in a row that were not complete
	FailedPolls  int        // polls in a row that showed nothing at all
	FailingSince *time.Time // when the first of them ended
	// FailedClasses counts them by the class of their errors, while there are any.
	FailedClasses map[string]int
	SuspendedAt   *time.Time
	SuspendedWhy  string
	Overruns      int64 // polls that had not ended when the next was due
	// DeclaredState is what the configuration said of its state last.
	DeclaredState string
	Polled        bool         // a poll of it is due or running
	Checked       *SourceCheck // the last check by a poll; nil before any
	Passed        bool         // it is defined as it was when a check passed

	Unchanged       int        // complete polls in a row that found no change
	Due             *time.Time // when it is polled next; nil: at once, or on demand
	OnDemand        bool       // a poll was complete, as once is enough: it is polled next when a person asks
	MaintainedUntil *time.Time // when its maintenance ends; nil: when a person says so
	Directories     Directories
	Clock           clock.Clock // of its server
	Twins           Twins       // among the names that it showed last
	// Acts is what a person has ordered to be done there with files that are inserted,
	// and at which url; empty: nothing.
	Acts     string
	ActsSaid string // who has, and why
}

// standingColumns are the columns of control.source s by the names of the fields.
const standingColumns = `s.id, s.centre, s.server, s.address, s.protocol, s.url, s.accesskey, s.state, s.max_sessions, s.poll_interval AS interval,
	s.failures, s.failed_polls, s.failing_since, s.failed_classes, s.suspended_at, s.suspended_why, s.overruns, s.hosts, s.declared_state, s.definition::text AS definition, s.declared, s.checked, s.passed = md5(s.definition::text) AS passed,
	s.opens, s.closes, s.unchanged, CASE WHEN isfinite(s.next_due) THEN s.next_due END AS due, s.next_due = 'infinity' AS on_demand, s.maintained_until, s.directories, s.clock, s.twins, s.acts, s.acts_said,
	EXISTS (SELECT FROM control.poll p WHERE p.source = s.id AND p.state IN ('due','running')) AS polled`

// Standings returns how the named sources stand, by id; all of them where none
// is named. Those that are not known are left out.
func Standings(ctx context.Context, q pg.Querier, ids ...string) ([]Standing, error) {
	return standings(ctx, q, "cardinality($1::text[]) = 0 OR s.id = ANY($1) ORDER BY s.id", append([]string{}, ids...))
}

// Undeclared returns how the sources stand that people have defined, by id, and
// locks them.
func Undeclared(ctx context.Context, tx pgx.Tx) ([]Standing, error) {
	return standings(ctx, tx, "NOT s.declared AND s.state <> $1 ORDER BY s.id FOR UPDATE OF s", SourceRemoved)
}

// LockSources locks all sources, in the order in which whoever changes several locks
// them: two that change the same never wait for each other.
func LockSources(ctx context.Context, tx pgx.Tx) error {
	return pg.Exec(ctx, tx, "lock all sources", "SELECT FROM control.source ORDER BY id FOR UPDATE")
}

// LockSource returns how a source stands, and locks it; nil if there never was one.
func LockSource(ctx context.Context, tx pgx.Tx, id string) (*Standing, error) {
	all, err := standings(ctx, tx, "s.id = $1 FOR UPDATE OF s", id)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func standings(ctx context.Context, q pg.Querier, which string, arg any) ([]Standing, error) {
	return pg.List(ctx, q, "read how sources stand", pgx.RowToStructByName[Standing], "SELECT "+standingColumns+" FROM control.source s WHERE "+which, arg)
}

// PutStanding stores what a poll or a person has made of a source that is still
// in the given state, and when it is due at the earliest. The revision is stored
// where it is not 0. Stored is false where the source is in another state by now.
func PutStanding(ctx context.Context, tx pgx.Tx, s Standing, was string, due time.Time, revision int64) (stored bool, err error) {
	n, err := pg.Changed(ctx, tx, "source "+s.ID+": store how it stands", `UPDATE control.source SET state=$3, failed_polls=$4, suspended_at=$5, suspended_why=$6,
		next_due=greatest(next_due, $7), revision=CASE WHEN $8 > 0 THEN $8 ELSE revision END, failing_since=$9, maintained_until=$10, failed_classes=coalesce($11, '{}'::jsonb)
		WHERE id=$1 AND state=$2`, s.ID, was, s.State, s.FailedPolls, s.SuspendedAt, pg.Text(s.SuspendedWhy), due, revision, s.FailingSince, s.MaintainedUntil, s.FailedClasses)
	return n == 1, err
}

// polledSQL are the sources that are due, in their window, though a poll of them has
// not ended. One that is polled once is not due again while that goes on.
func polledSQL() string {
	return `s.state IN ('available','suspended') AND s.next_due <= $1 AND s.definition->>'cron' IS DISTINCT FROM '@once' AND ` + open("s", "$1") + `
	AND EXISTS (SELECT FROM control.poll p WHERE p.source = s.id AND p.state IN ('due','running'))`
}

// Overdue returns the sources that are due though a poll of them has not ended,
// by id.
func Overdue(ctx context.Context, q pg.Querier, now time.Time) ([]string, error) {
	return pg.List(ctx, q, "find overruns", pgx.RowTo[string], "SELECT s.id FROM control.source s WHERE "+polledSQL()+" ORDER BY s.id", now)
}

// CountOverruns counts an overrun of each of the named sources that is still due
// while it is polled, and returns how they stand: each must be made due again later.
func CountOverruns(ctx context.Context, tx pgx.Tx, ids []string, now time.Time, revision int64) ([]Standing, error) {
	return pg.List(ctx, tx, "count overruns", pgx.RowToStructByName[Standing], `WITH l AS (SELECT id FROM control.source WHERE id = ANY($2) ORDER BY id FOR UPDATE)
		UPDATE control.source s SET overruns = s.overruns + 1, revision = $3 FROM l
		WHERE s.id = l.id AND `+polledSQL()+" RETURNING "+standingColumns, now, ids, revision)
}
