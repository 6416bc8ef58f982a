package tracker

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"tributary/schemas"
	"tributary/sql/beside"
)

// Statements returns the SQL that makes the tracker's tables and views in a
// schema of the given name, one text of several statements per migration, in
// order. The schema itself must exist. Unlike MigrateInto they can be run
// within a transaction; they leave no table schema_version.
func Statements(schema string) ([]string, error) {
	if err := checkName(schema); err != nil {
		return nil, err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("migrations of the tracker: %w", err)
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		text, err := numbered{migrations}.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("migrations of the tracker: %w", err)
		}
		_, up, ok := strings.Cut(string(text), "-- +goose Up\n")
		if !ok {
			return nil, fmt.Errorf("migrations of the tracker: %s has no section Up", name)
		}
		out = append(out, Target(schema).SQL(up))
	}
	return out, nil
}

// Recount is the statement that counts the rows of a schema that have not been counted as
// they were written: where files, documents and hostings stand, in the table tally.
func Recount(schema string) string {
	return Target(schema).SQL(schemas.Numbered(`INSERT INTO tracker.tally (slot, what, of_id, phase_id, status_id, exception_id, ended, n)
		SELECT 0, 'file', coalesce(z.centre_id, '00000000-0000-0000-0000-000000000000'), f.phase_id, f.status_id,
			coalesce(CASE WHEN f.status_id = {status failed} THEN a.exception_id END, '00000000-0000-0000-0000-000000000000'), f.ended, count(*)
		FROM tracker.file f JOIN tracker.zip_action a ON a.id = f.id JOIN tracker.zip_file z ON z.id = a.zip_id GROUP BY 3, 4, 5, 6, 7
		UNION ALL
		SELECT 0, 'document', coalesce(z.centre_id, '00000000-0000-0000-0000-000000000000'), m.phase_id, m.status_id, '00000000-0000-0000-0000-000000000000', false, count(*)
		FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.zip_download d ON d.id = a.download_id
		JOIN tracker.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted GROUP BY 3, 4, 5
		UNION ALL
		SELECT 0, 'hosting', file_source_id, 0, 0, '00000000-0000-0000-0000-000000000000', false, count(*)
		FROM tracker.file_source_has_zip WHERE state = 'present' GROUP BY 3`))
}

// Target is the schema of the given name, for statements that are written for the
// tracker's.
func Target(schema string) beside.Target { return beside.Target{From: Schema, To: schema} }

var name = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)

func checkName(schema string) error {
	if !name.MatchString(schema) {
		return fmt.Errorf("%q cannot be the name of a tracker's schema: use small letters, digits and underscores", schema)
	}
	return nil
}
