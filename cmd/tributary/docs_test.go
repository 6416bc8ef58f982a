//go:build !race

package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/report"
	"tributary/sql/history"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
)

// docPages reads every page of documentation.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join("..", "..")
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(text)
	}
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "compose/README.md"} {
		add(filepath.Join(root, page))
	}
	if err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			add(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every command that the documentation shows is one, with flags that it has.
func TestDocumentedCommands(t *testing.T) {
	line := regexp.MustCompile("(?m)^ {4}tributary ([^'\"#\n…]*)|`tributary ([^`'\"…]+)`")
	for path, text := range docPages(t) {
		if strings.HasSuffix(path, "cli.md") {
			continue // written from the commands
		}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			args := strings.Fields(m[1] + m[2])
			root := newRoot(newCLI(nil, nil, nil, nil))
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root {
				t.Errorf("%s: tributary %s is no command: %v", path, strings.Join(args, " "), err)
				continue
			}
			for _, arg := range rest {
				if name, ok := strings.CutPrefix(arg, "--"); ok && flagOf(cmd, name) {
					t.Errorf("%s: tributary %s has no flag %s", path, cmd.Name(), arg)
				}
			}
			if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				t.Errorf("%s: tributary %s has no subcommand %s", path, cmd.CommandPath(), rest[0])
			}
		}
	}
}

func flagOf(cmd *cobra.Command, name string) (missing bool) {
	name, _, _ = strings.Cut(name, "=")
	return cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil
}

// Every statement that the documentation shows runs.
func TestDocumentedSQL(t *testing.T) {
	found, err := engine.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, strings.Join(missing, ", "))
	}
	cfg, _ := place(t)
	n := all
	n.How, n.Application = startOwn, "test"
	s, err := openStores(t.Context(), cfg, slog.New(slog.DiscardHandler), n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := tracker.Migrate(t.Context(), s.Tracker); err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Migrate(t.Context(), s.Warehouse); err != nil {
		t.Fatal(err)
	}
	p, err := loadProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m, err := loadMapping(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Apply(t.Context(), s.Warehouse, p.FS(), m); err != nil {
		t.Fatal(err)
	}
	open := func(database string) (driver.Conn, error) { return engine.OpenClickHouse(s.ClickHouseURL, database) }
	if err := history.Migrate(t.Context(), open, cfg.ClickHouse.Database); err != nil {
		t.Fatal(err)
	}
	statement := regexp.MustCompile(`tributary sql --store (\w+)(?: -o \w+)? (?:'([^'\n]*)'|"([^"\n]*)")`)
	count := 0
	for path, text := range docPages(t) {
		for _, m := range statement.FindAllStringSubmatch(text, -1) {
			count++
			var out strings.Builder
			if err := report.SQL(t.Context(), s.ask(m[1], report.Timeout), m[2]+m[3], &out, report.JSON); err != nil {
				t.Errorf("%s: %s: %s: %v", path, m[1], m[2]+m[3], err)
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d statements were found in the documentation", count)
	}
}
