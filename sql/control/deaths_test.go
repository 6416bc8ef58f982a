package control_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// A session that ran out before it was ended is a death, for as long as its job
// is outstanding; one that was ended is none.
func TestDeathsOfAJobAreCounted(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 4)
	id, other := job(t, pool, "host:22", 1), uuid.NewString()
	deaths := func(want int) {
		t.Helper()
		if n, err := control.SessionDeaths(t.Context(), pool, id); err != nil || n != want {
			t.Errorf("%d deaths (%v), want %d", n, err, want)
		}
	}
	die := func(job string) {
		t.Helper()
		_, end, err := control.HoldSession(t.Context(), pool, job, "host:22", "member", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		exec(t, pool, "UPDATE control.job_session SET lease_until = clock_timestamp() - interval '1 hour' WHERE job = $1", job)
	}
	deaths(0)
	die(id)
	deaths(0) // nobody has followed
	die(id)
	deaths(1)
	die(other)
	_, end, err := control.HoldSession(t.Context(), pool, uuid.NewString(), "host:22", "member", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	end() // it clears up behind dead members
	if got := text(t, pool, "SELECT count(*) FROM control.job_session"); got != "(1)" {
		t.Errorf("%s sessions are left, want that of the outstanding job", got)
	}
	die(id)
	deaths(2)
	_, end, err = control.HoldSession(t.Context(), pool, id, "host:22", "member", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	deaths(3)
	end()
	deaths(0)
}

// A job that a member works on is not silent, however long it takes.
func TestAJobThatIsWorkedOnIsNotSilent(t *testing.T) {
	pool := database(t)
	source(t, pool, "a", "host:22", 4)
	id := job(t, pool, "host:22", 1)
	silent := func() (n int) {
		inTx(t, pool, func(tx pgx.Tx) error {
			records, err := control.Silent(t.Context(), tx, time.Now().Add(time.Hour), 10)
			for _, r := range records {
				if r.Topic == schemas.DownloadRequestedTopic {
					n++
				}
			}
			return err
		})
		return n
	}
	_, end, err := control.HoldSession(t.Context(), pool, id, "host:22", "member", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if n := silent(); n != 0 {
		t.Errorf("requested %d times again while it is worked on", n)
	}
	end()
	if n := silent(); n != 1 {
		t.Errorf("requested %d times again when nobody works on it, want once", n)
	}
}
