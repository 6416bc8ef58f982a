package insert

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/sql/warehouse"
)

// electSQL decides which claim is current for every key that is among $1, or
// claimed by the documents $2: the one with the greatest version key among
// those not withdrawn, unless it says that the key is gone. A claim that turns
// is noted as changed, and one that turns back is not.
//
// By the way it compares each claim with the one before it of another document,
// from which the findings $3 to $6 follow. Claims of one document lie next to
// each other in the order of version keys, since these begin with the names of
// file and entry and what these say; begins is where they begin.
//
// A finding that doesn't follow any more is deleted, not closed: whether it
// followed for a while depends on how positions were cut into transactions, and
// a row that told so would differ from one rebuild to the next.
const electSQL = `
WITH affected AS MATERIALIZED (
	SELECT unnest($1::uuid[]) AS claim
	UNION SELECT claim FROM warehouse.claim WHERE position = ANY($2::bigint[])
), ordered AS (
	SELECT c.position, c.ordinal, c.claim, c.centre, c.record_type, c.subject, c.line, c.col, c.natural_key, c.fingerprint, c.is_current, c.tombstone,
		d.withdrawn, d.action, d.version_key, row_number() OVER one AS n,
		NOT d.withdrawn AND NOT c.tombstone AND lead(c.position) OVER one IS NULL AS wins,
		lag(d.document) OVER one IS DISTINCT FROM d.document AS begins
	FROM affected a
	JOIN warehouse.claim c ON c.claim = a.claim
	JOIN warehouse.document d ON d.position = c.position
	WINDOW one AS (PARTITION BY c.claim, d.withdrawn ORDER BY d.version_key, c.position)
), grouped AS (
	SELECT o.*, max(n) FILTER (WHERE begins) OVER (PARTITION BY claim, withdrawn ORDER BY version_key, position) AS begin FROM ordered o
), compared AS (
	SELECT g.*, coalesce(NOT nth_value(tombstone, nullif(begin - 1, 0)::int) OVER one, false) AS known,
		nth_value(fingerprint, nullif(begin - 1, 0)::int) OVER one AS before
	FROM grouped g
	WINDOW one AS (PARTITION BY claim, withdrawn ORDER BY version_key, position)
), verdict AS MATERIALIZED (
	SELECT position, ordinal, centre, record_type, subject, line, col, natural_key, is_current, wins,
		CASE WHEN withdrawn THEN NULL
			WHEN action = 'add' AND known AND before = fingerprint THEN $3
			WHEN action = 'add' AND known THEN $4
			WHEN action = 'edit' AND NOT known THEN $5
			WHEN action = 'delete' AND NOT known THEN $6 END AS test
	FROM compared
), turned AS (
	UPDATE warehouse.claim c SET is_current = v.wins FROM verdict v
	WHERE v.is_current <> v.wins AND c.position = v.position AND c.ordinal = v.ordinal
	RETURNING v.position, v.ordinal, v.centre, v.record_type
), back AS (
	DELETE FROM warehouse.changed c USING turned t
	WHERE c.centre = t.centre AND c.record_type = t.record_type AND c.position = t.position AND c.ordinal = t.ordinal
	RETURNING c.position, c.ordinal
), noted AS (
	INSERT INTO warehouse.changed (position, ordinal, centre, record_type)
	SELECT position, ordinal, centre, record_type FROM turned t
	WHERE NOT EXISTS (SELECT FROM back b WHERE b.position = t.position AND b.ordinal = t.ordinal)
), closed AS (
	DELETE FROM warehouse.finding f USING verdict v
	WHERE f.position = v.position AND f.ordinal = v.ordinal AND f.test IN ($3, $4, $5, $6) AND f.open AND f.test IS DISTINCT FROM v.test
	RETURNING f.centre, f.record_type, f.subject, f.test, f.level
), opened AS (
	INSERT INTO warehouse.finding AS f (position, ordinal, record, test, centre, record_type, subject, level, line, col, message, open)
	SELECT position, ordinal, v.ordinal, test, centre, record_type, subject,
		CASE test WHEN $3 THEN 'info' ELSE 'warn' END, line, col,
		format('%s %s %s', replace(record_type, '_', ' '), left(array_to_string(natural_key, ' ', '-'), 200), CASE test
			WHEN $3 THEN 'was known already, with the same content'
			WHEN $4 THEN 'was known already, with other content: send changes as edits'
			WHEN $5 THEN 'is edited, but was not known: the edit is taken as an addition'
			ELSE 'is deleted, but was not known' END), true
	FROM verdict v
	WHERE test IS NOT NULL AND NOT EXISTS (
		SELECT FROM warehouse.finding f WHERE f.position = v.position AND f.ordinal = v.ordinal AND f.test = v.test AND f.open)
	ON CONFLICT (position, ordinal, test) DO UPDATE SET open = true
	RETURNING f.centre, f.record_type, f.subject, f.test, f.level
), change AS (
	SELECT o.*, 1 AS sign FROM opened o UNION ALL SELECT c.*, -1 FROM closed c
)` + countSQL

// countSQL ends a statement that has a table change, of findings opened and
// closed, by bringing their numbers up to date. It returns the number that
// have become 0.
const countSQL = `, counted AS (
	INSERT INTO warehouse.finding_count AS n (centre, record_type, subject, test, level, findings)
	SELECT centre, record_type, subject, test, level, sum(sign) FROM change
	GROUP BY centre, record_type, subject, test, level HAVING sum(sign) <> 0
	ON CONFLICT (centre, record_type, subject, test, level) DO UPDATE SET findings = n.findings + excluded.findings
	RETURNING findings
)
SELECT count(*) FILTER (WHERE findings = 0) FROM counted`

// elect decides anew which claims are current.
func (w *writer) elect(ctx context.Context, claims []mapping.ID, positions []int64) error {
	if len(claims)+len(positions) == 0 {
		return nil
	}
	ids := make([]pgtype.UUID, len(claims))
	for i, id := range claims {
		ids[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	var empty int64
	err := w.tx.QueryRow(ctx, electSQL, ids, positions,
		warehouse.AlreadyPresent, warehouse.Resubmitted, warehouse.EditOfUnknown, warehouse.DeleteOfUnknown).Scan(&empty)
	if err != nil {
		return fmt.Errorf("decide what is current: %w", err)
	}
	return w.dropCounts(ctx, empty)
}

// dropCounts deletes the numbers that have become 0.
func (w *writer) dropCounts(ctx context.Context, empty int64) error {
	if empty == 0 {
		return nil
	}
	return pg.Exec(ctx, w.tx, "drop empty counts", "DELETE FROM warehouse.finding_count WHERE findings = 0")
}
