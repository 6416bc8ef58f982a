package docs

import (
	"regexp"
	"strings"
	"testing"
)

// suites is the page that names tests and targets of make.
const suites = "test/README.md"

var (
	testName   = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):(?:[^=]|$)`)
	madeFirst  = regexp.MustCompile("`make ([a-z0-9-]+)")
	plainWord  = regexp.MustCompile("`([a-z0-9-]+)`")
)

// declared are the first groups of an expression in all files of the repository
// that are wanted.
func declared(t *testing.T, expression *regexp.Regexp, wanted func(name string) bool) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, text := range texts(t, wanted) {
		for _, m := range expression.FindAllStringSubmatch(text, -1) {
			out[m[1]] = true
		}
	}
	return out
}

// targets are the targets of make that a page names. In a cell of a table that
// names one with its "make", other words that stand as code are targets, too.
func targets(text string) (out []string) {
	for _, cell := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		found := madeFirst.FindAllStringSubmatch(cell, -1)
		if strings.HasPrefix(cell, " ") && len(found) > 0 {
			found = append(found, plainWord.FindAllStringSubmatch(cell, -1)...)
		}
		for _, m := range found {
			out = append(out, m[1])
		}
	}
	return out
}

// Every test that the page of the suites names exists, and every target of make.
func TestTheSuitesPageNamesWhatThereIs(t *testing.T) {
	page := pages(t)[suites]
	tests := declared(t, testFunc, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	names := testName.FindAllStringSubmatch(page, -1)
	for _, m := range names {
		if !tests[m[1]] {
			t.Errorf("%s names %s, and no test has that name", suites, m[1])
		}
	}
	made := declared(t, makeTarget, func(name string) bool { return name == "Makefile" || strings.HasSuffix(name, ".mk") })
	all := targets(page)
	for _, target := range all {
		if !made[target] {
			t.Errorf("%s names make %s, which is no target", suites, target)
		}
	}
	if len(names) < 20 || len(all) < 30 {
		t.Errorf("only %d tests and %d targets were found in %s", len(names), len(all), suites)
	}
}
