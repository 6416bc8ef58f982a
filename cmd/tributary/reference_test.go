//go:build !race

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// compareReference holds a generated page of docs/reference against the file,
// or writes it with -update.
func compareReference(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "reference", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/%s is out of date: make generate (-want +got):\n%s", page, diff)
	}
}

func TestReferenceOfCommands(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Commands

<!-- Written by ` + "`make generate`" + ` from the commands themselves. -->

Data goes to stdout, logs and progress to stderr. Tables are for people; ` + "`-o json`" + ` writes one object a line, for programs.

| exit code | meaning |
|---|---|
| 0 | it worked |
| 1 | it failed, or what was asked about is not as it should be |
| 2 | bad usage or configuration |

Every command takes ` + "`--config FILE`" + ` (default ` + "`TRIBUTARY_CONFIG`, then `./tributary.yaml`" + `) and ` + "`--log-level`" + `.
Commands that ask use the engines of a running ` + "`tributary up` or `tributary engines`" + `, or the configured addresses, or else start what they need and stop it again.

Signals: the first Ctrl-C (SIGINT) or SIGTERM asks a command to stop in order; the second ends it at once. Neither loses or doubles anything.
`)
	walk(newRoot(newCLI(nil, nil, nil, nil)), func(cmd *cobra.Command) {
		if cmd.Hidden || !cmd.HasParent() || cmd.HasSubCommands() && !cmd.HasAvailableLocalFlags() && cmd.Name() != "engines" {
			return
		}
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(&b, "\n## %s\n\n    %s\n\n%s\n", cmd.CommandPath(), cmd.UseLine(), strings.ReplaceAll(text, "\n\n", "\n\n"))
		var flags []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				flags = append(flags, flagRow(f))
			}
		})
		if len(flags) > 0 {
			b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n" + strings.Join(flags, ""))
		}
	})
	compareReference(t, "cli.md", b.String())
}

func flagRow(f *pflag.Flag) string {
	name := "`--" + f.Name + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	def := ""
	if f.DefValue != "" && f.DefValue != "false" {
		def = "`" + f.DefValue + "`"
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, def, f.Usage)
}

func TestReferenceOfMetrics(t *testing.T) {
	var rows []string
	for _, m := range metricsInSource(t) {
		name := m.name
		if len(m.labels) > 0 {
			name += "{" + strings.Join(m.labels, ",") + "}"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", name, m.kind, m.help))
		if !strings.HasPrefix(m.name, "tributary_") || m.help == "" {
			t.Errorf("metric %q needs the prefix tributary_ and a help text", m.name)
		}
		if m.kind == "counter" && !strings.HasSuffix(m.name, "_total") {
			t.Errorf("counter %q does not end in _total", m.name)
		}
	}
	slices.Sort(rows)
	compareReference(t, "metrics.md", `# Metrics and health

<!-- Written by `+"`make generate`"+` from the sources. -->

Served where `+"`http.listen`"+` says, without authentication; by default they are not served.

| path | answer |
|---|---|
| `+"`/livez`"+` | 200 while the process can still get well by itself. Brokers and databases that are away don't change that. |
| `+"`/readyz`"+` | 200 when everything the process needs is there; else 503 and the checks that fail, each with its reason. `+"`?verbose`"+` lists all checks. |
| `+"`/metrics`"+` | Prometheus metrics. |

`+"`tributary healthcheck`"+` asks `+"`/readyz`"+`, or `+"`/livez`"+` with `+"`--live`"+`, and ends with exit code 0 or 1.

Beside these there are the Go runtime's (`+"`go_*`"+`) and the process's (`+"`process_*`"+`).

| metric | kind | meaning |
|---|---|---|
`+strings.Join(slices.Compact(rows), ""))
}

func TestReferenceOfEvents(t *testing.T) {
	events := eventsInSource(t)
	var b strings.Builder
	b.WriteString(`# Events

<!-- Written by ` + "`make generate`" + ` from package schemas. -->

Every event is an Avro record in Confluent framing: a zero byte, the schema's id in four bytes, the record. The schemas are in ` + "`schemas/avro`" + `, one file per version; an id is pinned in its file's name. ` + "`tributary schemas list -o json`" + ` prints them. Running needs no registry.

Headers are CloudEvents in binary mode: ` + "`ce_specversion`, `ce_id`, `ce_type`, `ce_source`, `ce_time`, `ce_subject`, `content-type`" + `, and ` + "`traceparent`" + ` in events of one file, all of which name that file's trace. ` + "`ce_id`" + ` is a function of the event's cause: what is produced twice has the same id.

Strings that do not apply are empty, times are null. Which topic carries which event is in [topics](topics.md).
`)
	for _, e := range events {
		fmt.Fprintf(&b, "\n## %s (schema %d)\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n", e.topic, e.id, e.doc)
		for _, f := range e.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.kind, f.doc)
		}
	}
	if len(events) == 0 || !strings.Contains(b.String(), "| `ordinal` | int32 |") {
		t.Errorf("events are missing:\n%s", b.String())
	}
	compareReference(t, "events.md", b.String())
}
