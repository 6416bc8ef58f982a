package sourcestate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Window is the window of the source that is so defined, or the next one; nil where
// it is always open.
func Window(definition string, now time.Time) (opens, closes *time.Time, err error) {
	t, err := config.TimetableOf(definition, 0)
	if err != nil {
		return nil, nil, err
	}
	span, err := t.Window(now)
	if err != nil || span.Always() {
		return nil, nil, err
	}
	return &span.Opens, &span.Closes, nil
}

// TakeOut puts a source into maintenance of which nobody can compute when it is due,
// and tells why. Done is false where it is no longer so defined, or rests already.
func TakeOut(ctx context.Context, tx pgx.Tx, out outbox.Outbox, id, definition, why string, now time.Time) (done bool, err error) {
	revision, err := control.NextCount(ctx, tx, "revision") // it comes before the source's row
	if err != nil {
		return false, err
	}
	was, err := control.LockSource(ctx, tx, id)
	if err != nil || was == nil || was.Definition != definition || was.State != control.SourceAvailable && was.State != control.SourceSuspended {
		return false, err
	}
	is := Rested(*was, control.SourceMaintenance)
	if _, err := control.PutStanding(ctx, tx, is, was.State, time.Time{}, revision); err != nil {
		return false, err
	}
	b := body(is, revision, Cause{Done: "taken out, since when it is due can't be computed: " + why})
	b.Exception = ScheduleInvalid
	return true, out.Append(ctx, tx, event(is, revision, now, b))
}

// EndMaintenance makes the sources available again, and due at once, whose
// maintenance is over.
func EndMaintenance(ctx context.Context, tx pgx.Tx, out outbox.Outbox, now time.Time) error {
	// The counter comes first: until the transaction ends, nobody changes how sources
	// stand, nor when their maintenance ends.
	if _, err := control.NextCount(ctx, tx, "revision"); err != nil {
		return err
	}
	over, err := control.EndedMaintenance(ctx, tx, now)
	if err != nil {
		return err
	}
	for _, s := range over {
		cause := Cause{Done: "its maintenance was until " + s.MaintainedUntil.UTC().Format(time.RFC3339)}
		if _, err := Resume(ctx, tx, out, []string{s.ID}, cause, now); err != nil {
			return err
		}
	}
	return nil
}
