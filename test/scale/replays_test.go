package scale

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// replays processes n files again, from several phases, beside what is live and
// in its place, and looks at each as people do.
func (w *world) replays(n int) {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), "SELECT f.id::text AS file, f.current_sha256 AS archive FROM control.file f WHERE f.centre = 'H' AND f.current_sha256 <> '' ORDER BY f.id LIMIT $1", n)
	if err != nil {
		w.t.Fatal(err)
	}
	files, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (i control.ReplayItem, err error) { return i, r.Scan(&i.File, &i.Archive) })
	if err != nil || len(files) == 0 {
		w.t.Fatalf("%d files to be replayed: %v", len(files), err)
	}
	unknown := control.ReplayItem{File: uuid.NewString()}

	w.replay(&control.ReplayRun{Phase: schemas.FromDownload, Rate: 1000}, append(files[:len(files):len(files)], unknown)...)
	w.replay(&control.ReplayRun{Phase: schemas.FromUpload}, files...)
	w.replay(&control.ReplayRun{Phase: schemas.FromData}, control.ReplayItem{Domain: "H"})
	id, err := schemas.NewShadowRun()
	if err != nil {
		w.t.Fatal(err)
	}
	shadow := &control.ReplayRun{ID: id, Phase: schemas.FromUpload, Shadow: "try"}
	w.replay(shadow, files...)
	w.replay(&control.ReplayRun{Phase: schemas.FromUpload, Promotes: shadow.ID}, files...)
	if by, err := control.Promotion(w.t.Context(), w.pool, shadow.ID); err != nil || by == nil {
		w.t.Errorf("the shadow was promoted by %v: %v", by, err)
	}
	if _, err := control.ReplayRuns(w.t.Context(), w.pool, 10); err != nil {
		w.t.Error(err)
	}
	if _, err := control.ReplayWaitsFor(w.t.Context(), w.pool, shadow.ID); err != nil {
		w.t.Error(err)
	}
	if items, err := control.ShadowItems(w.t.Context(), w.pool, shadow.ID, 0, 100); err != nil || len(items) == 0 {
		w.t.Errorf("the shadow has %d items: %v", len(items), err)
	}
	of := control.Outcome{Run: uuid.NewString(), File: files[0].File, Attempt: 1}
	if err := control.EachVerdict(w.t.Context(), w.pool, []control.Outcome{of}, func(control.Outcome, string, []byte) error { return nil }); err != nil {
		w.t.Error(err)
	}
	// What only members of two profiles, or a control that was restored, need.
	err = pg.InTx(w.t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := control.WantAgain(w.t.Context(), tx, []string{files[0].File}, now().Add(-time.Hour), now())
		_, unapplied := control.ReplayUnapplied(w.t.Context(), tx, shadow.ID, 0)
		return errors.Join(err, unapplied, control.HoldReplayRun(w.t.Context(), tx, shadow, "a test"))
	})
	if err != nil {
		w.t.Error(err)
	}
}

// replay requests a replay, stops and resumes it, and waits for its end.
func (w *world) replay(r *control.ReplayRun, items ...control.ReplayItem) {
	w.t.Helper()
	ctx := w.t.Context()
	r.By, r.Reason = "me", "a test"
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
	manager := &replay.Manager{Pool: w.pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: w.codec}, Now: now}
	next := 0
	if _, err := manager.Request(ctx, r, func() (i control.ReplayItem, ok bool, err error) {
		if next == len(items) {
			return i, false, nil
		}
		next++
		return items[next-1], true, nil
	}); err != nil {
		w.t.Fatalf("from %s: %v", r.Phase, err)
	}
	name := fmt.Sprint(r.Number)
	if _, stopped, err := manager.Stop(ctx, name, "me", "a test"); err != nil {
		w.t.Fatal(err)
	} else if stopped {
		if _, _, err := manager.Resume(ctx, name, "me", "a test"); err != nil {
			w.t.Fatal(err)
		}
	}
	eventually(w.t, 5*time.Minute, func() string {
		is, err := control.ReadReplayRun(ctx, w.pool, name)
		counts, cerr := control.CountReplay(ctx, w.pool, r.ID)
		if err = errors.Join(err, cerr); err != nil {
			return err.Error()
		}
		if is.State != control.ReplayDone {
			return fmt.Sprintf("the replay from %s is %s: %+v", r.Phase, is.State, counts)
		}
		return ""
	})
	if _, err := control.ReplayEnds(ctx, w.pool, r.ID); err != nil {
		w.t.Error(err)
	}
}
