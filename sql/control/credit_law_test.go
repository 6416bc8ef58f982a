package control_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

// Two members that ask for a server's last session at the same time are not
// both given it: the second waits until the first has taken it, and then finds
// none (L9). Whether for a job or for a poll.
func TestTheLastSessionIsGivenOnce(t *testing.T) {
	pool := database(t)
	source(t, pool, "src", "host:22", 1)
	first, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(t.Context()) // after the commit there is nothing to roll back
	credits, err := control.Credits(t.Context(), first, noon)
	if err != nil || credits["host:22"] != 1 {
		t.Fatalf("credit is %v (%v)", credits, err)
	}
	if err := control.AddJob(t.Context(), first, uuid.NewString(), "host:22", "src", 1, noon, schemas.Record{Value: []byte{1}}); err != nil {
		t.Fatal(err)
	}

	session(t, pool, "host:22", "src") // with a poll that is due
	type answer struct {
		given string
		err   error
	}
	answers := make(chan answer, 2)
	go func() {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			answers <- answer{err: err}
			return
		}
		credits, err := control.Credits(t.Context(), tx, noon.Add(-time.Hour)) // before the poll is due
		if err == nil && credits["host:22"] > 0 {
			answers <- answer{given: "a job"}
		} else {
			answers <- answer{err: err}
		}
		_ = tx.Rollback(t.Context())
	}()
	go func() {
		_, ok, err := control.TakePoll(t.Context(), pool, "m", nil, noon, time.Hour)
		if ok {
			answers <- answer{given: "a poll"}
			return
		}
		answers <- answer{err: err}
	}()
	// Both wait, or have answers that they should not have yet. One alone says
	// little: what the other waits for may be held by the first member.
	const waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	for deadline := time.Now().Add(wait.Patience()); text(t, pool, waiting) != "(2)" && len(answers) < 2; {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the session that is being given away")
		}
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := <-answers; a.err != nil || a.given != "" {
			t.Errorf("the last session was given a second time, to %q (%v)", a.given, a.err)
		}
	}
}
