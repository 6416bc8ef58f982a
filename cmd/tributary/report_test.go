//go:build !race

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/sql/history/recipes"
)

func TestReferenceOfRecipes(t *testing.T) {
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`# Recipes over the history

<!-- Written by ` + "`make generate`" + ` from the files of sql/history/recipes. -->

Everything that ever happened to a file is in the history. These are the questions that people ask of it most; ` + "`tributary report NAME`" + ` answers one, as a table, with ` + "`-o json`" + ` or ` + "`-o csv`" + `, or drawn with ` + "`--plot`" + ` (in the terminal) or ` + "`--plot=FILE.svg`" + ` (or ` + "`.png`" + `). ` + "`tributary report NAME --explain`" + ` prints what is said here, and the statement, to begin your own with: see [ask in SQL](../how-to/ask-in-sql.md).

A time is RFC 3339, a date (midnight UTC), or how long ago, such as 24h or 7d; ` + "`--since`" + ` is included, ` + "`--until`" + ` is not. Values are bound by the database and never become a part of the statement. Nothing is written, and time and memory are limited.

What was told twice is found among all events, whatever ` + "`--since`" + ` says, and what an event means follows from those before it. So a recipe takes longer with every event that is kept; the later ` + "`--since`" + `, the fewer files most of them have to look into. Where that is what makes a question cheap, it has a default, which counts back from ` + "`--until`" + `. What bounds it is ` + "`--timeout`" + ` (5 minutes by default, an hour at most) and ` + "`clickhouse.max_memory`" + `, half of which grouping and sorting may take before they go to disk; beyond either, the recipe ends with an error that says so. ` + "`history.retention`" + ` bounds what is read.

The log tells some things twice, and some late. Every event counts once, at the time at which it happened by the clock of who told it; what shadow replays did counts nowhere. The examples are answers to one small history, made by hand: a test asks it again.
`)
	b.WriteString("\n| recipe | question |\n|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", r.Name, r.Name, r.Question)
	}
	for _, r := range all {
		fmt.Fprintf(&b, "\n## %s\n\n**%s**\n\n%s\n\n| parameter | default | meaning |\n|---|---|---|\n", r.Name, r.Question, r.Counts)
		for _, p := range r.Parameters {
			def, meaning := "", p.Meaning
			if p.Default != "" {
				def = "`" + p.Default + "`"
			}
			if len(p.Choices) > 0 {
				meaning += ": " + strings.Join(p.Choices, ", ")
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", p.Name, def, meaning)
		}
		b.WriteString("\n| column | meaning |\n|---|---|\n")
		for _, c := range r.Columns {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.Meaning)
		}
		picture := "It is a list, and not drawn."
		if p := r.Plot; p != nil {
			picture = fmt.Sprintf("`--plot` draws `%s` by `%s` (%s)", p.Y, p.X, p.Kind)
			if p.Series != "" {
				picture += fmt.Sprintf(", each `%s` apart", p.Series)
			}
			picture += "."
		}
		fmt.Fprintf(&b, "\n%s\n\nExample:\n\n    tributary report %s\n\n    %s\n", picture, strings.TrimSpace(r.Name+" "+r.Arguments), strings.ReplaceAll(r.Example, "\n", "\n    "))
	}
	compareReference(t, "recipes.md", b.String())
}

// What can't be asked is refused before anything is opened, with what is
// right.
func TestReportRefuses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a.svg")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"report trouput", `there is no report "trouput"; did you mean throughput?`},
		{"report failure", "did you mean failures?"},
		{"report qqqqqqqqqqqq", "tributary report lists them"},
		{"report speed --since yesterday", "--since: "},
		{"report speed --since 1960-01-01", "--since: "},
		{"report speed --since 2026-11-02 --until 2026-11-01", "--since 2026-11-02 is after --until 2026-11-01"},
		{"report backlog --since 1h --until 2h", "--since 1h is after --until 2h"},
		{"report failures --phase nope", `--phase: "nope" is no phase: use one of zip_name, download, `},
		{"report speed --every 1h", "report speed has no --every: it has --since"},
		{"report speed --limit 0", "--limit: "},
		{"report speed --limit -1", "--limit: "},
		{"report backlog --every 10ms", "--every: "},
		{"report latency --by planet", `"planet" is not known: use centre, source, day, all`},
		{"report changes --plot", "report changes is a list"},
		{"report speed --plot=a.pdf", "ends neither in .svg nor in .png"},
		{"report speed --plot a.svg", "--plot=a.svg"},
		{"report speed --plot=none/a.svg", "there is no folder none"},
		{"report speed --plot=report_test.go/a.svg", "there is no folder report_test.go"},
		{"report speed --plot=" + folder, "is no file"},
		{"report speed --plot -o csv", "say -o or --plot"},
		{"report --centre H", "say which report"},
		{"report speed -o xml", "--output"},
	} {
		var out, errs bytes.Buffer
		c := newCLI(strings.NewReader(""), &out, &errs, []string{"TRIBUTARY_CONFIG=" + t.TempDir() + "/none.yaml"})
		if code := run(t.Context(), c, strings.Fields(tc.args)); code != exitUsage || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q; want %d, %q", tc.args, code, errs.String(), exitUsage, tc.want)
		}
	}
}

func TestReportListsAndExplains(t *testing.T) {
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		var out, errs bytes.Buffer
		c := newCLI(strings.NewReader(""), &out, &errs, nil)
		if code := run(t.Context(), c, args); code != exitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errs.String())
		}
		return out.String()
	}
	listed := ask("report")
	for _, r := range all {
		if !strings.Contains(listed, r.Name) || !strings.Contains(listed, r.Question) {
			t.Errorf("report does not list %s", r.Name)
		}
		told := ask("report", r.Name, "--explain")
		for _, want := range append([]string{r.Question, r.Counts, r.Statement}, strings.Split(r.Example, "\n")...) {
			if !strings.Contains(told, want) {
				t.Errorf("report %s --explain does not say %q", r.Name, want)
			}
		}
	}
}
