//go:build !race

package sequence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
)

// replayed stores the attempt of a replay of a file whose live one has ended:
// the documents are outstanding.
func (b *bench) replayed(f *file, run string, number int) {
	b.t.Helper()
	b.exec(`INSERT INTO control.replay (id, number, phase, shadow, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at)
		VALUES ($1, $2, 'unzip', CASE WHEN control.is_shadow($1) THEN 'try' || left($1::uuid::text, 8) ELSE '' END, 'somebody', '', $3, 'running', 'somebody', $3, $3)`, run, number, b.now)
	b.exec(`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, attempt, download, unzip, sha256, documents, rank_own, rank_time, rank_ordinal)
		SELECT $1, file, domain, source, look, size, 'extracted', $2, download, unzip, sha256, documents, rank_own, rank_time, rank_ordinal
		FROM control.acquisition WHERE id = $3`, run, number+1, f.acquisition)
	b.exec(`INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job, download, unzip)
		SELECT run, file, attempt, id, source, look, $2, download, unzip FROM control.acquisition WHERE run = $1 AND file = $3`, run, uuid.Nil.String(), f.id)
}

// of is the verdict as a replay's attempt has it.
func of(run string, attempt int32, v *schemas.DocumentValidated) *schemas.DocumentValidated {
	v.Run, v.Attempt = run, attempt
	return v
}

// What replays bring goes into late batches of their own, with their number,
// and neither waits for what is live nor is waited for.
func TestReplaysHaveLateBatchesOfTheirOwn(t *testing.T) {
	b := newBench(t)
	session := b.session()
	f := b.extracted(session, "H", "add", "2026-01-01", 1, 1)
	b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	b.release()
	b.ordered()

	b.now = b.now.Add(time.Minute)
	later := b.session()
	b.extracted(later, "H", "add", "2026-02-01", 1, 1) // its session's batch waits for it
	first, second := uuid.NewString(), uuid.NewString()
	b.replayed(f, first, 1)
	b.read(of(first, 2, f.verdict("specimen", "2026-01-01", 1, schemas.Valid)))
	b.now = b.now.Add(time.Second)
	b.replayed(f, second, 2)
	b.read(of(second, 3, f.verdict("specimen", "2026-01-01", 1, schemas.Valid)))
	late := b.extracted("", "H", "add", "2026-03-01", 1, 1)
	b.read(late.verdict("specimen", "2026-03-01", 1, schemas.Valid))
	if got := b.text("SELECT count(*), count(DISTINCT run) FROM control.batch WHERE session IS NULL"); got != "(3,3)" {
		t.Errorf("late batches and their runs: %s", got)
	}
	b.now = b.now.Add(2 * time.Minute)
	b.release()
	type row struct {
		What, Run string
		Number    int64 // of the run
		Attempt   int32
		Rank      int32
	}
	var got []row
	for _, o := range b.ordered() {
		got = append(got, row{o.What, o.Run, o.RunNumber, o.Attempt, o.RankOrdinal})
	}
	var want []row
	for _, run := range []struct {
		id      string
		number  int64
		attempt int32
	}{{first, 1, 2}, {second, 2, 3}, {schemas.LiveRun, 0, 1}} {
		want = append(want, row{schemas.PositionDocument, run.id, run.number, run.attempt, 1}, row{schemas.PositionVersion, run.id, run.number, run.attempt, 1},
			row{schemas.PositionBatchEnd, run.id, 0, 0, 0})
	}
	byRun := func(rows []row) map[string][]row {
		out := map[string][]row{}
		for _, r := range rows {
			out[r.Run] = append(out[r.Run], r)
		}
		return out
	}
	if diff := cmp.Diff(byRun(want), byRun(got)); diff != "" {
		t.Error(diff)
	}
	if got := b.text("SELECT released_at IS NULL FROM control.batch WHERE session = $1", later); got != "(t)" {
		t.Error("the session's batch did not wait for its file")
	}
}

// A check of a centre is ordered with the end of a batch of it alone behind, and
// all that is told of it is of the replay that asked for it.
func TestChecksAreOrdered(t *testing.T) {
	b := newBench(t)
	for _, d := range []string{"H", "Ics"} {
		f := b.extracted(b.session(), d, "add", "2026-01-01", 1, 1)
		b.read(f.verdict("specimen", "2026-01-01", 1, schemas.Valid))
	}
	b.release()
	b.ordered()
	run := uuid.NewString()
	if _, err := control.RequestCheck(t.Context(), b.Pool, run, "H", "somebody", "new checks", b.now); err != nil {
		t.Fatal(err)
	}
	b.release()
	for _, m := range outboxtest.Events(t, b.Pool, control.Schema, b.deps.Outbox.Codec) {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityBatch && e.Number == 2 && e.Run != run {
			t.Errorf("the batch is told to be of the run %s", e.Run)
		}
	}
	out := b.ordered()
	for _, o := range out {
		if o.Run != run {
			t.Errorf("%s is of the run %s, not of that which asked for it", o.What, o.Run)
		}
	}
	if len(out) != 2 || out[0].What != schemas.PositionCheck || out[0].Domain != "H" || out[1].What != schemas.PositionBatchEnd || out[1].Domain != "H" || out[1].Batch != out[0].Batch {
		t.Errorf("ordered are %+v", out)
	}
}
