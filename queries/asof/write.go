package asof

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/consumers/tracker"
)

// Tracked is the Reader.Writer that writes events as the tracker does.
func Tracked(schema string, shadows bool) Write {
	w := tracker.NewWriter(schema)
	if shadows {
		w = tracker.NewShadowWriter(schema)
	}
	return func(ctx context.Context, tx pgx.Tx, events []Event) ([]int, error) {
		out := make([]tracker.Event, len(events))
		for i, e := range events {
			out[i] = tracker.Event(e)
		}
		return w.Write(ctx, tx, out)
	}
}
