package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of the suites names tests and targets that there are.
func TestThePageNamesWhatThereIs(t *testing.T) {
	page := contents(t, "../README.md")
	tests := declared(t, "../..", "_test.go", regexp.MustCompile(`(?m)^func (Test\w+)\(`))
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
	targets := declared(t, "../../mk", ".mk", regexp.MustCompile(`(?m)^([a-z-]+):`))
	for _, of := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(contents(t, "../../Makefile"), -1) {
		targets[of[1]] = true
	}
	for _, name := range regexp.MustCompile("`make ([a-z-]+)").FindAllStringSubmatch(page, -1) {
		if !targets[name[1]] {
			t.Errorf("there is no target %s", name[1])
		}
	}
	for _, s := range suites("state") {
		for _, arg := range s.args(1) {
			if !strings.Contains(arg, "=") && !targets[arg] {
				t.Errorf("suite %s: there is no target %s", s.name, arg)
			}
		}
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// declared are the names that files below a folder declare.
func declared(t *testing.T, dir, suffix string, what *regexp.Regexp) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		for _, m := range what.FindAllStringSubmatch(contents(t, path), -1) {
			found[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
