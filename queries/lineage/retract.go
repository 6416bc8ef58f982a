package lineage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Retraction is what the unloading of one version of a file would do.
type Retraction struct {
	File    string `json:"file"`
	Action  string `json:"action"`
	Version string `json:"version"` // sha256
	// Documents are the loaded ones that would be retracted; Restored those of
	// other versions of the file that this version has withdrawn, and that would
	// count again.
	Documents []string `json:"documents"`
	Restored  []string `json:"restored"`
	// Tables say what would become of records.
	Tables []Change `json:"tables"`
}

// Change is what would become of the records of one table.
type Change struct {
	Table   string `json:"table"`
	Records int64  `json:"records"` // claims of the version
	Current int64  `json:"current"` // of these hold now
	Again   int64  `json:"again"`   // records, of other documents, that would hold again
	Gone    int64  `json:"gone"`    // keys that hold now and of which nothing would hold
}

// affected are the documents that would be retracted, and those that would
// count again.
const affected = `WITH gone AS (
		SELECT d.position, d.entry FROM warehouse.document d WHERE d.file = $1 AND d.archive = $2 AND d.state = 'loaded' AND NOT d.withdrawn
	), back AS (
		SELECT d.position, d.entry FROM warehouse.document d WHERE d.file = $1 AND d.archive <> $2 AND d.state = 'loaded' AND d.withdrawn
			AND NOT EXISTS (SELECT FROM warehouse.withdrawn_by(d.file, d.entry, d.archive, d.rank, d.run_number) w WHERE w.version <> $2)
	)`

// Retract tells what the unloading of a version would do; it changes nothing.
func (r *Reader) Retract(ctx context.Context, action, name, version string) (*Retraction, error) {
	out := &Retraction{File: name, Action: action, Version: version, Documents: []string{}, Restored: []string{}, Tables: []Change{}}
	file := schemas.FileID(action, name)
	var gone bool
	var entry string
	var position int64
	for err := range pg.Each(ctx, r.Warehouse, "find the documents of the version", []any{&gone, &entry, &position}, affected+` SELECT true, entry, position FROM gone UNION ALL SELECT false, entry, position FROM back ORDER BY 3`, file, version) {
		if err != nil {
			return nil, err
		}
		if gone {
			out.Documents = append(out.Documents, entry)
		} else {
			out.Restored = append(out.Restored, entry)
		}
	}
	tables, err := pg.List(ctx, r.Warehouse, "find out what would hold", pgx.RowToStructByName[Change], affected+`, turned AS (
			SELECT position FROM gone UNION ALL SELECT position FROM back
		), keys AS MATERIALIZED (
			SELECT record_type, claim, count(*) FILTER (WHERE g.position IS NOT NULL) AS records, count(*) FILTER (WHERE g.position IS NOT NULL AND c.is_current) AS held
			FROM warehouse.claim c JOIN turned USING (position) LEFT JOIN gone g USING (position) GROUP BY 1, 2
		), after AS (
			SELECT DISTINCT ON (c.claim) c.claim, NOT c.tombstone AS holds, c.is_current
			FROM keys k JOIN warehouse.claim c USING (claim) JOIN warehouse.document d ON d.position = c.position
			WHERE c.position NOT IN (SELECT position FROM gone) AND (NOT d.withdrawn OR c.position IN (SELECT position FROM back))
			ORDER BY c.claim, d.version_key DESC, c.position DESC
		)
		SELECT k.record_type AS table, sum(k.records)::bigint AS records, sum(k.held)::bigint AS current, count(*) FILTER (WHERE a.holds AND NOT a.is_current) AS again,
			count(*) FILTER (WHERE NOT coalesce(a.holds, false) AND EXISTS (SELECT FROM warehouse.claim h WHERE h.claim = k.claim AND h.is_current)) AS gone
		FROM keys k LEFT JOIN after a USING (claim) GROUP BY 1 ORDER BY 1`, file, version)
	if err != nil {
		return nil, err
	}
	out.Tables = tables
	return out, nil
}
