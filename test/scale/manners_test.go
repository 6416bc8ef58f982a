package scale

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/internal/throttle"
	"tributary/schemas"
	"tributary/sql/control"
)

// manners asks what keeps to the pace of a server and leaves it alone, and who has the
// same bytes.
func manners(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	ctx := t.Context()
	paces := control.Throttles{Pool: pool}
	server, err := paces.Server(ctx, ownSource)
	if err != nil {
		t.Fatal(err)
	}
	bounds := []throttle.Bound{{Name: throttle.ServerName(server.Name), Limit: throttle.Limit{Rate: 1 << 20, Every: time.Microsecond}}}
	for range 2 {
		if _, err := paces.Claim(ctx, bounds); err != nil {
			t.Error(err)
		}
		// Then the database's clock goes back a year.
		if _, err := pool.Exec(ctx, "UPDATE control.throttle SET next_request = next_request + interval '1 year' WHERE name = $1", bounds[0].Name); err != nil {
			t.Error(err)
		}
	}
	if err := paces.Answered(ctx, bounds); err != nil {
		t.Error(err)
	}
	if _, err := paces.Spend(ctx, bounds, 1); err != nil {
		t.Error(err)
	}
	for _, pause := range []time.Duration{time.Microsecond, 0} {
		if err := paces.Heed(ctx, server.Name, pause); err != nil {
			t.Error(err)
		}
	}
	_, waking := control.Waking(ctx, pool)
	_, woken := control.Wake(ctx, pool, ownSource, now())
	if err := errors.Join(waking, woken); err != nil {
		t.Error(err)
	}
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		if err := control.LeaveAlone(ctx, tx, server.Name, now(), 0); err != nil {
			return err
		}
		if err := control.AskAgain(ctx, tx, []string{server.Name}); err != nil {
			return err
		}
		bytes := []control.Bytes{{Centre: "H", Action: "add", SHA256: "none"}}
		if _, err := control.Origins(ctx, tx, bytes); err != nil {
			return err
		}
		return control.OriginsGone(ctx, tx, bytes, now())
	})
	if err != nil {
		t.Error(err)
	}
}

// deletes has a few files of the own source looked at, and taken for deleted there.
func deletes(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	ctx := t.Context()
	const rule, acts = "delete", "delete at its url"
	found, err := control.InsertedAt(ctx, pool, ownSource, rule, 1<<62, schemas.LiveRun, 5)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query(ctx, "SELECT file::text, action, name, look, '' AS sha256, 1 AS documents FROM control.hosting WHERE source = $1 AND state = 'present' ORDER BY file LIMIT 5", ownSource)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 { // no role has inserted anything here
		if found, err = pgx.CollectRows(rows, pgx.RowToStructByName[control.Inserted]); err != nil {
			t.Fatal(err)
		}
	}
	rows.Close()
	err = errors.Join(control.PutDue(ctx, pool, ownSource, rule, found, now()), pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		return control.PutActs(ctx, tx, ownSource, acts, "by ann: a test", 0)
	}))
	if err != nil {
		t.Fatal(err)
	}
	v, ok, err := control.TakeDoneVisit(ctx, pool, "member/1", now(), time.Hour)
	if err != nil || !ok {
		t.Fatalf("a visit is taken: %v, %v", ok, err)
	}
	due, err := control.DueAt(ctx, pool, ownSource, now(), len(found))
	if err != nil || len(due) != len(found) || len(due) == 0 {
		t.Fatalf("%d of %d files are due: %v", len(due), len(found), err)
	}
	for _, d := range due {
		if _, err := control.BeginDone(ctx, pool, v, d, acts, true, now()); err != nil {
			t.Error(err)
		}
		err := pg.InTx(ctx, pool, func(tx pgx.Tx) error {
			return control.EndDone(ctx, tx, v, d, control.DoneOutcome{State: control.DoneDone, Taken: true}, now())
		})
		if err != nil {
			t.Error(err)
		}
	}
	_, err = control.DoneCounts(ctx, pool, ownSource)
	err = errors.Join(err, control.RenewDoneVisit(ctx, pool, v, time.Hour), control.PostponeDone(ctx, pool, ownSource, now()), control.EndDoneVisit(context.WithoutCancel(ctx), pool, v))
	if err != nil {
		t.Error(err)
	}
}
