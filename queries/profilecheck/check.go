// Package profilecheck validates a profile whole: that its files can be read, that its
// schemas compile, that the mapping fits them, and that its SQL can run. All
// that is wrong is told at once, with file and line.
package profilecheck

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/internal/xsdcheck"
	"tributary/sql/warehouse"
)

// Report is what was found. What could not be read is nil.
type Report struct {
	Profile    *profile.Profile
	Mapping    *mapping.Mapping
	Statements *warehouse.Statements
	// Problems are what must be corrected, one line each.
	Problems []string
	// Remarks are what is likely not meant, or is lost: what the schemas can
	// say and the mapping does not keep. One line each.
	Remarks []string

	fsys fs.FS
}

// Files checks all of the profile in fsys but its SQL, of which only headers
// and the choice of words are checked.
func Files(fsys fs.FS) *Report {
	r := &Report{fsys: fsys}
	var err error
	r.Profile, err = profile.Load(fsys)
	r.add(err)
	r.Mapping, err = mapping.Load(fsys)
	r.add(err)
	for _, schema := range r.schemas() {
		r.schema(schema)
	}
	if r.Mapping != nil {
		remarks, err := r.Mapping.Fit()
		r.add(err)
		r.Remarks = append(r.Remarks, remarks...)
	}
	r.Statements, err = warehouse.Load(fsys)
	r.add(err)
	if r.Statements != nil && r.Mapping != nil {
		r.add(r.Statements.Fit(r.Mapping))
	}
	r.add(r.checkFiles())
	return r
}

// add takes the lines of an error that are not there yet.
func (r *Report) add(err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != "" && !slices.Contains(r.Problems, line) {
			r.Problems = append(r.Problems, line)
		}
	}
}

// Err joins the problems; nil if there are none.
func (r *Report) Err() error {
	errs := make([]error, len(r.Problems))
	for i, p := range r.Problems {
		errs[i] = errors.New(p)
	}
	return errors.Join(errs...)
}

// Summary is the profile in one line.
func (r *Report) Summary() string {
	var out []string
	count := func(n int, one, many string) {
		if n == 1 {
			many = one
		}
		out = append(out, fmt.Sprintf("%d %s", n, many))
	}
	count(len(r.Profile.Kinds), "kind of document", "kinds of document")
	count(len(r.Profile.Centres), "centre", "centres")
	count(len(r.Mapping.Tables), "table", "tables")
	count(len(r.Mapping.References), "reference table", "reference tables")
	count(len(r.Statements.Checks), "data check", "data checks")
	count(len(r.Statements.Context)+len(r.Statements.Overview), "statement at a batch's end", "statements at a batch's end")
	return fmt.Sprintf("profile %s, version %s: %s", r.Profile.Name, r.Profile.Version, strings.Join(out, ", "))
}

// schemas are the paths of all schemas, from what of profile.yaml can be read.
func (r *Report) schemas() (names []string) {
	switch {
	case r.Mapping != nil:
		return r.Mapping.Schemas()
	case r.Profile != nil:
		for _, k := range r.Profile.Kinds {
			names = append(names, k.Schema)
		}
	}
	return names
}

// schema compiles a schema as it is compiled to judge documents.
func (r *Report) schema(name string) {
	dir, entry := path.Split(name)
	fsys, err := fs.Sub(r.fsys, path.Clean(dir))
	if err == nil {
		_, err = xsdcheck.Compile(fsys, entry)
	}
	if err != nil {
		r.add(fmt.Errorf("%s: %w", name, err))
	}
}
