package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/cluster"
	"tributary/test/corpus"
	"tributary/test/kafka"
	"tributary/test/rig"
)

// settleWithin bounds the ingestion of a small corpus on a loaded machine.
const settleWithin = 10 * time.Minute

// A cluster of separate processes on Apache Kafka, one role each and two members
// per group, makes of a corpus the warehouse that up --once makes of it on the
// embedded broker.
func TestClusterIsOneMachine(t *testing.T) {
	if os.Getenv("TRIBUTARY_CLUSTER") == "" {
		t.Skip("starts two dozen processes: make test-cluster")
	}
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	binary, dir := build(t), enginetest.Dir(t)
	made, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Small})
	if err != nil {
		t.Fatal(err)
	}
	// One process, the embedded broker.
	alone, err := rig.Start(t.Context(), filepath.Join(dir, "one"), made, rig.Options{Local: true, Extra: cluster.Lively})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alone.Stop)
	ask(t, binary, alone.Config, "up", "--once")
	want := strings.TrimSpace(ask(t, binary, alone.Config, "warehouse", "hash"))

	many, err := rig.Start(t.Context(), filepath.Join(dir, "many"), made, rig.Options{Local: true, Extra: cluster.Lively})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(many.Stop)
	members := map[string]int{}
	for _, role := range cluster.Roles() {
		members[role] = 2
	}
	c, err := cluster.Start(t.Context(), cluster.Options{
		Binary: binary, Dir: many.Dir, Config: many.Config, DataDir: filepath.Join(many.Dir, "data"), Members: members, Brokers: brokers(t), Say: t.Output(),
	})
	if errors.Is(err, kafka.ErrMissing) {
		enginetest.Missing(t, "Apache Kafka")
	}
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	settle(t, c, made)
	hash, err := c.Run(t.Context(), "warehouse", "hash")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(hash); got != want || want == "" {
		t.Errorf("warehouse hash %s of the cluster, %s of one process", got, want)
	}
	for _, p := range c.Members() {
		answer, err := http.Get("http://" + p.HTTP + "/metrics")
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: /metrics answers %s", p.Name, answer.Status)
		}
	}
	stopped = true
	if err := c.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// brokers is how many to run: as many as TRIBUTARY_CLUSTER says.
func brokers(t *testing.T) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(os.Getenv("TRIBUTARY_CLUSTER"), &n); err != nil {
		t.Fatalf("TRIBUTARY_CLUSTER is the number of brokers, 0 for the embedded one: %v", err)
	}
	return n
}

func build(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TRIBUTARY_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(enginetest.Dir(t), "tributary")
	if out, err := exec.Command("go", "build", "-o", path, "tributary/cmd/tributary").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func ask(t *testing.T, binary, config string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--config", config)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("tributary %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// settle waits until all files and documents have the oracle's ends.
func settle(t *testing.T, c *cluster.Cluster, made *corpus.Corpus) {
	t.Helper()
	want := map[string]string{}
	for _, f := range made.Oracle.Files {
		want[f.Action+"/"+f.File] = f.Phase + ", " + f.Status
	}
	for _, d := range made.Oracle.Documents {
		want[d.Action+"/"+d.File+"/"+d.Document] = d.Phase + ", " + d.Status
	}
	ctx, cancel := context.WithTimeout(t.Context(), settleWithin)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		got, err := ends(ctx, c)
		if failed := c.Failed(); failed != nil {
			t.Fatal(failed)
		}
		if err == nil && cmp.Equal(want, got) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still not so after %s (%v):\n%s", settleWithin, err, cmp.Diff(want, got))
		case <-tick.C:
		}
	}
}

// ends is where every file and document stands.
func ends(ctx context.Context, c *cluster.Cluster) (map[string]string, error) {
	out, err := c.Run(ctx, "sql", "--store", "tracker", "-o", "json", `SELECT action || '/' || file AS name, phase || ', ' || status AS end FROM tracker.file
		UNION ALL SELECT action || '/' || file || '/' || document, phase || ', ' || status FROM tracker.document`)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var row struct{ Name, End string }
		if err := d.Decode(&row); err != nil {
			return nil, err
		}
		got[row.Name] = row.End
	}
	return got, nil
}

// The cluster and compose/ are one topology: the same roles, the same Kafka.
func TestClusterIsCompose(t *testing.T) {
	text, err := os.ReadFile("../../compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image   string
			Command []string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, s := range file.Services {
		if len(s.Command) == 2 && s.Command[0] == "run" {
			roles = append(roles, s.Command[1])
		}
	}
	slices.Sort(roles)
	if diff := cmp.Diff(slices.Sorted(slices.Values(cluster.Roles())), roles); diff != "" {
		t.Errorf("roles of the cluster (-) and of compose (+):\n%s", diff)
	}
	if want := "apache/kafka:" + kafka.Version; file.Services["kafka"].Image != want {
		t.Errorf("compose runs %s, the tests run %s", file.Services["kafka"].Image, want)
	}
}

func TestUnknownRole(t *testing.T) {
	for _, members := range []map[string]int{{"downlod": 2}, {"download": -1}} {
		if _, err := cluster.Start(t.Context(), cluster.Options{Members: members}); err == nil || !strings.Contains(err.Error(), "the roles are schedule") {
			t.Errorf("Start with %v: %v, want the names of the roles", members, err)
		}
	}
}
