package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Roles look several times a second whether there is anything for them. What they ask
// then is one statement each, which locks and writes nothing: all else follows only
// where that finds something. It may find what another member takes meanwhile, never
// nothing where something was committed before. Each asks for the first by an index: for
// whether there is any, the planner reads the table where it takes little for much.

// pollWaits tells whether a poll may be taken: one is due, or its holder has gone silent.
func pollWaits(ctx context.Context, q pg.Querier, now time.Time) (waits bool, err error) {
	return pg.One(ctx, q, "find polls", pgx.RowTo[bool], `SELECT (SELECT true FROM control.poll
		WHERE state IN ('due','running') AND (state = 'due' AND not_before <= $1 OR state = 'running' AND lease_until < clock_timestamp()) ORDER BY server LIMIT 1) IS NOT NULL`, now)
}

// ToSchedule is what there is for schedule to do.
type ToSchedule struct {
	SetBack    bool // our clock, since the last session was opened
	Maintained bool // maintenances that are over, or ends of such as others have ended
	Windows    bool // that have closed
	Overruns   bool // sources that are due though they are still being polled
	Sources    bool // that are due
}

// FindToSchedule tells what there is for schedule to do.
func FindToSchedule(ctx context.Context, q pg.Querier, now time.Time) (t ToSchedule, err error) {
	err = pg.Row(ctx, q, "find what is to be scheduled", []any{&t.SetBack, &t.Maintained, &t.Windows, &t.Overruns, &t.Sources}, `SELECT `+setBackSQL+`, EXISTS (SELECT FROM control.source s WHERE `+leftMaintenance+` OR `+maintenanceOver+`),
		EXISTS (SELECT FROM control.source s WHERE `+windowPassed+`), EXISTS (SELECT FROM control.source s WHERE `+polledSQL()+`),
		EXISTS (SELECT FROM control.source s JOIN control.centre c ON c.short_name = s.centre AND c.active WHERE `+dueSQL("false")+`)`, now)
	return t, err
}

// ToPlan is what there is for plan to decide about.
type ToPlan struct {
	Waiting bool // looks that were put off
	Retries bool // files that are to be tried again
	Damaged bool // blobs that are to be fetched again, or were
	Wanted  bool // files that no job holds yet
}

// FindToPlan tells what there is for plan to decide about.
func FindToPlan(ctx context.Context, q pg.Querier, now time.Time) (t ToPlan, err error) {
	err = pg.Row(ctx, q, "find what is to be planned", []any{&t.Waiting, &t.Retries, &t.Damaged, &t.Wanted}, `SELECT (SELECT true FROM control.look WHERE class = 'waiting' ORDER BY session, domain LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.acquisition WHERE retry_at <= $1 ORDER BY retry_at LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.blob_damage WHERE `+damageDue+` ORDER BY not_before LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.acquisition WHERE state = 'wanted' ORDER BY source, not_before, id LIMIT 1) IS NOT NULL`, now)
	return t, err
}

// ToRelease is what there is for sequence to release, or to end.
type ToRelease struct {
	Batches    bool // that are not out
	Operations bool // that have no position
	Sessions   bool // that have not ended
	Ended      bool // sessions that wait for the warehouse
}

// FindToRelease tells what there is for sequence to release, or to end.
func FindToRelease(ctx context.Context, q pg.Querier) (t ToRelease, err error) {
	err = pg.Row(ctx, q, "find what is to be released", []any{&t.Batches, &t.Operations, &t.Sessions, &t.Ended}, `SELECT (SELECT true FROM control.batch WHERE released_at IS NULL ORDER BY domain LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.operation WHERE position IS NULL ORDER BY number LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.session WHERE closed_at IS NULL AND end_position IS NULL ORDER BY number LIMIT 1) IS NOT NULL,
		(SELECT true FROM control.session WHERE closed_at IS NULL AND end_position IS NOT NULL ORDER BY number LIMIT 1) IS NOT NULL`)
	return t, err
}
