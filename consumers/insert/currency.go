package insert

import (
	"context"
	"fmt"
)

// settle records withdrawals, applies all that are known to the files
// concerned, and decides anew which claims are current for the keys concerned.
// Both are functions of the set of documents and withdrawals: nothing depends
// on which came first.
func (w *writer) settle(ctx context.Context, loads, withdrawals []*item) error {
	touched := make([]int64, 0, len(loads))
	files := map[string]struct{}{}
	for _, it := range loads {
		files[it.ev.File] = struct{}{}
		if it.load() {
			touched = append(touched, it.ev.Position)
		}
	}
	for _, it := range withdrawals {
		files[it.ev.File] = struct{}{}
	}
	if err := w.withdraw(ctx, withdrawals); err != nil {
		return err
	}
	withdrawn, err := w.fall(ctx, files)
	if err != nil {
		return err
	}
	return w.elect(ctx, touched, withdrawn)
}

// withdraw records what complete versions withdraw.
func (w *writer) withdraw(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	n := len(items)
	positions, files, ranks, runs := make([]int64, n), make([]string, n), make([]string, n), make([]int64, n)
	for i, it := range items {
		positions[i], files[i], ranks[i], runs[i] = it.ev.Position, it.ev.File, rank(it.ev), it.ev.RunNumber
	}
	_, err := w.tx.Exec(ctx, `
		WITH version AS (
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS v(position, file, rank, run_number)
		), ends AS (
			SELECT v.position, d.file, d.entry, max(d.state) AS state, v.rank, v.run_number -- loaded is greater than failed
			FROM version v JOIN warehouse.document d
				ON d.file = v.file AND d.rank = v.rank AND d.run_number = v.run_number AND d.position < v.position
			GROUP BY v.position, d.file, d.entry, v.rank, v.run_number
		)
		INSERT INTO warehouse.withdrawal (position, file, entry, what, rank, run_number)
		SELECT position, file, entry, state, rank, run_number FROM ends
		UNION ALL SELECT position, file, '', 'lacks', rank, run_number FROM version`, positions, files, ranks, runs)
	if err != nil {
		return fmt.Errorf("record withdrawals: %w", err)
	}
	return nil
}

// fall marks the documents of files that a withdrawal holds for, and returns
// those that had rows.
func (w *writer) fall(ctx context.Context, files map[string]struct{}) ([]int64, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	rows, err := w.tx.Query(ctx, `
		WITH fallen AS (
			UPDATE warehouse.document d SET withdrawn = true
			WHERE d.file = ANY($1) AND NOT d.withdrawn AND EXISTS (
				SELECT FROM warehouse.withdrawal w
				WHERE w.file = d.file AND w.entry = d.entry
					AND (w.what = 'loaded' AND (d.rank, d.run_number) < (w.rank, w.run_number)
						OR w.what = 'failed' AND d.rank = w.rank AND d.run_number < w.run_number)
				UNION ALL
				SELECT FROM warehouse.withdrawal w
				WHERE w.file = d.file AND w.entry = '' AND w.what = 'lacks' AND d.rank < w.rank
					AND NOT EXISTS (SELECT FROM warehouse.document e WHERE e.file = w.file AND e.entry = d.entry AND e.rank = w.rank))
			RETURNING d.position, d.state
		) SELECT position FROM fallen WHERE state = 'loaded'`, names)
	if err != nil {
		return nil, fmt.Errorf("apply withdrawals: %w", err)
	}
	fallen, err := positionsOf(rows)
	if err != nil {
		return nil, fmt.Errorf("apply withdrawals: %w", err)
	}
	return fallen, nil
}

// elect decides which claim is current for every key that the given documents
// claim, those just loaded and those just withdrawn: the one with the greatest
// version key among those not withdrawn, unless it says that the key is gone.
// What thereby differs from what the last batch end found is noted: what is
// new and current, and of the rest what turns an odd number of times.
func (w *writer) elect(ctx context.Context, loaded, withdrawn []int64) error {
	if len(loaded)+len(withdrawn) == 0 {
		return nil
	}
	for _, t := range w.in.claims {
		_, err := w.tx.Exec(ctx, fmt.Sprintf(`
			WITH affected AS MATERIALIZED (
				SELECT DISTINCT claim FROM warehouse.%[1]s WHERE position = ANY($1::bigint[] || $2::bigint[])
			), ranked AS MATERIALIZED (
				SELECT t.position, t.ordinal, t.centre, t.is_current, fresh.position IS NOT NULL AS fresh,
					NOT t.tombstone AND NOT d.withdrawn AND row_number() OVER (
						PARTITION BY t.claim ORDER BY d.withdrawn, d.version_key DESC, d.position DESC) = 1 AS wins
				FROM affected a
				JOIN warehouse.%[1]s t ON t.claim = a.claim
				JOIN warehouse.document d ON d.position = t.position
				LEFT JOIN unnest($1::bigint[]) AS fresh(position) ON fresh.position = t.position
			), turned AS (
				UPDATE warehouse.%[1]s t SET is_current = r.wins FROM ranked r
				WHERE r.is_current <> r.wins AND t.position = r.position AND t.ordinal = r.ordinal
				RETURNING r.position, r.ordinal, r.centre, r.fresh
			), back AS (
				DELETE FROM warehouse.%[1]s_changed c USING turned t
				WHERE NOT t.fresh AND c.position = t.position AND c.ordinal = t.ordinal
				RETURNING c.position, c.ordinal
			)
			INSERT INTO warehouse.%[1]s_changed (position, ordinal, centre)
			SELECT position, ordinal, centre FROM ranked WHERE fresh AND wins
			UNION ALL
			SELECT position, ordinal, centre FROM turned t
			WHERE NOT fresh AND NOT EXISTS (SELECT FROM back b WHERE b.position = t.position AND b.ordinal = t.ordinal)`, t.Name), loaded, withdrawn)
		if err != nil {
			return fmt.Errorf("decide what is current in %s: %w", t.Name, err)
		}
	}
	return nil
}
