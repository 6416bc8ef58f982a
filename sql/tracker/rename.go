package tracker

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
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
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, fmt.Errorf("migrations of the tracker: %w", err)
		}
		_, up, ok := strings.Cut(string(text), "-- +goose Up\n")
		if !ok {
			return nil, fmt.Errorf("migrations of the tracker: %s has no section Up", name)
		}
		up, _, _ = strings.Cut(up, "-- +goose Down\n")
		out = append(out, Rename(up, schema))
	}
	return out, nil
}

// Rename returns SQL that is written for the schema tracker as SQL for
// another. What stands in quotes or comments is left as it is, since it is
// text for people.
func Rename(sql, schema string) string {
	if schema == Schema {
		return sql
	}
	return token.ReplaceAllStringFunc(sql, func(t string) string {
		if t == Schema+"." {
			return schema + "."
		}
		return t
	})
}

// token finds literals, comments, and the name of the schema before a dot;
// names that merely end like it are found as a whole.
var token = regexp.MustCompile(`'[^']*'|--[^\n]*|[a-z0-9_]*tracker\.`)

var name = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)

func checkName(schema string) error {
	if !name.MatchString(schema) {
		return fmt.Errorf("%q cannot be the name of a tracker's schema: use small letters, digits and underscores", schema)
	}
	return nil
}

// renamed are migrations for a schema of another name.
type renamed struct {
	fs.FS
	schema string
}

// Open opens a migration; its text is that for the schema.
func (r renamed) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || r.schema == Schema || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer f.Close()
	text, err := fs.ReadFile(r.FS, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &renamedFile{bytes.NewReader([]byte(Rename(string(text), r.schema))), info}, nil
}

type renamedFile struct {
	*bytes.Reader
	info fs.FileInfo // of the file as it is embedded; nobody asks for its size
}

func (f *renamedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *renamedFile) Close() error               { return nil }
