package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Where a profile keeps its SQL.
const (
	checksDir   = "sql/checks"
	contextDir  = "sql/context"
	overviewDir = "sql/overview"
	tablesFile  = "sql/tables.sql"
	viewsFile   = "sql/views.sql"
)

// The levels of findings. An error makes its document (data, failed).
const (
	Info  = "info"
	Warn  = "warn"
	Error = "error"
)

// The findings that follow from claims alone, in every profile.
const (
	AlreadyPresent  = "already_present"
	Resubmitted     = "resubmitted"
	EditOfUnknown   = "edit_of_unknown"
	DeleteOfUnknown = "delete_of_unknown"
)

// ClaimFinding is a finding that follows from claims.
type ClaimFinding struct {
	Name, Level, Describes, Example string
}

// Meanings are what the findings mean, those of the profile's checks and those that
// follow from claims, by their names.
func (s *Statements) Meanings() map[string]string {
	out := map[string]string{}
	for _, f := range ClaimFindings() {
		out[f.Name] = f.Describes
	}
	for _, c := range s.Checks {
		out[c.Name] = c.Describes
	}
	return out
}

// ClaimFindings lists the findings that follow from claims, by name.
func ClaimFindings() []ClaimFinding {
	return []ClaimFinding{
		{AlreadyPresent, Info, "A file of the action add submits what is known already, in the same words.",
			"specimen 77 is submitted again, unchanged: its content is not stored a second time, but the newer submission is the one that counts."},
		{DeleteOfUnknown, Warn, "A file of the action delete deletes what is not known.",
			"specimen 77 is deleted, but was never submitted, or has been deleted before: the deletion counts against older submissions that come later."},
		{EditOfUnknown, Warn, "A file of the action edit changes what is not known.",
			"specimen 77 is edited, but was never submitted, or has been deleted: the edit is taken as its submission."},
		{Resubmitted, Warn, "A file of the action add submits what is known already, with other content.",
			"specimen 77 is submitted again with another colony: the newer submission counts; changes should come as edits."},
	}
}

// Check is a data check of a profile.
type Check struct {
	// Name is the finding's test, and the file's name without .sql.
	Name string
	// File is where the check stands in the profile's folder, and Line where
	// its SQL begins there.
	File string
	Line int
	// Level is Info, Warn or Error.
	Level string
	// On is the record table whose records are judged.
	On string
	// Needs are the reference tables without which the check is off.
	Needs []string
	// Describes and Example are for people.
	Describes, Example string
	// SQL returns violations among the records in the table candidate:
	// position, record, ordinal, line, message. It may use $1, the centre.
	SQL string
	// Again returns further records to judge, position and record, for $1,
	// the centre; empty if there are none.
	Again string
	// AgainLine is where Again begins in the file.
	AgainLine int
}

// Load reads the checks and the statements of a profile's folder. What is wrong
// with them is an error that names file and line; all errors are reported
// together. A profile without SQL has none.
func Load(fsys fs.FS) (*Statements, error) {
	s := &Statements{}
	var errs []error
	names, err := sqlFiles(fsys, checksDir)
	errs = append(errs, err)
	for _, name := range names {
		c, err := readCheck(fsys, name)
		errs = append(errs, err)
		s.Checks = append(s.Checks, c)
	}
	slices.SortStableFunc(s.Checks, func(a, b Check) int { return strings.Compare(a.On, b.On) })
	s.Context, err = readStatements(fsys, contextDir)
	errs = append(errs, err)
	s.Overview, err = readStatements(fsys, overviewDir)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return s, nil
}

// readStatements reads the files of a folder, one statement each.
func readStatements(fsys fs.FS, dir string) (out []Statement, err error) {
	names, err := sqlFiles(fsys, dir)
	errs := []error{err}
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", name, err))
			continue
		}
		sql := statement(string(text))
		if bare(sql) == "" {
			errs = append(errs, fmt.Errorf("%s:1: the file holds no statement", name))
		}
		out = append(out, Statement{File: name, SQL: sql})
	}
	return out, errors.Join(errs...)
}

// Needed returns the checks that need the given reference table.
func (s *Statements) Needed(reference string) (names []string) {
	for _, c := range s.Checks {
		if slices.Contains(c.Needs, reference) {
			names = append(names, c.Name)
		}
	}
	return names
}

// sqlFiles lists a folder's SQL files, sorted; a missing folder has none.
func sqlFiles(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".sql") {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// again separates the main query from the one for further records.
const again = "-- again"

// checkName is what the names of checks look like; findings are known by them.
var checkName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// headerLine is a line of a check's header that begins a value.
var headerLine = regexp.MustCompile(`^--\s?([A-Za-z_]+):(?:\s+(.*))?$`)

// readCheck reads one file of a check.
func readCheck(fsys fs.FS, name string) (Check, error) {
	c := Check{Name: strings.TrimSuffix(path.Base(name), ".sql"), File: name}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return c, fmt.Errorf("read %s: %w", name, err)
	}
	wrong := func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
	}
	var errs []error
	if !checkName.MatchString(c.Name) {
		errs = append(errs, wrong(1, "the file's name is the check's: lower-case letters, digits and _, with a letter first"))
	}
	if slices.ContainsFunc(ClaimFindings(), func(f ClaimFinding) bool { return f.Name == c.Name }) {
		errs = append(errs, wrong(1, "findings of the name %s are made by the warehouse itself: choose another", c.Name))
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	values, at, body := map[string]string{}, map[string]int{}, len(lines)
	last := ""
	for i, line := range lines {
		blank := strings.TrimSpace(line) == ""
		if blank && len(at) == 0 {
			continue
		}
		if blank || !strings.HasPrefix(line, "--") {
			body = i
			break
		}
		if rest := strings.TrimPrefix(line, "--"); last != "" && strings.HasPrefix(rest, "  ") {
			values[last] = strings.TrimSpace(values[last] + " " + strings.TrimSpace(rest))
			continue
		}
		m := headerLine.FindStringSubmatch(strings.TrimRight(line, " \t"))
		if m == nil {
			errs = append(errs, wrong(i+1, `this is no line of a header: write "-- key: value", or go on with the value above behind "--" and two spaces`))
			continue
		}
		last = m[1]
		if !slices.Contains([]string{"level", "on", "needs", "describes", "example"}, last) {
			errs = append(errs, wrong(i+1, "the header knows level, on, needs, describes and example, but not %s", last))
		}
		if first, twice := at[last]; twice {
			errs = append(errs, wrong(i+1, "%s is there twice, first in line %d", last, first))
		}
		values[last], at[last] = m[2], i+1
	}
	c.Level, c.On, c.Describes, c.Example = values["level"], values["on"], values["describes"], values["example"]
	c.Needs = strings.FieldsFunc(values["needs"], func(r rune) bool { return r == ',' || r == ' ' })
	for _, key := range []string{"level", "on", "describes", "example"} {
		if values[key] == "" {
			errs = append(errs, wrong(max(at[key], 1), "the header must say %s", key))
		}
	}
	if c.Level != "" && !slices.Contains([]string{Info, Warn, Error}, c.Level) {
		errs = append(errs, wrong(at["level"], "level is info, warn or error, not %q", c.Level))
	}
	return c, errors.Join(append(errs, c.split(lines, body, wrong))...)
}

// split takes the queries from the lines below the header.
func (c *Check) split(lines []string, body int, wrong func(int, string, ...any) error) error {
	end := len(lines)
	for body < end && strings.TrimSpace(lines[body]) == "" {
		body++
	}
	c.Line = min(body+1, end)
	for i := body; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \t") != again {
			continue
		}
		if end < len(lines) {
			return wrong(i+1, "%q is there twice, first in line %d", again, end+1)
		}
		end = i
	}
	if body < end {
		c.SQL = statement(strings.Join(lines[body:end], "\n"))
	}
	if bare(c.SQL) == "" {
		return wrong(c.Line, "the check holds no query")
	}
	if end < len(lines) {
		c.Again, c.AgainLine = statement(strings.Join(lines[end+1:], "\n")), end+2
		if bare(c.Again) == "" {
			return wrong(end+1, "no query follows %q: leave it out", again)
		}
	}
	return nil
}

// statement is SQL without white space and a semicolon at its end, so that it
// can stand within another statement.
func statement(text string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, " \t\r\n"), ";"), " \t\r\n")
}

// bare is SQL without lines that are comments.
func bare(sql string) string {
	var out []string
	for line := range strings.Lines(sql) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n")
}
