package profilecheck

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// checkFiles goes through the profile's folder: for files that look like a part of it
// and are not read, and for SQL whose result depends on when it runs.
func (r *Report) checkFiles() error {
	var errs []error
	err := fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !read(name):
			r.Remarks = append(r.Remarks, name+": no such file is read: a profile has profile.yaml, schemas, sql/tables.sql, sql/views.sql, and files below sql/checks, sql/context and sql/overview")
			return nil
		case path.Ext(name) != ".sql":
			return nil
		}
		text, err := fs.ReadFile(r.fsys, name)
		if err != nil {
			return err
		}
		errs = append(errs, clock(name, string(text)))
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// read says whether a file is a part of a profile, or nothing like one.
func read(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return name == "profile.yaml"
	case ".sql":
		dir, _ := path.Split(name)
		return name == "sql/tables.sql" || name == "sql/views.sql" || dir == "sql/checks/" || dir == "sql/context/" || dir == "sql/overview/"
	}
	return true
}

// moment is what SQL calls the present, and chance.
var moment = regexp.MustCompile(`(?i)\b(?:(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|random|gen_random_uuid)\s*\(|(?:current_date|current_time|current_timestamp|localtime|localtimestamp)\b)`)

// clock finds SQL whose result depends on when it runs. The same documents must
// give the same warehouse whenever they are loaded.
func clock(name, text string) error {
	var errs []error
	code := blank(text)
	for _, at := range moment.FindAllStringIndex(code, -1) {
		errs = append(errs, fmt.Errorf("%s:%d: %s depends on when the statement runs, and what the warehouse holds must not: today is the date of the document's file, warehouse.document.file_date",
			name, 1+strings.Count(code[:at[0]], "\n"), strings.TrimRight(code[at[0]:at[1]], "( \t\n")))
	}
	return errors.Join(errs...)
}

// uncoded is what in SQL is no code: comments, texts, quoted names.
var uncoded = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|\$\$.*?\$\$`)

// blank replaces what is no code by blanks, so that places stay.
func blank(text string) string {
	return uncoded.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, s)
	})
}
