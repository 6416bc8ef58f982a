package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

// A source whose files have waited longest, and are more than one turn takes,
// does not keep another source's from being looked at.
func TestWantedFilesOfSourcesTakeTurns(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for _, sql := range []string{
		`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision)
			SELECT s, s, s, 'sftp', '', 1, '1 hour', 'available', 1 FROM unnest(ARRAY['busy','idle']) s`,
		`INSERT INTO control.file (id, name, action) SELECT md5(i::text)::uuid, i::text, 'add' FROM generate_series(1, 60) i`,
		`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before)
			SELECT md5('run')::uuid, md5(i::text)::uuid, 'H', CASE WHEN i <= 50 THEN 'busy' ELSE 'idle' END, 1, 1, 'wanted', '2026-01-01'::timestamptz + i * interval '1 second'
			FROM generate_series(1, 60) i`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		limit int
		room  map[string]int
		want  []string
	}{
		{"a quarter of the limit each", 20, map[string]int{"busy": 100, "idle": 100}, []string{"1", "2", "3", "4", "5", "51", "52", "53", "54", "55"}},
		{"as its server has room", 80, map[string]int{"busy": 3, "idle": 4}, []string{"1", "2", "3", "51", "52", "53", "54"}},
		{"some, where there is no room", 80, map[string]int{"idle": 4}, []string{"1", "2", "51", "52", "53", "54"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTx(t, pool, func(tx pgx.Tx) error {
				files, err := control.WantedFiles(t.Context(), tx, noon, tt.limit, 2, tt.room)
				if err != nil {
					return err
				}
				rows, err := tx.Query(t.Context(), "SELECT name FROM control.file WHERE id = ANY($1::uuid[]) ORDER BY name::int", files)
				if err != nil {
					return err
				}
				names, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					return err
				}
				if diff := cmp.Diff(tt.want, names); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
				return nil
			})
		})
	}
}
