//go:build !race

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tributary/internal/config"
	"tributary/producers/plan"
	"tributary/topics"
)

// The table of roles, the catalogue of topics and the table in the architecture
// page say the same of what each role reads.
func TestRolesReadWhatTheDocsSay(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "explanation", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	row := regexp.MustCompile(`(?m)^\| (\w+) \| ([^|]*) \|[^|]*\|[^|]*\|$`)
	topic := regexp.MustCompile("`([a-z.]+)`")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(roleNames(), m[1]) {
			continue
		}
		documented = append(documented, m[1])
		var reads []string
		for _, name := range topic.FindAllStringSubmatch(m[2], -1) {
			reads = append(reads, name[1])
		}
		if want := topics.ReadBy(m[1]); !slices.Equal(reads, want) {
			t.Errorf("%s reads %q, as the page says %q", m[1], want, reads)
		}
	}
	if !slices.Equal(documented, roleNames()) {
		t.Errorf("the page has the roles %s, the program %s", strings.Join(documented, ", "), strings.Join(roleNames(), ", "))
	}
	if !slices.Equal(plan.Topics(), topics.ReadBy("plan")) {
		t.Errorf("plan reads %q, as the catalogue says %q", plan.Topics(), topics.ReadBy("plan"))
	}
}

// A role that works on tables reads no topic, every other one does, and a
// Kafka-to-Kafka stage reads one and has its dead letters.
func TestKindsOfRolesFitTheirTopics(t *testing.T) {
	letters := map[string]bool{}
	for _, l := range topics.DeadLetters() {
		letters[l.DeadLetter] = true
	}
	for _, r := range roles() {
		reads := len(topics.ReadBy(r.name))
		if (r.kind == loop) != (reads == 0) || r.kind == runner && reads != 1 || letters[r.name] != (r.kind == runner) {
			t.Errorf("%s is of kind %d, reads %d topics, has dead letters: %t", r.name, r.kind, reads, letters[r.name])
		}
	}
}

// Without a collector nothing runs for traces, without targets nobody is notified, and
// without an address nothing serves pages, in up and in run alike.
func TestSomeRolesRunOnlyWhereTheyAreConfigured(t *testing.T) {
	a := &app{cfg: config.Default()}
	some := slices.DeleteFunc(roleNames(), func(name string) bool { return name == "traces" || name == "notify" || name == roleServe })
	if got := a.configured(roleNames()); !slices.Equal(got, some) {
		t.Errorf("without an endpoint and an address these run: %q", got)
	}
	a.cfg.Web.Listen = config.NoWeb
	if got := a.configured(roleNames()); !slices.Equal(got, some) {
		t.Errorf("with pages that are off these run: %q", got)
	}
	a.cfg.Traces.Endpoint, a.cfg.Web.Listen = "http://127.0.0.1:4318", config.DefaultWeb
	a.cfg.Notify.Targets = []config.NotifyTarget{{ID: "ops"}}
	if got := a.configured(roleNames()); !slices.Equal(got, roleNames()) {
		t.Errorf("with all these run: %q", got)
	}
}
