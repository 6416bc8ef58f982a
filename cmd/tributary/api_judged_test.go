//go:build !race

package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tributary/queries/report/reporttest"
	"tributary/web/access"
)

// The API's document is judged by programs of others: a validator of such documents, a
// client in Python that is made of it and makes a tour, and schemathesis, which makes up
// what to ask, with the token of an operator. What is answered is in the document, and
// nothing fails. Streams, which have no end, are not asked by schemathesis.
func TestTheAPIJudgedByOthers(t *testing.T) {
	tools := os.Getenv("TRIBUTARY_API_TOOLS")
	if tools == "" {
		t.Skip("TRIBUTARY_API_TOOLS is not set; make test-api sets it")
	}
	w := newWorldOf(t, reporttest.History(t))
	server := httptest.NewServer(w.server.Config.Handler)
	t.Cleanup(server.Close)
	token, err := access.Accounts{Pool: w.pool, Now: now}.AddToken(t.Context(), access.Person{Name: "judge", Role: access.Operator}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	judge := func(program ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c := exec.CommandContext(ctx, "python3", program...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PYTHONPATH="+tools+":"+dir, "PATH="+filepath.Join(tools, "bin")+":"+os.Getenv("PATH"), "NO_COLOR=1",
			"PYTHONDONTWRITEBYTECODE=1", "TRIBUTARY_URL="+server.URL+"/t", envToken+"="+token, "TRIBUTARY_FILE="+reporttest.GoodZip)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", program, err, out)
		} else {
			t.Logf("%v:\n%s", program, bytes.TrimSpace(out))
		}
	}
	at, err := filepath.Abs("../../test/clients/api/testdata")
	if err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(at, "../../../../docs/reference/openapi.yaml")
	judge("-m", "openapi_spec_validator", document)
	judge("-m", "openapi_python_client", "generate", "--fail-on-warning", "--path", document, "--meta", "none", "--output-path", filepath.Join(dir, "tributary_client"), "--config", filepath.Join(at, "generator.yaml"))
	judge(filepath.Join(at, "tour.py"))
	examples := os.Getenv("TRIBUTARY_API_EXAMPLES")
	if examples == "" {
		examples = "5"
	}
	judge("-m", "schemathesis.cli", "run", document, "--url", server.URL+"/t", "--header", "Authorization: Bearer "+token, "--exclude-path-regex", "/events$",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"--phases", "examples,coverage,fuzzing", "--max-examples", examples, "--seed", "1", "--workers", "1", "--request-timeout", "90", "--suppress-health-check", "all", "--no-shrink")
}
