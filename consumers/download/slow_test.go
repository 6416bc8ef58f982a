package download

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/config"
	"tributary/internal/remote/connectors"
	"tributary/schemas"
	"tributary/test/servers"
	"tributary/test/wait"
)

// Of a file that a real server sends slowly is told how far it is, while it comes:
// more each time, and never all of it before it has ended.
func TestProgressOfASlowServer(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	content := bytes.Repeat([]byte("x"), 1<<20)
	if err := os.MkdirAll(filepath.Join(root, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "add", "1.zip"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	slow, err := servers.StartFaultySFTP(t.Context(), servers.FaultySFTPOptions{Dir: dir, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Stop)
	slow.Slow("add/1.zip", 1000, 20*time.Millisecond)
	definition, err := json.Marshal(map[string]string{"id": "src", "url": slow.URL("/"), "identity_file": slow.IdentityFile, "known_hosts": slow.KnownHosts})
	if err != nil {
		t.Fatal(err)
	}

	b := newBench(t)
	b.put("1.zip", string(content)) // as it was listed
	b.definition = string(definition)
	b.cfg.ProgressInterval = config.Duration(time.Millisecond)
	b.deps.Now, b.deps.Dial, b.deps.Limits = time.Now, connectors.All().Dial, config.Default().Limits
	metrics := prometheus.NewRegistry()
	b.metrics = newMetrics(metrics)
	told := make(chan int64)
	b.tell = func(m schemas.Message, settled func(error)) {
		if p, ok := schemas.ProgressOf(m.Body.(*schemas.StatusChanged)); ok {
			told <- p.Received
		}
		settled(nil)
	}
	done := make(chan error, 1)
	m := b.job("1.zip")
	m.Body.(*schemas.DownloadRequested).Files[0].ModTime = nil // the server has its own
	go func() { done <- b.work(t.Context(), m) }()
	var received []int64
	for ended := false; !ended; {
		select {
		case n := <-told:
			received = append(received, n)
			if families, err := metrics.Gather(); err != nil || len(families) != 1 || families[0].GetMetric()[0].GetCounter().GetValue() < float64(n) {
				t.Errorf("the metric has %v when %d were told: %v", families, n, err)
			}
			if len(received) == 3 {
				slow.Heal("add/1.zip")
			}
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		case <-time.After(wait.Patience()):
			t.Fatalf("nothing more is told after %d, nor that it has ended", received)
		}
	}
	if d := b.finished()["1.zip"]; d == nil || d.Result != schemas.Fetched || d.Size != int64(len(content)) {
		t.Fatalf("it ended as %+v", d)
	}
	families, err := metrics.Gather()
	if err != nil || len(families) != 2 || len(families[0].GetMetric()) != 3 {
		t.Fatalf("the metric of files lacks an end: %v: %v", families, err)
	}
	for _, of := range families[0].GetMetric() {
		if is, n := of.GetLabel()[0].GetValue(), of.GetCounter().GetValue(); (is == schemas.Fetched) != (n == 1) {
			t.Errorf("the metric has %v files that are %s", n, is)
		}
	}
	if len(received) < 3 {
		t.Fatalf("told: %d", received)
	}
	before := int64(0)
	for _, n := range received {
		if n <= before || n > int64(len(content)) {
			t.Errorf("told: %d of %d", received, len(content))
		}
		before = n
	}
	if received[2] == int64(len(content)) {
		t.Errorf("nothing was told while it came: %d", received)
	}
}
