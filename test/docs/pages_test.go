// Package docs holds the documentation against the program: the form of the
// how-tos, every link, every command that is shown, and every word of the
// glossary.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	root   = "../.."
	howTos = "docs/how-to/"
	most   = 900 // words of a how-to
	early  = 15  // lines within which a how-to shows its first command
)

// pages are all pages of Markdown in the repository, by their paths from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return texts(t, func(name string) bool { return strings.HasSuffix(name, ".md") })
}

// texts reads every file of the repository whose name is wanted, by its path from
// the root.
func texts(t *testing.T, wanted func(name string) bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "demo" && filepath.Dir(path) == root):
			return fs.SkipDir
		case d.IsDir() || !wanted(d.Name()):
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// CONTRIBUTING fits a page.
func TestContributingFitsAPage(t *testing.T) {
	if n := len(strings.Fields(pages(t)["CONTRIBUTING.md"])); n > 450 {
		t.Errorf("CONTRIBUTING.md has %d words, more than 450", n)
	}
}

// A how-to begins with its task and a command, and is short.
func TestFormOfHowTos(t *testing.T) {
	for path, text := range pages(t) {
		if !strings.HasPrefix(path, howTos) {
			continue
		}
		if n := len(strings.Fields(text)); n > most {
			t.Errorf("%s has %d words, more than %d: what only explains belongs below docs/explanation", path, n, most)
		}
		lines := strings.Split(text, "\n")
		if len(lines) < 4 || !strings.HasPrefix(lines[0], "# ") || lines[1] != "" {
			t.Errorf("%s does not begin with a heading", path)
			continue
		}
		if first, _ := utf8.DecodeRuneInString(lines[2]); !unicode.IsLetter(first) && first != '`' {
			t.Errorf("%s: a sentence that names the task must follow the heading, not %q", path, lines[2])
		}
		if cs := commands(path, text); len(cs) == 0 || cs[0].line > early {
			t.Errorf("%s shows no command in its first %d lines", path, early)
		}
	}
}

// What explains, and the tutorial, opens with what the reader will know after it.
func TestPagesOpenWithWhatTheyTeach(t *testing.T) {
	found := 0
	for path, text := range pages(t) {
		if !strings.HasPrefix(path, "docs/explanation/") && path != "docs/tutorial.md" {
			continue
		}
		found++
		if lines := strings.Split(text, "\n"); len(lines) < 3 || !strings.HasPrefix(lines[2], "After this page you know ") {
			t.Errorf("%s: its first sentence does not begin with \"After this page you know\"", path)
		}
	}
	if found < 15 {
		t.Errorf("only %d pages were found", found)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors are the names under which links reach the headings of a page.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(linked.ReplaceAllString(m[1], "$1")) {
			switch {
			case r == ' ':
				b.WriteRune('-')
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		out[b.String()] = true
	}
	return out
}

// Every relative link leads to a file, and to a heading where it names one.
func TestLinks(t *testing.T) {
	all := pages(t)
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") {
				continue // an address of another site
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if page, ok := all[to]; anchor != "" && ok && !anchors(page)[anchor] {
				t.Errorf("%s links to %s, but %s has no such heading", path, m[1], to)
			}
		}
	}
}

// Every page below docs is linked from the README or from the index of its
// folder.
func TestEveryPageIsLinked(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{}
	for path, text := range all {
		if filepath.Base(path) != "README.md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, _, _ := strings.Cut(m[1], "#")
			reached[filepath.ToSlash(filepath.Join(filepath.Dir(path), file))] = true
		}
	}
	for path := range all {
		if strings.HasPrefix(path, "docs/") && !reached[path] {
			t.Errorf("%s is linked from no README.md", path)
		}
	}
}
