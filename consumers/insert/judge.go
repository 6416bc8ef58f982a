package insert

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/sql/warehouse"
)

// judge runs the data checks of a centre: each on the records that changed
// since the last batch end, those that it wants to see again, or all. It
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
	again, err := w.column(ctx, "SELECT test FROM warehouse.recheck WHERE centre = $1", centre)
	if err != nil {
		return nil, fmt.Errorf("checks to be done again: %w", err)
	}
	open, err := w.column(ctx, "SELECT DISTINCT test FROM warehouse.finding_count WHERE centre = $1", centre)
	if err != nil {
		return nil, fmt.Errorf("checks with open findings: %w", err)
	}
	// Candidates are few beside what there is, whatever the planner believes
	// about tables that have just begun to fill: it reads by index.
	if err := w.joins(ctx, false); err != nil {
		return nil, err
	}
	// Checks that look at nothing but what changed share their candidates.
	plain := ""
	found := int64(0)
	for pass := range 2 {
		for _, c := range checks {
			all := slices.Contains(again, c.Name)
			own := all || c.Again != ""
			if own != (pass == 1) {
				continue
			}
			if own || plain != c.On {
				if found, err = w.fill(ctx, centre, c, all); err != nil {
					return nil, err
				}
			}
			plain = c.On
			if own {
				plain = ""
			}
			if found == 0 {
				continue
			}
			changed, err := w.check(ctx, centre, c, slices.Contains(open, c.Name))
			if err != nil {
				return nil, err
			}
			documents = append(documents, changed...)
		}
	}
	if len(again) > 0 {
		if _, err := w.tx.Exec(ctx, "DELETE FROM warehouse.recheck WHERE centre = $1", centre); err != nil {
			return nil, fmt.Errorf("checks to be done again: %w", err)
		}
	}
	return documents, w.joins(ctx, true)
}

// joins lets the planner join by hashing and merging whole tables, or not.
func (w *writer) joins(ctx context.Context, whole bool) error {
	_, err := w.tx.Exec(ctx, fmt.Sprintf("SET LOCAL enable_hashjoin = %[1]t; SET LOCAL enable_mergejoin = %[1]t", whole))
	if err != nil {
		return fmt.Errorf("prepare the checks: %w", err)
	}
	return nil
}

// makeCandidates makes the table that checks find their candidates in, and the
// one for what they find, once per transaction.
func (w *writer) makeCandidates(ctx context.Context) error {
	if w.candidates {
		return nil
	}
	_, err := w.tx.Exec(ctx, `CREATE TEMP TABLE candidate (position bigint NOT NULL, record int NOT NULL, PRIMARY KEY (position, record)) ON COMMIT DROP;
		CREATE TEMP TABLE violation (position bigint NOT NULL, ordinal int NOT NULL, record int NOT NULL, subject text NOT NULL, line int NOT NULL, col int NOT NULL,
			message text NOT NULL, PRIMARY KEY (position, ordinal)) ON COMMIT DROP`)
	if err != nil {
		return fmt.Errorf("make the table of candidates: %w", err)
	}
	w.candidates = true
	return nil
}

// activeChecks are the checks whose reference tables are loaded.
func (w *writer) activeChecks(ctx context.Context) ([]warehouse.Check, error) {
	loaded, err := w.column(ctx, "SELECT name FROM warehouse.reference_load")
	if err != nil {
		return nil, fmt.Errorf("loaded reference tables: %w", err)
	}
	var out []warehouse.Check
	for _, c := range w.in.d.Statements.Checks {
		if !slices.ContainsFunc(c.Needs, func(name string) bool { return !slices.Contains(loaded, name) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

// fill gathers a check's candidates and returns their number.
func (w *writer) fill(ctx context.Context, centre string, c warehouse.Check, all bool) (int64, error) {
	if _, err := w.tx.Exec(ctx, "TRUNCATE pg_temp.candidate"); err != nil {
		return 0, fmt.Errorf("candidates of %s: %w", c.File, err)
	}
	queries := []string{`INSERT INTO pg_temp.candidate SELECT c.position, c.ordinal FROM warehouse.changed c JOIN warehouse.claim k USING (position, ordinal)
		WHERE c.centre = $1 AND c.record_type = $2 AND k.is_current`}
	switch {
	case all:
		queries[0] = "INSERT INTO pg_temp.candidate SELECT position, ordinal FROM warehouse.claim WHERE centre || '/' || record_type = $1::text || '/' || $2::text AND is_current"
	case c.Again != "":
		queries = append(queries, `INSERT INTO pg_temp.candidate SELECT DISTINCT k.position, k.ordinal FROM (
`+c.Again+`
			) a(position, record) JOIN warehouse.claim k ON k.position = a.position AND k.ordinal = a.record
			WHERE k.centre = $1 AND k.record_type = $2 AND k.is_current ON CONFLICT DO NOTHING`)
	}
	found := int64(0)
	for _, sql := range queries {
		tag, err := w.tx.Exec(ctx, sql, centre, c.On)
		if err != nil {
			return 0, fmt.Errorf("candidates of %s: %w", c.File, err)
		}
		found += tag.RowsAffected()
	}
	return found, nil
}

// check judges the candidates: violations open findings, and what is open and
// no longer violated is closed. It returns the documents whose open errors
// changed. open says whether there may be findings to close.
func (w *writer) check(ctx context.Context, centre string, c warehouse.Check, open bool) ([]int64, error) {
	tag, err := w.tx.Exec(ctx, `WITH violation(position, record, ordinal, line, message) AS MATERIALIZED (
`+c.SQL+`
		)
		INSERT INTO pg_temp.violation (position, ordinal, record, subject, line, col, message)
		SELECT DISTINCT ON (v.position, v.ordinal) v.position, v.ordinal, v.record, k.subject,
			coalesce(v.line, k.line), CASE WHEN v.ordinal = v.record THEN k.col ELSE 0 END, coalesce(v.message, '')
		FROM violation v
		JOIN pg_temp.candidate c ON c.position = v.position AND c.record = v.record
		JOIN warehouse.claim k ON k.position = v.position AND k.ordinal = v.record
		WHERE k.centre = $1 AND v.ordinal IS NOT NULL
		ORDER BY v.position, v.ordinal, v.message`, centre)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	if tag.RowsAffected() == 0 && !open {
		return nil, nil
	}
	rows, err := w.tx.Query(ctx, `WITH verdict AS MATERIALIZED (
			SELECT v.*, f.level AS before FROM pg_temp.violation v
			LEFT JOIN warehouse.finding f ON f.position = v.position AND f.ordinal = v.ordinal AND f.test = $3 AND f.open
			WHERE f.position IS NULL OR f.level <> $4 OR f.message <> v.message
		), opened AS (
			INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
			SELECT position, ordinal, record, $3, $1, $2, subject, $4, line, col, message, true FROM verdict
			ON CONFLICT (position, ordinal, test) DO UPDATE SET open = true, level = excluded.level, line = excluded.line, col = excluded.col, message = excluded.message
		), gone AS MATERIALIZED (
			SELECT f.position, f.ordinal FROM pg_temp.candidate c
			JOIN warehouse.finding f ON f.position = c.position AND f.record = c.record AND f.test = $3 AND f.open
			WHERE NOT EXISTS (SELECT FROM pg_temp.violation v WHERE v.position = f.position AND v.ordinal = f.ordinal)
		), closed AS (
			UPDATE warehouse.finding f SET open = false FROM gone g
			WHERE f.position = g.position AND f.ordinal = g.ordinal AND f.test = $3
			RETURNING f.position, f.subject, f.level
		), change AS MATERIALIZED (
			SELECT position, subject, $4::text AS level, 1 AS sign FROM verdict
			UNION ALL SELECT position, subject, before, -1 FROM verdict WHERE before IS NOT NULL
			UNION ALL SELECT position, subject, level, -1 FROM closed
		), counted AS (
			INSERT INTO warehouse.finding_count AS n (centre, record_type, subject, test, level, findings)
			SELECT $1, $2, subject, $3, level, sum(sign) FROM change GROUP BY subject, level HAVING sum(sign) <> 0
			ON CONFLICT (centre, record_type, subject, test, level) DO UPDATE SET findings = n.findings + excluded.findings
			RETURNING findings
		)
		SELECT position, 0::bigint FROM change WHERE level = 'error' GROUP BY position
		UNION ALL SELECT 0, count(*) FILTER (WHERE findings = 0) FROM counted`, centre, c.On, c.Name, c.Level)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	documents, err := w.changedBy(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	if tag.RowsAffected() > 0 {
		if _, err := w.tx.Exec(ctx, "TRUNCATE pg_temp.violation"); err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
	}
	return documents, nil
}

// changedBy reads the documents whose open errors changed, and drops counts
// that have become 0.
func (w *writer) changedBy(ctx context.Context, rows pgx.Rows) (documents []int64, err error) {
	var position, empty, dropped int64
	_, err = pgx.ForEachRow(rows, []any{&position, &dropped}, func() error {
		if position > 0 {
			documents = append(documents, position)
		}
		empty += dropped
		return nil
	})
	if err != nil {
		return nil, err
	}
	return documents, w.dropCounts(ctx, empty)
}

// closeGone closes what checks have found in records that have ceased to be
// current, and what was found by checks that the profile no longer has.
func (w *writer) closeGone(ctx context.Context, centre string) ([]int64, error) {
	var claims, tests []string
	for _, f := range warehouse.ClaimFindings() {
		claims = append(claims, f.Name)
	}
	for _, c := range w.in.d.Statements.Checks {
		tests = append(tests, c.Name)
	}
	rows, err := w.tx.Query(ctx, `WITH gone AS (
			SELECT f.position, f.ordinal, f.test FROM warehouse.changed c
			JOIN warehouse.claim k ON k.position = c.position AND k.ordinal = c.ordinal AND NOT k.is_current
			JOIN warehouse.finding f ON f.position = c.position AND f.record = c.ordinal AND f.open AND f.test <> ALL($2)
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
	if err != nil {
		return nil, fmt.Errorf("close findings: %w", err)
	}
	documents, err := w.changedBy(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("close findings: %w", err)
	}
	return documents, nil
}

func (w *writer) column(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := w.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
