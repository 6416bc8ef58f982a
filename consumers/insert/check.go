package insert

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tributary/internal/mapping"
	"tributary/sql/warehouse"
)

// violations is the statement that notes what checks find among the candidates.
// All checks of a table are one statement: it is planned once, and reads each
// table of the candidates once.
func violations(m *mapping.Mapping, checks []warehouse.Check) string {
	var s strings.Builder
	s.WriteString(`INSERT INTO pg_temp.violation (test, level, position, ordinal, record, subject, line, col, message)
		SELECT DISTINCT ON (v.test, v.position, v.ordinal) v.test, v.level, v.position, v.ordinal, v.record, k.subject,
			coalesce(v.line, k.line), CASE WHEN v.ordinal = v.record THEN k.col ELSE 0 END, coalesce(v.message, '')
		FROM (`)
	for i, c := range checks {
		if i > 0 {
			s.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&s, `SELECT '%s'::text, '%s'::text, position::bigint, record::int, ordinal::int, line::int, message::text FROM (
%s
			) q(position, record, ordinal, line, message)`, c.Name, c.Level, c.SQL)
	}
	s.WriteString(`) v(test, level, position, record, ordinal, line, message)
		CROSS JOIN LATERAL (
			SELECT k.subject, k.line, k.col FROM warehouse.claim k WHERE k.position = v.position AND k.ordinal = v.record AND k.centre = $1 OFFSET 0) k
		WHERE v.ordinal IS NOT NULL
		ORDER BY v.test, v.position, v.ordinal, v.message`)
	return mapping.With(m.Candidates(checks[0].On), s.String()) + s.String()
}

// check judges the candidates: violations open findings, and what is open and
// no longer violated is closed.
func (j *judgement) check(ctx context.Context, on string, checks []warehouse.Check) error {
	found, err := j.violations(ctx, checks)
	if err != nil {
		return err
	}
	tests := make([]string, len(checks))
	for i, c := range checks {
		tests[i] = c.Name
	}
	documents, err := j.w.changedBy(ctx, "findings of "+checkNames(checks), settleFindings, j.centre, on, tests)
	if err != nil {
		return err
	}
	j.documents = append(j.documents, documents...)
	if found > 0 {
		if _, err := j.w.tx.Exec(ctx, "DELETE FROM pg_temp.violation"); err != nil {
			return fmt.Errorf("findings of %s: %w", checkNames(checks), err)
		}
	}
	return nil
}

// violations gathers what checks find. If they fail together, they are run one
// by one, so that the error names the one that does.
func (j *judgement) violations(ctx context.Context, checks []warehouse.Check) (int64, error) {
	tx := j.w.tx
	if len(checks) > 1 {
		if _, err := tx.Exec(ctx, "SAVEPOINT checks"); err != nil {
			return 0, fmt.Errorf("savepoint: %w", err)
		}
	}
	tag, err := tx.Exec(ctx, violations(j.w.in.deps.Mapping, checks), j.centre)
	if len(checks) == 1 {
		if err != nil {
			err = fmt.Errorf("%s: %w", checks[0].File, err)
		}
		return tag.RowsAffected(), err
	}
	if err == nil {
		_, err = tx.Exec(ctx, "RELEASE SAVEPOINT checks")
		return tag.RowsAffected(), err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	for i := range checks {
		if _, rerr := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT checks"); rerr != nil {
			return 0, errors.Join(err, rerr)
		}
		if _, one := j.violations(ctx, checks[i:i+1]); one != nil {
			return 0, one
		}
	}
	return 0, fmt.Errorf("%s: %w", checkNames(checks), err)
}

// settleFindings makes the findings of the tests $3 about the candidates, of
// the centre $1 and the record table $2, those that are in the table violation.
const settleFindings = `WITH verdict AS MATERIALIZED (
		SELECT v.*, f.level AS before FROM pg_temp.violation v
		LEFT JOIN warehouse.finding f ON f.position = v.position AND f.ordinal = v.ordinal AND f.test = v.test AND f.open
		WHERE f.position IS NULL OR f.level <> v.level OR f.message <> v.message
	), opened AS (
		INSERT INTO warehouse.finding (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
		SELECT position, ordinal, record, test, $1, $2, subject, level, line, col, message, true FROM verdict
		ON CONFLICT (position, ordinal, test) DO UPDATE SET open = true, level = excluded.level, line = excluded.line, col = excluded.col, message = excluded.message
	), gone AS MATERIALIZED (
		SELECT f.position, f.ordinal, f.test FROM (
			SELECT DISTINCT test FROM warehouse.finding_count WHERE centre = $1 AND record_type = $2 AND test = ANY($3)) n
		CROSS JOIN pg_temp.candidate c
		CROSS JOIN LATERAL (
			SELECT f.position, f.ordinal, f.test FROM warehouse.finding f WHERE f.position = c.position AND f.record = c.record AND f.test = n.test AND f.open OFFSET 0) f
		EXCEPT SELECT position, ordinal, test FROM pg_temp.violation
	), closed AS (
		UPDATE warehouse.finding f SET open = false FROM gone g
		WHERE f.position = g.position AND f.ordinal = g.ordinal AND f.test = g.test
		RETURNING f.position, f.subject, f.test, f.level
	), change AS MATERIALIZED (
		SELECT position, subject, test, level, 1 AS sign FROM verdict
		UNION ALL SELECT position, subject, test, before, -1 FROM verdict WHERE before IS NOT NULL
		UNION ALL SELECT position, subject, test, level, -1 FROM closed
	), counted AS (
		INSERT INTO warehouse.finding_count AS n (centre, record_type, subject, test, level, findings)
		SELECT $1, $2, subject, test, level, sum(sign) FROM change GROUP BY subject, test, level HAVING sum(sign) <> 0
		ON CONFLICT (centre, record_type, subject, test, level) DO UPDATE SET findings = n.findings + excluded.findings
		RETURNING findings
	)
	SELECT position, 0::bigint FROM change WHERE level = 'error' GROUP BY position
	UNION ALL SELECT 0, count(*) FILTER (WHERE findings = 0) FROM counted`
