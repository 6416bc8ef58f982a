package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// A dry run names every schema below the configured prefix, and changes nothing.
func TestRegisterDryRun(t *testing.T) {
	f := srfake.New()
	t.Cleanup(f.Close)
	f.Intercept(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Method != http.MethodGet {
			t.Errorf("%s %s in a dry run", q.Method, q.URL)
		}
		return false
	})
	code, out, errs := tributary(t, "kafka: {topic_prefix: lab}\nschema_registry: {url: '"+f.URL()+"'}\n", "schemas", "register", "--dry-run")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 24 {
		t.Errorf("%d lines, want one for each of 15 schemas and one for each of 9 topics:\n%s", len(lines), out)
	}
	want := []string{
		"would register lab.document.extracted.v1-value version 1 with id 1005",
		"would register lab.document.extracted.v1-value version 2 with id 1009",
		"would set compatibility of lab.document.extracted.v1-value to FULL_TRANSITIVE (now the registry's default)",
	}
	if diff := cmp.Diff(want, lines[:3]); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
}

func TestRegisterRefusals(t *testing.T) {
	empty := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(empty.Close)
	tests := map[string]struct {
		config string
		args   []string
		code   int
		stderr string
	}{
		"no address":       {local, nil, 2, "set schema_registry.url, or name one with --registry"},
		"nobody there":     {local, []string{"--registry", "http://127.0.0.1:1"}, 1, "check schema_registry.url, and that the registry runs"},
		"no registry":      {local, []string{"--registry", empty.URL}, 1, "there is no schema registry at this address (404)"},
		"no address there": {local, []string{"--registry", "registry:8081"}, 2, "write http://host:8081 or https://host"},
		"password missing": {"schema_registry: {url: 'http://h', username: u, password: 'env:NOT_THERE'}\n", nil, 2, "the environment has no NOT_THERE"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, errs := tributary(t, tc.config, append([]string{"schemas", "register"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.stderr) {
				t.Errorf("exit code %d, %q; want %d, %q", code, errs, tc.code, tc.stderr)
			}
		})
	}
}
