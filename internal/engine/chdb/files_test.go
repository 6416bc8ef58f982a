package chdb

import (
	"strings"
	"testing"
)

// That spellings which name a file are seen is tested where the engine runs
// them (queries/report); here is what is not taken for one.
func TestTextThatOnlySpeaksOfFiles(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1":                       false,
		"SELECT $$ ' $$ # (\n":           false,
		"SELECT 'INTO OUTFILE ''x'''":    false,
		`SELECT 'é $$ # \'outfile'`:      false,
		"SELECT 1 AS `outfile`":          false,
		"SELECT outfile FROM t":          true,
		"SELECT 'outfile' -- as a text":  true,
		"SELECT 'outfile', $$x$$":        true,
		"SELECT x'outfile'":              true,
		"SELECT 'outfile":                true,
		`SELECT 'outfile\'`:              true,
		"SELECT 'outfile'\u00a0":         true,
		"SELECT (SELECT 1 INTO OutFile)": true,
	} {
		if got := NamesAFile(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Without quotes there is nothing behind which a word could hide.
func FuzzNamesAFile(f *testing.F) {
	f.Add("SELECT 1 # (\n ", " 'x'")
	f.Fuzz(func(t *testing.T, before, after string) {
		if !strings.ContainsAny(before, "'\"`") && !NamesAFile(before+"INTO OUTFILE"+after) {
			t.Errorf("%q is not seen", before+"INTO OUTFILE"+after)
		}
	})
}
