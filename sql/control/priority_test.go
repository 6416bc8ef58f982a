package control_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

const replayRun = "11111111-1111-5111-9111-111111111111"

// The lane is the same in SQL, where files are chosen and indexed by it, and in Go,
// where jobs are made of them.
func TestLanesAreTheSameInSQL(t *testing.T) {
	t.Parallel()
	pool := database(t)
	lanes := map[int]int{}
	for _, run := range []string{schemas.LiveRun, replayRun} {
		for retries := range int32(2) {
			for _, exception := range []string{"", "too_slow"} {
				for _, message := range []string{"", "because"} {
					a := control.Acquisition{Run: run, Retries: retries, Exception: exception, Message: message}
					var lane int
					if err := pool.QueryRow(t.Context(), "SELECT control.lane($1, $2, $3, $4)", run, retries, exception, message).Scan(&lane); err != nil {
						t.Fatal(err)
					}
					if lanes[lane]++; lane != a.Lane() {
						t.Errorf("%+v: %d in SQL, %d in Go", a, lane, a.Lane())
					}
				}
			}
		}
	}
	if diff := cmp.Diff(map[int]int{0: 1, 1: 7, 2: 8}, lanes); diff != "" {
		t.Errorf("cases of each lane (-want +got):\n%s", diff)
	}
}

// However many replays and retries wait, and for however long, new files are among
// those that are chosen, and first; and so are some that have waited longest.
func TestNewFilesAreWantedFirst(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for _, sql := range []string{
		`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ('s', 's', 's', 'sftp', '', 1, '1 hour', 'available', 1)`,
		`INSERT INTO control.file (id, name, action) SELECT md5(i::text)::uuid, i::text, 'add' FROM generate_series(1, 100) i`,
		`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before, retries, exception)
			SELECT CASE WHEN i <= 50 THEN '` + replayRun + `' ELSE '` + schemas.LiveRun + `' END::uuid, md5(i::text)::uuid, 'H', 's', 1, 1, 'wanted', '2026-01-01'::timestamptz + i * interval '1 second',
				CASE WHEN i BETWEEN 51 AND 60 THEN 1 ELSE 0 END, CASE WHEN i BETWEEN 61 AND 90 THEN 'timed_out' ELSE '' END FROM generate_series(1, 100) i`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	inTx(t, pool, func(tx pgx.Tx) error {
		files, err := control.WantedFiles(t.Context(), tx, noon, 80, 2, map[string]int{"s": 12})
		if err != nil {
			return err
		}
		rows, err := tx.Query(t.Context(), "SELECT name FROM control.file f JOIN unnest($1::uuid[]) u(id) ON u.id = f.id ORDER BY name::int", files)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if diff := cmp.Diff([]string{"1", "2", "51", "52", "91", "92", "93", "94", "95", "96", "97", "98", "99", "100"}, names); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		return err
	})
	for _, sql := range []string{
		`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision)
			SELECT id, 's', CASE id WHEN 'far' THEN 'far' ELSE 's' END, 'sftp', '', 1, '1 hour', 'available', 1 FROM unnest(ARRAY['near', 'idle', 'later', 'far']) id`,
		`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before)
			SELECT '` + schemas.LiveRun + `', md5('1')::uuid, 'H', id, 1, 1, 'wanted', CASE id WHEN 'later' THEN '2027-01-01' ELSE '2026-01-01' END::timestamptz FROM unnest(ARRAY['near', 'later', 'far']) id`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	q, err := control.QueueOf(t.Context(), pool, &control.Acquisition{ID: 1 << 40, Run: schemas.LiveRun, Source: "s", NotBefore: noon.AddDate(-1, 0, 0), Retries: 1}, "s", noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(control.Queue{Before: 10, All: 103, Priority: 5, Rivals: 1}, q); diff != "" {
		t.Errorf("before the first that failed (-want +got):\n%s", diff)
	}
}

// A source's priority is what its definition says, and 5 where that says nothing of
// use; its turns count at the server where they were given.
func TestTurnsOfSources(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for id, definition := range map[string]string{"a": `{"priority": 0}`, "b": `{"priority": 9}`, "c": `{}`, "d": `{"priority": 10}`, "e": `{"priority": -1}`, "f": `{"priority": [1]}`} {
		if _, err := pool.Exec(t.Context(), `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
			VALUES ($1, 'H', 'one:22', 'sftp', '', 1, '1 hour', 'available', 1, $2::text::jsonb)`, id, definition); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (all map[string]*control.Turn) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) (err error) {
			all, err = control.Turns(t.Context(), tx)
			return err
		})
		return all
	}
	all := read()
	priorities := map[string]int{}
	for id, turn := range all {
		priorities[id] = turn.Priority
	}
	if diff := cmp.Diff(map[string]int{"a": 0, "b": 9, "c": 5, "d": 5, "e": 5, "f": 5}, priorities); diff != "" {
		t.Errorf("priorities (-want +got):\n%s", diff)
	}
	for range 2 {
		all["a"].Give(100)
		inTx(t, pool, func(tx pgx.Tx) error { return control.StoreTurns(t.Context(), tx, []*control.Turn{all["a"], all["b"]}) })
		if diff := cmp.Diff(all, read()); diff != "" {
			t.Errorf("turns (-stored +read):\n%s", diff)
		}
	}
	if _, err := pool.Exec(t.Context(), "UPDATE control.source SET server = 'two:22'"); err != nil {
		t.Fatal(err)
	}
	if a := read()["a"]; a.Last != nil || a.Jobs != 0 {
		t.Errorf("at another server: %s", fmt.Sprint(a))
	}
}
