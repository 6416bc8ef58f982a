//go:build !race

package main

import (
	"fmt"
	"strings"
	"testing"

	"tributary/internal/engine/enginetest"
)

// config check --connect says what is missing, and what to do about it.
func TestConfigCheckConnects(t *testing.T) {
	text := fmt.Sprintf("postgres: {url: '%s'}\nkafka: {bootstrap_servers: ['%s'], replication_factor: REPLICAS}\nsources: []\n", enginetest.Postgres(t), enginetest.Broker(t)[0])
	code, stdout, stderr := tributary(t, strings.Replace(text, "REPLICAS", "3", 1), "config", "check", "--connect")
	if code != exitFailed {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, want := range []string{"  postgres: connected, version ", "  kafka: brokers: 1, want 3 or more: ", "topics are missing: tributary topics apply makes them", "  clickhouse: embedded"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not said:\n%s%s", want, stdout, stderr)
		}
	}
	if code, _, stderr := tributary(t, strings.Replace(text, "REPLICAS", "1", 1), "topics", "apply"); code != exitOK {
		t.Fatal(stderr)
	}
	if code, stdout, stderr = tributary(t, strings.Replace(text, "REPLICAS", "1", 1), "config", "check", "--connect"); code != exitOK || !strings.Contains(stdout, "  kafka: connected, version ") {
		t.Errorf("after topics apply: exit code %d\n%s%s", code, stdout, stderr)
	}
	away := free(t)
	code, stdout, _ = tributary(t, fmt.Sprintf("postgres: {url: 'postgres://u@%s/d'}\nkafka: {bootstrap_servers: ['%[1]s']}\nclickhouse: {url: 'clickhouse://%[1]s'}\n", away), "config", "check", "--connect")
	if code != exitFailed || strings.Count(stdout, "connection refused: see that the server runs, and correct ") != 3 {
		t.Errorf("with all stores away: exit code %d\n%s", code, stdout)
	}
}

func TestTopicsACL(t *testing.T) {
	const cfg = "kafka: {bootstrap_servers: ['k1:9092', 'k2:9092'], topic_prefix: p}\n"
	code, stdout, stderr := tributary(t, cfg, "topics", "acl", "tracker", "--principal", "User:t")
	const begin = "kafka-acls.sh --bootstrap-server k1:9092,k2:9092 --command-config 'admin.properties' --add --allow-principal User:t "
	want := "# tracker\n" + begin + "--operation Describe --operation DescribeConfigs --resource-pattern-type prefixed --topic p.\n" +
		begin + "--operation Read --topic p.status.changed.v1 --group p.tracker\n" + begin + "--operation Read --topic p.record.passed.over.v1\n"
	if code != exitOK || stdout != want {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"nobody"}, {"--principal", "User:a; rm -rf /"}, {"--principal", "tributary"}, {"--command-config", "a' b"}} {
		if code, stdout, _ := tributary(t, cfg, append([]string{"topics", "acl"}, args...)...); code != exitUsage || stdout != "" {
			t.Errorf("%q: exit code %d\n%s", args, code, stdout)
		}
	}
}
