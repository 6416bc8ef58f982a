package notify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// lookForLate is how often it is asked which sources are late.
const lookForLate = 5 * time.Minute

// Overdue is a source from which nothing new has come for much longer than usual.
type Overdue struct {
	Source  string
	Since   time.Time // when something last came
	Message string    // in words
}

// late tells of each source that is late as an event, once for each time that it is:
// so that its targets are told as of anything else, and the history knows.
func (n *Notify) late(ctx context.Context) error {
	all, err := n.deps.Late(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		since := o.Since.UTC().Format(time.RFC3339Nano)
		err := pg.InTx(ctx, n.deps.Control, func(tx pgx.Tx) error {
			now := n.deps.Now()
			centre, err := control.SourceCentre(ctx, tx, o.Source)
			if err != nil || centre == "" { // else it was removed meanwhile
				return err
			}
			fresh, err := control.Tell(ctx, tx, control.ToldLate, o.Source, since, now)
			if err != nil || !fresh {
				return err
			}
			return n.deps.Outbox.Append(ctx, tx, schemas.Message{
				ID: schemas.EventID(Name, schemas.LiveRun, o.Source, "late", since), Topic: schemas.StatusChangedTopic,
				Key: o.Source, Stage: Name, Subject: "source " + o.Source, Time: now,
				Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: centre, Source: o.Source}, Entity: schemas.EntitySource,
					Note: schemas.NoteLate, Message: o.Message},
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
