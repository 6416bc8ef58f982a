package control_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/sql/control/controltest"
)

var update = flag.Bool("update", false, "write docs/explanation/states.md anew")

const statesIntro = `# What becomes of what

After this page you know which states each thing that control decides about can have, and which comes after which, when. So a state tells what is waited for.

A file itself has no state: ` + "`control.file`" + ` has no such column. Where it stands is what its [looks](#look) and [acquisitions](#acquisition) say: each look is the file as a listing showed it, new or changed, and an acquisition carries one look on, until all its documents have ended.

Each picture is drawn from a table in ` + "`sql/control/controltest/states.go`" + `, by ` + "`go test ./sql/control -run States -update`" + `. The database of the tests of polls, plan, sequence and replays, and that of the simulation with real roles, refuses every step that is not drawn. ` + "`control restore`" + ` takes no steps: it writes rows in the states that the topics tell. What the statuses mean that people see of a file is told in the [events](../reference/events.md); the life of a position is [decision 25](../decisions/0025-the-life-of-a-position.md).
`

// states is the page that draws the machines.
func states() string {
	var b strings.Builder
	b.WriteString(statesIntro)
	for _, m := range controltest.Machines() {
		fmt.Fprintf(&b, "\n## %s\n\nRows of `control.%s`.\n\n```mermaid\nstateDiagram-v2\n", strings.ToUpper(m.Name[:1])+m.Name[1:], m.Table)
		last := map[string]bool{}
		for _, s := range m.States() {
			last[s] = true
		}
		for _, s := range m.Steps {
			delete(last, s.Old)
			from := s.Old
			if from == "" {
				from = "[*]"
			}
			fmt.Fprintf(&b, "    %s --> %s\n", from, s.New)
		}
		for _, s := range m.States() {
			if last[s] {
				fmt.Fprintf(&b, "    %s --> [*]\n", s)
			}
		}
		b.WriteString("```\n\n| from | to | when |\n|---|---|---|\n")
		for _, s := range m.Steps {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Old, s.New, s.Why)
		}
	}
	return b.String()
}

func TestStatesAreDrawn(t *testing.T) {
	const page = "../../docs/explanation/states.md"
	if *update {
		if err := os.WriteFile(page, []byte(states()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(states(), string(got)); diff != "" {
		t.Errorf("the page differs from the tables (go test ./sql/control -run States -update):\n%s", diff)
	}
}

// Where the schema says which states a row may have, the machine draws all of them
// and no other.
func TestStatesAreThoseOfTheSchema(t *testing.T) {
	pool := database(t)
	word := regexp.MustCompile(`'([a-z_]+)'`)
	for _, m := range controltest.Machines() {
		column := strings.TrimPrefix(m.State, "r.")
		if strings.Contains(column, " ") {
			continue
		}
		var check string
		err := pool.QueryRow(t.Context(), `SELECT coalesce(min(pg_get_constraintdef(c.oid)), '') FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey)
			WHERE c.contype = 'c' AND c.conrelid = ('control.' || $1)::regclass AND a.attname = $2`, m.Table, column).Scan(&check)
		if err != nil {
			t.Fatal(err)
		}
		if check == "" {
			continue
		}
		var want []string
		for _, w := range word.FindAllStringSubmatch(check, -1) {
			want = append(want, w[1])
		}
		got := m.States()
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the schema's states and the drawn ones:\n%s", m.Name, diff)
		}
	}
}

func TestNoOtherStepIsTaken(t *testing.T) {
	pool := database(t)
	controltest.Guard(t, pool)
	if _, err := pool.Exec(t.Context(), "INSERT INTO control.replay (id, number, phase, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at) VALUES (gen_random_uuid(), 1, 'unzip', 'ann', 'r', now(), 'running', 'ann', now(), now())"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		to      string
		refused bool
	}{{"stopped", false}, {"done", true}, {"running", false}, {"running", false}, {"done", false}, {"running", true}} {
		_, err := pool.Exec(t.Context(), "UPDATE control.replay SET state = @to", pgx.NamedArgs{"to": step.to})
		if refused := err != nil && strings.Contains(err.Error(), "no step of a run leads from"); refused != step.refused {
			t.Errorf("to %s: %v", step.to, err)
		}
	}
}
