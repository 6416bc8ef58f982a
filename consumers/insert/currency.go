package insert

import (
	"context"
	"fmt"

	"tributary/internal/pg"
)

// settle records withdrawals, applies all that are known to the files
// concerned, and decides anew which claims are current for the keys concerned.
// Both are functions of the set of documents, withdrawals and unloads: nothing
// depends on which came first. Of documents at whole, whose keys nobody has
// noted, all keys are looked at.
func (w *writer) settle(ctx context.Context, loads, withdrawals []*item, whole []int64) error {
	var loaded []int64
	files := map[string]struct{}{}
	for _, it := range loads {
		files[it.ev.File] = struct{}{}
		if it.load() {
			loaded = append(loaded, it.ev.Position)
		}
	}
	for _, it := range withdrawals {
		files[it.ev.File] = struct{}{}
	}
	if len(loaded) > 0 {
		// They have become current, until the election says otherwise.
		if _, err := w.tx.Exec(ctx, `INSERT INTO warehouse.changed (position, ordinal, centre, record_type)
			SELECT position, ordinal, centre, record_type FROM warehouse.claim WHERE position = ANY($1) AND is_current`, loaded); err != nil {
			return fmt.Errorf("note what is new: %w", err)
		}
	}
	if err := w.withdraw(ctx, withdrawals); err != nil {
		return err
	}
	turned, err := w.turn(ctx, files)
	if err != nil {
		return err
	}
	shared := w.shared
	w.shared = nil
	return w.elect(ctx, shared, append(turned.positions(), whole...))
}

// withdraw records what complete versions withdraw.
func (w *writer) withdraw(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	n := len(items)
	positions, runs := make([]int64, n), make([]int64, n)
	files, ranks, archives := make([]string, n), make([]string, n), make([]string, n)
	for i, it := range items {
		positions[i], files[i], ranks[i], runs[i], archives[i] = it.ev.Position, it.ev.File, rank(it.ev), it.ev.RunNumber, it.ev.Archive
	}
	return pg.Exec(ctx, w.tx, "record withdrawals", `
		WITH version AS (
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[]) AS v(position, file, rank, run_number, archive)
		), ends AS (
			SELECT v.position, v.file, d.entry, max(d.state) AS state, v.rank, v.run_number, v.archive -- loaded is greater than failed
			FROM version v CROSS JOIN LATERAL (
				SELECT d.position, d.entry, d.state FROM warehouse.document d
				WHERE d.file = v.file AND d.rank = v.rank AND d.run_number = v.run_number OFFSET 0) d
			WHERE d.position < v.position -- outside, so that no index of all positions is read for it
			GROUP BY v.position, v.file, d.entry, v.rank, v.run_number, v.archive
		)
		INSERT INTO warehouse.withdrawal (position, file, entry, what, rank, run_number, archive)
		SELECT position, file, entry, state, rank, run_number, archive FROM ends
		UNION ALL SELECT position, file, '', 'lacks', rank, run_number, archive FROM version`, positions, files, ranks, runs, archives)
}

// turned is what withdrawals and unloads have newly changed about documents.
type turned struct {
	fallen, restored []int64 // positions of those with rows
	documents        int     // of all
}

func (t turned) positions() []int64 { return append(t.fallen, t.restored...) }

// turn marks the documents of files that a withdrawal or an unload holds for,
// and unmarks those for which none does any more, since the version that
// recorded it is unloaded.
func (w *writer) turn(ctx context.Context, files map[string]struct{}) (t turned, err error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	var position int64
	var loaded, withdrawn bool
	for err := range pg.Each(ctx, w.tx, "apply withdrawals", []any{&position, &loaded, &withdrawn}, `
		WITH verdict AS MATERIALIZED (
			SELECT d.position, d.withdrawn, EXISTS (
				SELECT FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w) AS falls
			FROM warehouse.document d
			-- Without an unload, what is withdrawn stays so.
			WHERE d.file = ANY($1) AND (NOT d.withdrawn OR EXISTS (SELECT FROM warehouse.unload u WHERE u.file = d.file))
		)
		UPDATE warehouse.document d SET withdrawn = v.falls FROM verdict v
		WHERE v.falls <> v.withdrawn AND d.position = v.position
		RETURNING d.position, d.state = 'loaded', d.withdrawn`, names) {
		if err != nil {
			return t, err
		}
		t.documents++
		switch {
		case !loaded:
		case withdrawn:
			t.fallen = append(t.fallen, position)
		default:
			t.restored = append(t.restored, position)
		}
	}
	return t, nil
}
