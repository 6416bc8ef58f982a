package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/test/wait"
)

// Members that run are asked by their roles, set and stopped, without a port of
// theirs.
func TestAdminOfRunningMembers(t *testing.T) {
	text := fmt.Sprintf("data_dir: DIR\npostgres: {url: '%s'}\nkafka: {bootstrap_servers: ['%s'], replication_factor: 1}\nclickhouse: {url: 'clickhouse://%s'}\nunzip: {parallelism: 3}\n",
		enginetest.Postgres(t), enginetest.Broker(t)[0], free(t))
	path := filepath.Join(t.TempDir(), "tributary.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(text, "DIR", t.TempDir(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(ctx context.Context, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(ctx, newCLI(strings.NewReader(""), &out, &out, []string{"TRIBUTARY_CONFIG=" + path, "TRIBUTARY_CFG_UNZIP_WINDOW=32"}), args)
		return code, out.String()
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	ended := make(chan string, 2)
	for _, roles := range [][]string{{"unzip", "validate"}, {"plan"}} {
		go func() {
			code, out := command(ctx, append([]string{"run"}, roles...)...)
			ended <- fmt.Sprintf("%d\n%s", code, out)
		}()
	}
	said := func(args ...string) string {
		t.Helper()
		code, out := command(ctx, append([]string{"admin"}, args...)...)
		if code != exitOK {
			t.Fatalf("admin %v: exit code %d\n%s", args, code, out)
		}
		return out
	}
	for {
		_, out := command(ctx, "admin", "stat", "state", "-o", "csv", "--timeout", "2m")
		if strings.Contains(out, "\"unzip,validate; ") && strings.Contains(out, "plan; ") {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("nobody has announced itself:\n%s", out)
		case why := <-ended:
			t.Fatalf("a member has ended: %s", why)
		case <-time.After(100 * time.Millisecond):
		}
	}
	contains := func(out string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not said:\n%s", want, out)
			}
		}
	}
	got := said("get", "unzip.", "data_dir", "--role", "unzip", "-o", "csv", "--timeout", "2m")
	contains(got, ",unzip.parallelism,3,\"file, line 5\"", ",unzip.window,32,environment TRIBUTARY_CFG_UNZIP_WINDOW", ",unzip.max_entries,65535,default")
	contains(said("set", "unzip.parallelism=2", "--role", "unzip", "-o", "csv", "--timeout", "2m"), ",unzip.parallelism,2,was 3")
	contains(said("get", "unzip.parallelism", "--role", "unzip", "-o", "csv", "--timeout", "2m"), ",unzip.parallelism,2,set by ")
	if code, out := command(ctx, "admin", "set", "unzip.parallelism=65", "--role", "unzip", "--timeout", "2m"); code != exitFailed || !strings.Contains(out, "from 1 to 64") {
		t.Errorf("too many: exit code %d\n%s", code, out)
	}
	contains(said("set", "log.level=debug", "-o", "csv", "--timeout", "2m"), ",log.level,debug,was info")
	contains(said("stat", "tributary_", "--role", "plan", "-o", "csv", "--timeout", "2m"), "tributary_build_info")
	if code, out := command(ctx, "admin", "stop"); code != exitUsage {
		t.Errorf("nobody is named: exit code %d\n%s", code, out)
	}
	out := said("stop", "--all", "-o", "csv", "--timeout", "5m")
	if strings.Count(out, ",stopped,") != 2 || strings.Index(out, "unzip,validate") > strings.Index(out, "plan;") {
		t.Errorf("they stop otherwise than the last stage first:\n%s", out)
	}
	for range 2 {
		if end := <-ended; !strings.HasPrefix(end, "0\n") {
			t.Errorf("a member that was stopped ends with exit code %s", end)
		} else if first, last := strings.Index(end, `"stopping","role":"validate"`), strings.Index(end, `"stopping","role":"unzip"`); strings.Contains(end, "unzip,validate") && (first < 0 || first > last) {
			t.Errorf("its last role does not stop first:\n%s", end)
		}
	}
}
