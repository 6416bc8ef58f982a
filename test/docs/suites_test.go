package docs

import (
	"path"
	"regexp"
	"slices"
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
	wholeTest  = regexp.MustCompile(`(?ms)^func (Test[A-Z]\w*)\(.*?^}`)
	leftOut    = regexp.MustCompile(`\n\tif testing\.Short\(\) {\n\t\tt\.Skip|\n\tlong\(t, `)
	longOne    = regexp.MustCompile(`\n\tlong\(t, (.*)\)`)
	quoted     = regexp.MustCompile(`"(\w+)"`)
	raceOnly   = regexp.MustCompile(`(?m)^RACE := (.*)$`)
	longAlone  = regexp.MustCompile(`(?m)^SHORT := \$\(if \$\(LONG\),(.*)\)$`)
	longTests  = regexp.MustCompile(`(?m)^SHORT_TESTS := \$\(if \$\(LONG\),\|(.*)\)$`)
	lawRow     = regexp.MustCompile(`(?m)^\| (L\d+) \|[^|]*\|([^|]*)\|`)
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

// What make check leaves out names quicker tests that it runs, and so does each law name
// one that fails first there.
func TestMakeCheckHasWhatFailsFirst(t *testing.T) {
	kept, quicker := map[string]bool{}, map[string][][]string{}
	for path, text := range texts(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		for _, m := range wholeTest.FindAllStringSubmatch(text, -1) {
			kept[m[1]] = kept[m[1]] || !leftOut.MatchString(m[0])
			if long := longOne.FindStringSubmatch(m[0]); long != nil {
				quicker[path+": "+m[1]] = quoted.FindAllStringSubmatch(long[1], -1)
			}
		}
	}
	laws := lawRow.FindAllStringSubmatch(pages(t)[suites], -1)
	for _, row := range laws {
		quicker[suites+": "+row[1]] = testName.FindAllStringSubmatch(row[2], -1)
	}
	for who, names := range quicker {
		if len(names) == 0 {
			t.Errorf("%s names no quicker test", who)
		}
		for _, m := range names {
			if !kept[m[1]] {
				t.Errorf("%s names %s, which make check does not run", who, m[1])
			}
		}
	}
	if len(laws) != 11 || len(quicker) < 2*len(laws) {
		t.Errorf("%d laws were found in %s, and %d tests that are left out", len(laws), suites, len(quicker)-len(laws))
	}
}

// With the race detector tests are always run with -short: what they leave out then,
// make check LONG=1 runs without it.
func TestLongHasWhatRaceLeavesOut(t *testing.T) {
	makefile := texts(t, func(name string) bool { return name == "Makefile" })["Makefile"]
	of := func(expression *regexp.Regexp, separator string) []string {
		m := expression.FindStringSubmatch(makefile)
		if m == nil {
			t.Fatalf("the Makefile has no %s", expression)
		}
		return strings.Split(strings.TrimSpace(m[1]), separator)
	}
	packages, long := of(longAlone, " "), of(longTests, "|")
	raced := func(dir string) bool {
		return slices.ContainsFunc(of(raceOnly, " "), func(pattern string) bool {
			above, all := strings.CutSuffix(pattern, "/...")
			return dir == above || all && strings.HasPrefix(dir, above+"/")
		})
	}
	found := 0
	for name, text := range texts(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		dir := "./" + path.Dir(name)
		for _, m := range wholeTest.FindAllStringSubmatch(text, -1) {
			if !raced(dir) || !strings.Contains(m[0], "testing.Short()") {
				continue
			}
			found++
			if !slices.Contains(packages, dir) || !slices.Contains(long, m[1]) {
				t.Errorf("%s of %s leaves something out with -short, and make check LONG=1 does not run it", m[1], dir)
			}
		}
	}
	if found < len(packages) {
		t.Errorf("only %d tests were found that leave something out", found)
	}
}
