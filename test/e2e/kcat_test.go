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

// asReader are the arguments with which kcat gets at the broker that the system
// uses: at the embedded one as the user who reads.
func (s *system) asReader(at engine.Endpoints) []string {
	if l := at.KafkaListener; l != nil {
		return []string{"-b", l.Address, "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=" + l.Mechanism,
			"-X", "sasl.username=reader", "-X", "sasl.password=" + l.Users["reader"]}
	}
	return []string{"-b", strings.Join(s.bootstrap(at), ",")}
}

// Other clients see the topics of the broker, the embedded one too: kcat lists them and
// reads every record.
func TestKcatReadsTheTopics(t *testing.T) {
	t.Parallel()
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
	s.more = append(s.more, "TRIBUTARY_CFG_KAFKA_LISTEN_ADDRESS=127.0.0.1:0")
	s.engines(func(at engine.Endpoints) {
		run := func(args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), kcat, append(s.asReader(at), args...)...).CombinedOutput()
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
