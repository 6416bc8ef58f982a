package control_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// A round is not over while events wait to be published, whatever else has
// ended: what they tell is not known to anybody yet (L1).
func TestTheOutboxIsUnfinished(t *testing.T) {
	pool := database(t)
	codec := schemastest.Codec(t)
	outbox := outbox.Outbox{Schema: control.Schema, Codec: codec}
	inTx(t, pool, func(tx pgx.Tx) error {
		var events []schemas.Message
		for range 3 {
			events = append(events, schemas.Message{ID: schemas.LiveRun, Topic: schemas.StatusChangedTopic, Key: "k", Stage: "test", Time: time.Unix(1, 0),
				Body: &schemas.StatusChanged{Entity: schemas.EntityFile}})
		}
		return outbox.Append(t.Context(), tx, events...)
	})
	u, err := control.Pending(t.Context(), pool)
	if err != nil || u.Outbox != 3 || !u.Any() {
		t.Fatalf("with three events in the outbox: %s (%v)", u, err)
	}
	exec(t, pool, "DELETE FROM control.outbox")
	if u, err = control.Pending(t.Context(), pool); err != nil || u.Any() {
		t.Errorf("with an empty outbox: %s (%v)", u, err)
	}
}
