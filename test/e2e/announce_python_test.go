package e2e

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// The program that docs/how-to/announce-files.md shows announces ten files through
// Kafka: eight are in the warehouse without another poll, and two are rejected by
// the names of their rules. Said again it changes nothing. On Apache Kafka it runs
// with make test-kafka, otherwise at the embedded broker's door.
func TestKafkaPythonAnnounces(t *testing.T) {
	t.Parallel()
	packages := pythonPackages(t)
	const badName, unknown = "H-2024-02-01-impc.zip", "nowhere"
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: "schedule:\n  interval: 24h\n  jitter: 0\nsequence:\n  late_limit: 1s\npoll:\n  settle: 0s\n"})
	s.more = []string{"TRIBUTARY_CFG_KAFKA_LISTEN_ADDRESS=127.0.0.1:0"}
	up := s.start("up")
	s.settled(up)
	known := map[string]bool{}
	for _, f := range s.corpus.Oracle.Files {
		known[f.Action+"/"+f.File] = true
	}
	s.add(8)
	list := "source,action,file_name,size\n"
	for _, f := range s.corpus.Oracle.Files {
		if !known[f.Action+"/"+f.File] {
			list += fmt.Sprintf("%s,%s,%s,%d\n", f.Sources[0], f.Action, f.File, f.Size)
		}
	}
	list += s.corpus.Sources[0].ID + ",add," + badName + ",1000\n" + unknown + ",add,H.2024-02-01.01.impc.zip,1000\n"
	announced := len(strings.Split(strings.TrimSpace(list), "\n")) - 1
	if announced != 10 {
		t.Fatalf("%d files are announced, want 10:\n%s", announced, list)
	}
	// What must become of the two: one is a file that failed, the other one is none.
	s.corpus.Oracle.Files = append(s.corpus.Oracle.Files, corpus.FileEnd{File: badName, Action: "add", Phase: "zip_name", Status: "failed", Exceptions: []string{"zip_name_pattern"}})

	program := s.announcer(list)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "python3", program, s.topic("file.discovered"), "files.csv")
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+packages)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != announced {
			t.Fatalf("announce.py: %v\n%s", err, out)
		}
	}
	s.settled(up)
	type refusal struct{ Source, Action, FileName, Exception string }
	const refusals = "SELECT DISTINCT source, action, file_name AS filename, exception FROM event WHERE entity = 'announcement'"
	want := []refusal{{unknown, "add", "H.2024-02-01.01.impc.zip", "announced_source_unknown"}}
	eventually(t, wait.Patience(), func() string { return gocmp.Diff(want, sql[refusal](s, "history", refusals)) })
	up.stop()

	s.once()
	s.expect(false)
	s.engines(func(engine.Endpoints) {
		if diff := gocmp.Diff(want, sql[refusal](s, "history", refusals)); diff != "" {
			t.Errorf("announcements that were refused (- wanted, + told):\n%s", diff)
		}
	})
}

// announcer writes what the page has its reader write: the program, which it
// returns, the schema, where Kafka is, and a list of files.
func (s *system) announcer(list string) (program string) {
	s.t.Helper()
	page, err := os.ReadFile("../../docs/how-to/announce-files.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		s.t.Fatal("the page has no program in Python")
	}
	at, running, err := engine.Attach(s.data())
	if err != nil || !running {
		s.t.Fatalf("no engines are running: %v", err)
	}
	kafka := map[string]string{"bootstrap_servers": strings.Join(s.bootstrap(at), ",")}
	if l := at.KafkaListener; l != nil {
		kafka = map[string]string{"bootstrap_servers": l.Address, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": l.Mechanism,
			"sasl_plain_username": "announcer", "sasl_plain_password": l.Users["announcer"]}
	}
	client, err := json.Marshal(kafka)
	if err != nil {
		s.t.Fatal(err)
	}
	var schemas string
	for line := range strings.Lines(s.ask("schemas", "list", "-o", "json")) {
		if strings.Contains(line, `"file.discovered"`) {
			schemas += line
		}
	}
	for name, text := range map[string]string{"announce.py": code, "file.discovered.json": schemas, "kafka.json": string(client), "files.csv": list} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return filepath.Join(s.dir, "announce.py")
}

// pythonPackages is the folder in which make clients keeps the packages that the
// program needs; its name follows from what is pinned.
func pythonPackages(t *testing.T) string {
	t.Helper()
	pinned, err := os.ReadFile("testdata/announce.requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "tributary", fmt.Sprintf("announce-%x", sha256.Sum256(pinned))[:len("announce-")+12])
	_, missing := os.Stat(dir)
	if _, noPython := exec.LookPath("python3"); cmp.Or(missing, noPython) != nil {
		const how = "the Python packages of docs/how-to/announce-files.md are missing: run make clients"
		if os.Getenv(enginetest.EnvRequire) == "1" {
			t.Fatal(how)
		}
		t.Skip("skipped: " + how)
	}
	return dir
}
