//go:build !race

package replay

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

// While a replay is chosen, which may take minutes, no transaction is open:
// others are requested, stored and numbered meanwhile, and vacuum is not held
// back. What was chosen by one that fails is forgotten.
func TestNothingIsOpenWhileAReplayIsChosen(t *testing.T) {
	m := newBench(t)
	d := m.inserted("f.zip", 1, "an archive")
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience()) // for when they wait for each other
	defer cancel()
	request := func(next func(n int) (bool, error)) (*control.ReplayRun, int64, error) {
		r := &control.ReplayRun{ID: uuid.NewString(), Phase: schemas.FromUnzip, By: "somebody", Reason: "a test"}
		n := 0
		items, err := m.manager.Request(ctx, r, func() (control.ReplayItem, bool, error) {
			n++
			more, err := next(n)
			return version("f.zip", d.SHA256), more, err
		})
		return r, items, err
	}
	var other *control.ReplayRun
	slow, items, err := request(func(n int) (_ bool, err error) {
		if n == 2500 { // some were sent to Postgres before
			if open := m.Text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL)"); open != "(0)" {
				t.Errorf("open transactions: %s", open)
			}
			other, _, err = request(func(n int) (bool, error) { return n == 1, nil })
		}
		return n <= 2600, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if items != 1 || other.Number != 1 || slow.Number != 2 {
		t.Errorf("%d items; the numbers are %d and %d, want 1 of the one that was stored first and 2", items, other.Number, slow.Number)
	}
	broken := errors.New("broken")
	if _, _, err := request(func(n int) (bool, error) {
		if n > 1500 {
			return false, broken
		}
		return true, nil
	}); !errors.Is(err, broken) {
		t.Errorf("%v, want what was broken", err)
	}
	if got := m.Text("SELECT number, (SELECT count(*) FROM control.replay_item i WHERE i.run = r.id) FROM control.replay r ORDER BY number"); got != "(1,1) (2,1)" {
		t.Errorf("replays and their items: %s", got)
	}
	if r, _, err := request(func(n int) (bool, error) { return n == 1, nil }); err != nil || r.Number != 3 {
		t.Errorf("the next has number %d (%v)", r.Number, err)
	}
}
