package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// SourceClosed is the state of an available source, as it is told, that is outside
// of its window. No row has it.
const SourceClosed = "closed"

// open tells of the source of that alias whether its window is open at a moment, a
// parameter. Where nobody moves windows on, it has closed, and nothing begins.
func open(source, at string) string {
	return fmt.Sprintf("(%[1]s.opens IS NULL OR %[1]s.opens <= %[2]s::timestamptz AND %[2]s::timestamptz < %[1]s.closes)", source, at)
}

// Closed tells whether the source is outside of its window.
func (s Source) Closed(now time.Time) bool {
	return s.Opens != nil && s.Closes != nil && (now.Before(*s.Opens) || !now.Before(*s.Closes))
}

// PassedWindows returns the sources whose window has closed, so that the next one is
// to be found.
func PassedWindows(ctx context.Context, q pg.Querier, now time.Time) ([]Standing, error) {
	return standings(ctx, q, windowPassed+" ORDER BY s.id", now)
}

const (
	windowPassed    = "s.closes <= $1 AND s.state <> 'removed'"
	maintenanceOver = "s.state = 'maintenance' AND s.maintained_until <= $1"
	// leftMaintenance is true of a source that has an end of a maintenance which is none.
	leftMaintenance = "s.maintained_until IS NOT NULL AND s.state <> 'maintenance'"
)

// MoveWindow stores the next window of a source whose window has closed; nil: it is
// always open from now on. One that was defined anew meanwhile has its window.
func MoveWindow(ctx context.Context, tx pgx.Tx, id string, opens, closes *time.Time, now time.Time) error {
	return pg.Exec(ctx, tx, "source "+id+": store its window", "UPDATE control.source SET opens = $2, closes = $3 WHERE id = $1 AND closes <= $4", id, opens, closes, now)
}

// EndedMaintenance returns the sources whose maintenance is over, by id. An end that
// is left of a maintenance which an older member ended is forgotten.
func EndedMaintenance(ctx context.Context, q pg.Querier, now time.Time) ([]Standing, error) {
	if _, err := q.Exec(ctx, "UPDATE control.source s SET maintained_until = NULL WHERE "+leftMaintenance); err != nil {
		return nil, fmt.Errorf("forget ends of maintenance: %w", err)
	}
	return standings(ctx, q, maintenanceOver+" ORDER BY s.id", now)
}

// CountUnchanged counts a complete poll that found nothing new, changed or gone. One
// that did begins anew, and a source whose interval had grown is due an interval
// later at the latest. p says whether the source is known to show no checksums now.
func CountUnchanged(ctx context.Context, tx pgx.Tx, p Poll, changed bool, now time.Time) error {
	return pg.Exec(ctx, tx, "source "+p.Source+": count polls without a change", `UPDATE control.source SET unchanged = CASE WHEN $2 THEN 0 ELSE unchanged + 1 END, no_checksums_at = $4,
		next_due = CASE WHEN $2 AND unchanged > 0 AND definition ? 'max_interval' THEN least(next_due, $3::timestamptz + poll_interval) ELSE next_due END WHERE id = $1`,
		p.Source, changed, now, p.NoChecksumsAt)
}
