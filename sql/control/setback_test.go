package control_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// Once it is seen that our clock was set back, nothing that anybody waits for lies farther
// ahead than a lease may: what does tells when something was, or is what people have named.
func TestNothingWaitsForAClockThatWasSetBack(t *testing.T) {
	pool := database(t)
	source(t, pool, "src", "host:22", 2)
	wrong := time.Now().Add(365 * 24 * time.Hour)
	run, file, id, batch := uuid.NewString(), schemas.FileID("add", "a.zip"), uuid.NewString(), uuid.NewString()
	exec(t, pool, "INSERT INTO control.session (id, number, once, opened_at) VALUES ($1, 1000, false, $2)", id, wrong)
	exec(t, pool, "UPDATE control.source SET next_due = $1, opens = $1, closes = $1, maintained_until = $1", wrong)
	exec(t, pool, "INSERT INTO control.poll (id, session, source, server, centre, state, not_before) VALUES ($1, $2, 'src', 'host:22', 'H', 'due', $3)", uuid.NewString(), id, wrong)
	exec(t, pool, "INSERT INTO control.session (id, number, once, opened_at) VALUES ($1, 999, false, $2)", run, wrong)
	exec(t, pool, "INSERT INTO control.poll (id, session, source, server, centre, state, lease_until) VALUES ($1, $2, 'src', 'host:22', 'H', 'running', $3)", uuid.NewString(), run, wrong)
	exec(t, pool, "INSERT INTO control.file (id, name, action, centre) VALUES ($1, 'a.zip', 'add', 'H')", file)
	exec(t, pool, "INSERT INTO control.hosting (source, file, action, name, look, size, listed_at, settled, state) VALUES ('src', $1, 'add', 'a.zip', 1, 1, $2, false, 'present')", file, wrong)
	for look, class := range []string{"", "unsettled", "announced"} {
		if class != "" {
			exec(t, pool, "INSERT INTO control.look (source, file, look, domain, centre, size, listed_at, class, announced_at) VALUES ('src', $1, $2, 'H', 'H', 1, $3, $4, $3)", file, look, wrong, class)
		}
	}
	exec(t, pool, "INSERT INTO control.batch (id, session, domain, opened_at) VALUES ($1, $2, 'H', $3)", batch, id, wrong)
	for _, state := range []string{"wanted", "requested", "ended"} {
		exec(t, pool, "INSERT INTO control.acquisition (run, file, domain, batch, source, look, size, state, not_before, news_at, retry_at) VALUES ($1, $2, 'H', $3, 'src', 1, 1, $4, $5, $5, $5)", schemas.LiveRun, file, batch, state, wrong)
	}
	job := job(t, pool, "host:22", 1)
	exec(t, pool, "UPDATE control.job SET news_at = $1", wrong)
	exec(t, pool, "INSERT INTO control.job_session (job, session, holder, server, source, address, lease_until) VALUES ($1, $1, 'me', 'host:22', 'src', '', $2)", job, wrong)
	exec(t, pool, "INSERT INTO control.done_with_visit (source, visit, holder, lease_until) VALUES ('src', $1, 'me', $2)", run, wrong)
	exec(t, pool, "INSERT INTO control.done_with (source, file, look, rule, state, not_before, at) VALUES ('src', $1, 1, 'delete', 'due', $2, $2)", file, wrong)
	exec(t, pool, "INSERT INTO control.blob_damage (sha256, state, problem, found_by, found_at, not_before, changed_at) VALUES ('ab', 'found', 'p', 'x', $1, $1, $1)", wrong)

	for _, want := range []bool{true, false} {
		inTx(t, pool, func(tx pgx.Tx) error {
			by, err := control.WaitNoLonger(t.Context(), tx, time.Now())
			if (by > 364*24*time.Hour) != want {
				t.Errorf("it is found to be set back by %s, want %v", by, want)
			}
			return err
		})
	}

	// tells are what is no moment that anybody waits for.
	tells := map[string]bool{
		"look.listed_at": true, "done_with.at": true, "blob_damage.found_at": true, "blob_damage.changed_at": true, "source.maintained_until": true,
		"source.opens": true, // of a window that has closed by now, until the next is found
	}
	rows, err := pool.Query(t.Context(), "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'control' AND data_type = 'timestamp with time zone'")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		state := ""
		if c.Table == "acquisition" { // those that do not wait for this moment keep what it was
			state = map[string]string{"not_before": " AND state = 'wanted'", "news_at": " AND state = 'requested'"}[c.Column]
		}
		if c.Table == "look" && c.Column == "announced_at" {
			state = " AND class = 'announced'"
		}
		late := text(t, pool, fmt.Sprintf("SELECT count(*) FROM control.%[1]s WHERE isfinite(%[2]s) AND %[2]s > now() + interval '11 minutes'%[3]s", c.Table, c.Column, state))
		if late != "(0)" && !tells[c.Table+"."+c.Column] {
			t.Errorf("of %s.%s %s lie ahead", c.Table, c.Column, late)
		}
	}
}
