package docs

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	// wrong is the page that says what goes wrong elsewhere, and which test shows that it
	// doesn't here.
	wrong = "docs/explanation/what-goes-wrong.md"
	// fewestCases is how many cases of servers, clocks and files it has at the least.
	fewestCases = 95
	complaints  = 40
)

var (
	shownBy  = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.(Test\\w+)`")
	numbered = regexp.MustCompile(`^\| (\d+) \|`)
)

// showing are the tests that a row names, by package.
func showing(row string) map[string][]string {
	out := map[string][]string{}
	for _, m := range shownBy.FindAllStringSubmatch(row, -1) {
		out[m[1]] = append(out[m[1]], m[2])
	}
	return out
}

// testsOf are the tests of each package.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for name, text := range texts(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
			out[path.Dir(name)+"."+m[1]] = true
		}
	}
	return out
}

// Each of the forty complaints is a test by its number: those that the page names are
// there, and pass where TRIBUTARY_COMPLAINTS has them run. So is each case of servers,
// clocks and files that misbehave.
func TestComplaints(t *testing.T) {
	there := testsOf(t)
	next, cases, all := 1, 0, map[string]bool{}
	for row := range strings.Lines(pages(t)[wrong]) {
		shown := showing(row)
		number := numbered.FindStringSubmatch(row)
		if number == nil {
			if len(shown) > 0 {
				cases++
			}
		} else if number[1] != strconv.Itoa(next) {
			t.Errorf("complaint %s stands where %d is expected", number[1], next)
		}
		for folder, tests := range shown {
			for _, name := range tests {
				all[folder+"."+name] = true
				if !there[folder+"."+name] {
					t.Errorf("%s names %s of %s, and there is no such test: %.80s", wrong, name, folder, row)
				}
			}
		}
		if number != nil {
			next++
			t.Run(number[1], func(t *testing.T) { complaint(t, shown) })
		} else if strings.HasPrefix(row, "| ") && !strings.Contains(row, "shown by |") && len(shown) == 0 {
			t.Errorf("no test shows this: %s", row)
		}
	}
	t.Logf("%d complaints, %d cases of servers, clocks and files, shown by %d tests", next-1, cases, len(all))
	if next-1 != complaints || cases < fewestCases {
		t.Errorf("there are %d complaints and %d cases, want %d and at least %d", next-1, cases, complaints, fewestCases)
	}
}

// complaint runs the tests that show what becomes of one, if it is asked for.
func complaint(t *testing.T, shown map[string][]string) {
	if len(shown) == 0 {
		t.Error("no test shows it")
	}
	if os.Getenv("TRIBUTARY_COMPLAINTS") == "" {
		return
	}
	for folder, tests := range shown {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", "^("+strings.Join(tests, "|")+")$", ".") //nolint:gosec // the names of tests
		cmd.Dir = filepath.Join(root, folder)
		cmd.Env = append(os.Environ(), "TRIBUTARY_COMPLAINTS=")
		out, err := cmd.CombinedOutput()
		for _, name := range tests {
			switch {
			case err != nil:
			case strings.Contains(string(out), "--- SKIP: "+name+" "):
				t.Logf("%s of %s is a suite of its own, see test/README.md", name, folder)
			case !strings.Contains(string(out), "--- PASS: "+name+" "):
				t.Errorf("%s of %s was not run", name, folder)
			}
		}
		if err != nil {
			t.Errorf("%v of %s: %v\n%s", tests, folder, err, out)
		}
	}
}
