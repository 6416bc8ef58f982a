package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/sql/control"
)

// However many files of a source wait, those to which a person has given a higher
// priority are chosen first, whatever lane they are in, and those with a lower one
// last; who has the source's stands among the others. As many are said to be before
// each of them.
func TestPrioritiesOfFilesComeFirst(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for _, sql := range []string{
		`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision, definition)
			VALUES ('s', 's', 's', 'sftp', '', 1, '1 hour', 'available', 1, '{"priority": 3}')`,
		`INSERT INTO control.file (id, name, action) SELECT md5(i::text)::uuid, i::text, 'add' FROM generate_series(1, 20) i`,
		`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before, priority)
			SELECT CASE WHEN i = 19 THEN '` + replayRun + `' ELSE '` + schemas.LiveRun + `' END::uuid, md5(i::text)::uuid, 'H', 's', 1, 1, 'wanted',
				CASE i WHEN 20 THEN '2027-01-01' ELSE '2026-01-01' END::timestamptz + i * interval '1 second', CASE i WHEN 1 THEN 2 WHEN 2 THEN 0 WHEN 7 THEN 3 WHEN 17 THEN 4 WHEN 18 THEN 9 WHEN 19 THEN 9 WHEN 20 THEN 9 END
			FROM generate_series(1, 20) i`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	inOrder := []string{"18", "19", "17", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "1", "2"}
	named := func(most int) (names []string) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) error {
			files, err := control.WantedFiles(t.Context(), tx, noon, 4*most, 0, map[string]int{"s": most})
			if err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), "SELECT name FROM unnest($1::uuid[]) WITH ORDINALITY u(id, n) JOIN control.file f USING (id) ORDER BY n", files)
			if err != nil {
				return err
			}
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		return names
	}
	for _, most := range []int{1, 5, len(inOrder)} {
		if diff := cmp.Diff(inOrder[:most], named(most)); diff != "" {
			t.Errorf("the first %d (-want +got):\n%s", most, diff)
		}
	}
	for before, name := range inOrder {
		a := &control.Acquisition{Source: "s"}
		if err := pool.QueryRow(t.Context(), "SELECT a.id, a.run::text, a.not_before, a.priority FROM control.acquisition a JOIN control.file f ON f.id = a.file WHERE f.name = $1", name).
			Scan(&a.ID, &a.Run, &a.NotBefore, &a.Priority); err != nil {
			t.Fatal(err)
		}
		q, err := control.QueueOf(t.Context(), pool, a, "s", noon)
		if err != nil {
			t.Fatal(err)
		}
		if q.Before != int64(before) || q.Priority != 3 {
			t.Errorf("before %s: %+v, want %d", name, q, before)
		}
	}
}
