package scale

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/producers/schedule"
	"tributary/schemas"
	"tributary/sql/control"
)

// rest does what only sources need that rest, are overrun, or show more files than
// a poll takes up.
func rest(t *testing.T, pool *pgxpool.Pool, s *schedule.Scheduler, listed int) {
	t.Helper()
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		ids, err := control.Overdue(t.Context(), tx, now())
		if err != nil {
			return err
		}
		if _, err := control.CountOverruns(t.Context(), tx, append(ids, ownSource), now(), 1); err != nil {
			return err
		}
		all, err := control.Standings(t.Context(), tx, ownSource)
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%d sources: %w", len(all), err)
		}
		if err := control.MoveWindow(t.Context(), tx, ownSource, nil, nil, now()); err != nil {
			return err
		}
		if _, err := control.EndedMaintenance(t.Context(), tx, now()); err != nil {
			return err
		}
		if _, err := control.FindToSchedule(t.Context(), tx, now()); err != nil {
			return err
		}
		if s, err := control.CloseEmpty(t.Context(), tx, control.Poll{Session: schemas.LiveRun, Source: ownSource}, now()); err != nil || s != nil {
			return fmt.Errorf("a session that there never was is closed: %v: %w", s, err)
		}
		if _, err := control.TakenOn(t.Context(), tx, ownSource, "2026-01-02"); err != nil {
			return err
		}
		_, err = control.PutStanding(t.Context(), tx, all[0], all[0].State, time.Time{}, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	setBack(t, pool)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := control.CreateListing(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var entries []control.Entry
	for _, e := range zips(listed, 99) {
		entries = append(entries, control.Entry{File: schemas.FileID("add", e.Name), Action: "add", Name: e.Name, Size: e.Size, ModTime: &e.ModTime})
	}
	if _, err := control.StoreListing(t.Context(), conn, entries); err != nil {
		t.Fatal(err)
	}
	if by, err := control.Differences(t.Context(), conn, ownSource, now(), 0); err != nil || len(by) == 0 {
		t.Errorf("the listing differs from what is known by %v: %v", by, err)
	}
	if _, err := control.MoveTimes(t.Context(), conn, ownSource, time.Hour, 0); err != nil {
		t.Error(err)
	}
	if err := control.SameTimes(t.Context(), conn, ownSource, 0); err != nil {
		t.Error(err)
	}
	waiting, err := control.ChooseTurn(t.Context(), conn, ownSource, 1, nil, control.Bounds{PollFiles: control.Bound{Most: int64(listed / 2)}, DayBytes: control.Bound{Most: 1 << 60}})
	if err != nil || waiting.Entries == 0 {
		t.Errorf("%+v of %d entries wait for their turn, though no more than half of them have it: %v", waiting, listed, err)
	}
	if _, err := control.StopTaking(t.Context(), conn, control.Poll{ID: schemas.LiveRun}, waiting); !errors.Is(err, pgx.ErrNoRows) {
		t.Error(err)
	}
	of := control.Leaving{Source: ownSource, Limit: 1}
	if older, err := control.LeaveOlder(t.Context(), conn, of, true); err != nil || len(older) != 0 {
		t.Errorf("%d entries are not the latest, of a listing whose names nobody has read: %v", len(older), err)
	}
	if undone, err := control.LeaveUnready(t.Context(), conn, of, nil, true, "", ".done"); err != nil || len(undone) != 1 {
		t.Errorf("%d entries wait for their done-files: %v", len(undone), err)
	}
	if unfit, err := control.LeaveUnfit(t.Context(), conn, of, control.Fit{MaxSize: 1}); err != nil || len(unfit) > 1 {
		t.Errorf("%d entries are too large: %v", len(unfit), err)
	}
	if _, err := control.ListShown(t.Context(), conn, ownSource); err != nil {
		t.Error(err)
	}
	if err := control.Unlist(t.Context(), conn, []string{entries[0].File}); err != nil {
		t.Error(err)
	}
	if err := control.EmptyListing(t.Context(), conn, listed); err != nil {
		t.Error(err)
	}
}

// setBack does what is done once after our clock was set back, and takes it back.
func setBack(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	tried := errors.New("only tried")
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		by, err := control.WaitNoLonger(t.Context(), tx, now().AddDate(-1, 0, 0))
		if err != nil {
			return err
		}
		if by < 24*time.Hour {
			t.Errorf("our clock is found to be set back by %s", by)
		}
		return tried
	})
	if !errors.Is(err, tried) {
		t.Fatal(err)
	}
}
