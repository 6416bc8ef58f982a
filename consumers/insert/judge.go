package insert

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/sql/warehouse"
)

// judge runs the data checks of a centre on the records that changed since the
// last batch end, on those that a check wants to see again, or on all. It
// returns the documents whose open errors changed.
func (w *writer) judge(ctx context.Context, centre string) ([]int64, error) {
	if err := w.makeCandidates(ctx); err != nil {
		return nil, err
	}
	documents, err := w.closeGone(ctx, centre)
	if err != nil {
		return nil, err
	}
	checks, err := w.activeChecks(ctx)
	if err != nil {
		return nil, err
	}
	again, err := pg.List(ctx, w.tx, "checks to be done again", pgx.RowTo[string], "SELECT test FROM warehouse.recheck WHERE centre = $1", centre)
	if err != nil {
		return nil, err
	}
	w.all = slices.Contains(again, allChecks)
	// Candidates are few beside what there is, whatever the planner believes
	// about tables that have just begun to fill: it reads by index.
	if err := w.joins(ctx, false); err != nil {
		return nil, err
	}
	j := judgement{w: w, centre: centre}
	for from := 0; from < len(checks); {
		to := from + 1
		for to < len(checks) && checks[to].On == checks[from].On {
			to++
		}
		if err := j.group(ctx, checks[from:to], again); err != nil {
			return nil, err
		}
		from = to
	}
	if len(again) > 0 {
		if _, err := w.tx.Exec(ctx, "DELETE FROM warehouse.recheck WHERE centre = $1", centre); err != nil {
			return nil, fmt.Errorf("checks to be done again: %w", err)
		}
	}
	return append(documents, j.documents...), w.joins(ctx, true)
}

// judgement is the work of checks at one batch end.
type judgement struct {
	w         *writer
	centre    string
	documents []int64 // whose open errors changed
}

// group runs the checks that judge the same record table: all of them at once
// on what changed, then on what some want to see again, those that ask for the
// same together.
func (j *judgement) group(ctx context.Context, checks []warehouse.Check, again []string) error {
	on := checks[0].On
	const changed = `INSERT INTO pg_temp.candidate SELECT c.position, c.ordinal FROM warehouse.changed c
		CROSS JOIN LATERAL (SELECT FROM warehouse.claim k WHERE k.position = c.position AND k.ordinal = c.ordinal AND k.is_current OFFSET 0) k
		WHERE c.centre = $1 AND c.record_type = $2`
	if err := j.run(ctx, on, changed, checks); err != nil {
		return err
	}
	var queries []string // in the checks' order
	asking := map[string][]warehouse.Check{}
	for _, c := range checks {
		var more string
		switch {
		case j.w.all || slices.Contains(again, c.Name):
			more = "INSERT INTO pg_temp.candidate SELECT position, ordinal FROM warehouse.claim WHERE centre || '/' || record_type = $1::text || '/' || $2::text AND is_current"
		case c.Again != "":
			more = `INSERT INTO pg_temp.candidate SELECT DISTINCT k.position, k.ordinal FROM (
` + c.Again + `
				) a(position, record)
				CROSS JOIN LATERAL (
					SELECT k.position, k.ordinal FROM warehouse.claim k
					WHERE k.position = a.position AND k.ordinal = a.record AND k.centre = $1 AND k.record_type = $2 AND k.is_current OFFSET 0) k
				WHERE NOT coalesce((
					SELECT true FROM warehouse.changed c WHERE c.centre = $1 AND c.record_type = $2 AND c.position = k.position AND c.ordinal = k.ordinal), false)`
		default:
			continue
		}
		if asking[more] == nil {
			queries = append(queries, more)
		}
		asking[more] = append(asking[more], c)
	}
	for _, more := range queries {
		if err := j.run(ctx, on, more, asking[more]); err != nil {
			return err
		}
	}
	return nil
}

// run fills the table of candidates and lets checks judge them.
func (j *judgement) run(ctx context.Context, on, fill string, checks []warehouse.Check) error {
	tag, err := j.w.tx.Exec(ctx, fill, j.centre, on)
	if err != nil {
		return fmt.Errorf("candidates of %s: %w", checkNames(checks), err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	if err := j.check(ctx, on, checks); err != nil {
		return err
	}
	return pg.Exec(ctx, j.w.tx, "candidates of "+checkNames(checks), "DELETE FROM pg_temp.candidate")
}

// checkNames names one check's file, or says how many there are.
func checkNames(checks []warehouse.Check) string {
	if len(checks) == 1 {
		return checks[0].File
	}
	return fmt.Sprintf("%d checks of %s", len(checks), checks[0].On)
}

// joins lets the planner join by hashing and merging whole tables, or not.
func (w *writer) joins(ctx context.Context, whole bool) error {
	return pg.Exec(ctx, w.tx, "prepare the checks", fmt.Sprintf("SET LOCAL enable_hashjoin = %[1]t; SET LOCAL enable_mergejoin = %[1]t", whole))
}

// candidatesFull is the size in bytes from when on the tables of candidates,
// which nobody vacuums, are made empty by truncation.
const candidatesFull = 1 << 20

// makeCandidates makes the table that checks find their candidates in, and the
// one for what they find. They stay with the connection and are emptied by
// deletion: whatever else makes them anew also makes Postgres plan all checks
// anew, which takes longer than most checks.
func (w *writer) makeCandidates(ctx context.Context) error {
	if w.candidates {
		return nil
	}
	var full *bool
	err := w.tx.QueryRow(ctx, "SELECT pg_relation_size(to_regclass('pg_temp.candidate')) + pg_relation_size(to_regclass('pg_temp.violation')) > $1", candidatesFull).Scan(&full)
	if err == nil && full == nil {
		_, err = w.tx.Exec(ctx, `CREATE TEMP TABLE candidate (position bigint NOT NULL, record int NOT NULL);
			CREATE TEMP TABLE violation (test text NOT NULL, level text NOT NULL, position bigint NOT NULL, ordinal int NOT NULL, record int NOT NULL,
				subject text NOT NULL, line int NOT NULL, col int NOT NULL, message text NOT NULL)`)
	} else if err == nil && *full {
		_, err = w.tx.Exec(ctx, "TRUNCATE pg_temp.candidate, pg_temp.violation")
	}
	if err != nil {
		return fmt.Errorf("make the table of candidates: %w", err)
	}
	w.candidates = true
	return nil
}

// activeChecks are the checks whose reference tables are loaded.
func (w *writer) activeChecks(ctx context.Context) ([]warehouse.Check, error) {
	loaded, err := pg.List(ctx, w.tx, "loaded reference tables", pgx.RowTo[string], "SELECT name FROM warehouse.reference_load")
	if err != nil {
		return nil, err
	}
	var out []warehouse.Check
	for _, c := range w.in.deps.Statements.Checks {
		if !slices.ContainsFunc(c.Needs, func(name string) bool { return !slices.Contains(loaded, name) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

// changedBy executes a statement that returns the documents whose open errors it
// changed, and drops counts that have become 0.
func (w *writer) changedBy(ctx context.Context, what, sql string, args ...any) (documents []int64, err error) {
	var position, empty, dropped int64
	for err := range pg.Each(ctx, w.tx, what, []any{&position, &dropped}, sql, args...) {
		if err != nil {
			return nil, err
		}
		if position > 0 {
			documents = append(documents, position)
		}
		empty += dropped
	}
	return documents, w.dropCounts(ctx, empty)
}

// closeGone closes what checks have found in records that have ceased to be
// current, and what was found by checks that the profile no longer has.
func (w *writer) closeGone(ctx context.Context, centre string) ([]int64, error) {
	claims, tests := []string{}, []string{} // nil would be NULL, from which nothing differs
	for _, f := range warehouse.ClaimFindings() {
		claims = append(claims, f.Name)
	}
	for _, c := range w.in.deps.Statements.Checks {
		tests = append(tests, c.Name)
	}
	return w.changedBy(ctx, "close findings", `WITH gone AS (
			SELECT f.position, f.ordinal, f.test FROM warehouse.changed c
			CROSS JOIN LATERAL (SELECT FROM warehouse.claim k WHERE k.position = c.position AND k.ordinal = c.ordinal AND NOT k.is_current OFFSET 0) k
			CROSS JOIN LATERAL (
				SELECT f.position, f.ordinal, f.test FROM warehouse.finding f WHERE f.position = c.position AND f.record = c.ordinal AND f.open AND f.test <> ALL($2) OFFSET 0) f
			WHERE c.centre = $1
			UNION
			SELECT f.position, f.ordinal, f.test FROM (
				SELECT DISTINCT test FROM warehouse.finding_count WHERE centre = $1 AND test <> ALL($2) AND test <> ALL($3)) n
			JOIN warehouse.finding f ON f.centre = $1 AND f.test = n.test AND f.open
		), closed AS (
			UPDATE warehouse.finding f SET open = false FROM gone g
			WHERE f.position = g.position AND f.ordinal = g.ordinal AND f.test = g.test
			RETURNING f.position, f.centre, f.record_type, f.subject, f.test, f.level
		), counted AS (
			INSERT INTO warehouse.finding_count AS n (centre, record_type, subject, test, level, findings)
			SELECT centre, record_type, subject, test, level, -count(*) FROM closed GROUP BY centre, record_type, subject, test, level
			ON CONFLICT (centre, record_type, subject, test, level) DO UPDATE SET findings = n.findings + excluded.findings
			RETURNING findings
		)
		SELECT position, 0::bigint FROM closed WHERE level = 'error' GROUP BY position
		UNION ALL SELECT 0, count(*) FILTER (WHERE findings = 0) FROM counted`, centre, claims, append([]string{}, tests...))
}
