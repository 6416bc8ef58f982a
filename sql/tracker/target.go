package tracker

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

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
