package history

import (
	"io/fs"
	"os"
	"regexp"
	"testing"
)

// Views and recipes name phases and statuses; none compares with a digit.
func TestPhasesByName(t *testing.T) {
	digit := regexp.MustCompile(`(?:phase|status)_id\s*(?:[<>=]+|IN\s*\(|BETWEEN)\s*\d`)
	for _, dir := range []string{"statements", "recipes"} {
		names, err := fs.Glob(os.DirFS(dir), "*.sql")
		if err != nil || len(names) == 0 {
			t.Fatalf("%d files in %s: %v", len(names), dir, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(os.DirFS(dir), name)
			if err != nil {
				t.Fatal(err)
			}
			if found := digit.FindString(string(text)); found != "" {
				t.Errorf("%s compares with a number: %q", name, found)
			}
		}
	}
}
