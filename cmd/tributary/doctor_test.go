//go:build !race

package main

import (
	"strings"
	"testing"
)

// A configuration that can't be read is told of like everything else, and a secret
// that is missing keeps nothing from being examined.
func TestDoctor(t *testing.T) {
	code, stdout, stderr := tributary(t, "colour: red\n", "doctor", "-o", "json")
	if code != exitFailed || !strings.Contains(stdout, `"problem":"config_invalid"`) || !strings.Contains(stdout, "tributary.yaml:1: colour: unknown key") {
		t.Errorf("a configuration that can't be read: exit code %d\n%s%s", code, stdout, stderr)
	}
	text := "data_dir: .\nblobs: {min_free: 0}\npostgres: {url: 'env:TRIBUTARY_NOT_THERE'}\nkafka: {bootstrap_servers: ['" + free(t) + "']}\n"
	code, stdout, stderr = tributary(t, text, "doctor", "--timeout", "5s")
	if code != exitFailed || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, want := range []string{
		"FAILED   secrets      postgres.url (secret_unresolved): the environment has no TRIBUTARY_NOT_THERE",
		"to do: correct postgres.url",
		"FAILED   engines      data_dir (engines_stopped): ", "skipped  postgres     postgres.url: its address can't be read",
		"FAILED   kafka        kafka.bootstrap_servers (server_unreachable): ", "skipped  clickhouse   clickhouse.url: it is embedded",
		" failed, ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not said:\n%s", want, stdout)
		}
	}
	if code, _, stderr := tributary(t, text, "doctor", "--timeout", "0s"); code != exitUsage {
		t.Errorf("no time at all: exit code %d\n%s", code, stderr)
	}
}
