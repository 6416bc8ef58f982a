package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// Other clients see the topics of the broker, the embedded one too: kcat lists them and
// reads every record.
func TestKcatReadsTheTopics(t *testing.T) {
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		const how = "kcat is missing: install the package kcat"
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal(how)
		}
		t.Skip("skipped: " + how)
	}
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true})
	s.once()
	s.engines(func(at engine.Endpoints) {
		run := func(args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), kcat, append([]string{"-b", strings.Join(s.bootstrap(at), ",")}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, out)
			}
			return string(out)
		}
		listed := run("-L")
		for topic, records := range s.records() {
			if !strings.Contains(listed, `topic "`+topic+`" with`) {
				t.Errorf("kcat -L does not list %s:\n%s", topic, listed)
				continue
			}
			read := run("-C", "-e", "-q", "-o", "beginning", "-t", topic, "-f", "%t %p %o %k %h\n")
			if n := strings.Count(read, topic+" "); int64(n) != records {
				t.Errorf("kcat reads %d records of %s, which has %d", n, topic, records)
			}
		}
		if read := run("-C", "-e", "-q", "-o", "beginning", "-t", s.topic("status.changed"), "-f", "%h\n"); !strings.Contains(read, "ce_type=") {
			t.Errorf("kcat shows no CloudEvents headers:\n%.2000s", read)
		}
	})
}
