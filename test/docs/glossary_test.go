package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	row  = regexp.MustCompile(`(?m)^\| \*\*(.+?)\*\* \| (.+) \| (.+) \|$`)
	code = regexp.MustCompile("`([^`]+)`")
)

// Every word of the glossary exists where the glossary says, and stands there
// once.
func TestGlossary(t *testing.T) {
	all := pages(t)
	sql := map[string]string{}
	for _, schema := range []string{"control", "tracker", "warehouse", "history"} {
		sql[schema] = statements(t, schema)
	}
	var words []string
	for _, m := range row.FindAllStringSubmatch(all["docs/reference/glossary.md"], -1) {
		words = append(words, m[1])
		places := code.FindAllStringSubmatch(m[3], -1)
		if len(places) == 0 {
			t.Errorf("%s: the glossary does not say where it is met", m[1])
		}
		for _, place := range places {
			if !exists(all, sql, place[1]) {
				t.Errorf("%s: there is no %s", m[1], place[1])
			}
		}
	}
	if len(words) < 40 {
		t.Errorf("only %d words were found", len(words))
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("the words are not in the order of the alphabet, each once: %q", words)
	}
}

// statements are all those that make a store's tables and views.
func statements(t *testing.T, schema string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join(root, "sql", schema), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// exists looks a place up: a command, a metric, a table, view or column, a key, an
// exception, a topic or a folder.
func exists(all, sql map[string]string, place string) bool {
	switch first, rest, _ := strings.Cut(place, "."); {
	case strings.HasPrefix(place, "tributary "):
		return strings.Contains(all["docs/reference/cli.md"], "\n## "+place+"\n")
	case strings.HasPrefix(place, "tributary_"):
		return regexp.MustCompile("`" + place + "[`{]").MatchString(all["docs/reference/metrics.md"])
	case sql[first] != "" && !strings.Contains(all["docs/reference/configuration.md"], "| `"+place+"`"):
		return relation(sql[first], first, rest)
	}
	if strings.Contains(place, "/") {
		_, err := os.Stat(filepath.Join(root, place))
		return err == nil
	}
	return strings.Contains(all["docs/reference/configuration.md"], "| `"+place+"`") ||
		strings.Contains(all["docs/reference/exceptions.md"], "`"+place+"`") ||
		strings.Contains(all["docs/reference/topics.md"], "`"+place+"`") ||
		strings.Contains(all["docs/reference/topics.md"], "`tributary."+place+".v1`")
}

// relation looks up a table or view of a store, or table.column, of which one
// statement names both. ClickHouse's statements name no database.
func relation(statements, schema, name string) bool {
	table, column, _ := strings.Cut(name, ".")
	made := regexp.MustCompile(`(?:TABLE|VIEW)(?: IF NOT EXISTS)? (?:` + schema + `\.)?` + table + `\b`)
	if !made.MatchString(statements) {
		return false
	}
	both := func(statement string) bool {
		return strings.Contains(statement, table) && regexp.MustCompile(`\b`+column+`\b`).MatchString(statement)
	}
	return slices.ContainsFunc(strings.Split(statements, ";"), both)
}
