package registry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"tributary/schemas"
	"tributary/schemas/registry"
)

// apicurioStarts bounds the start of a real registry on a loaded machine.
const apicurioStarts = 2 * time.Minute

// A real registry, Apicurio, speaks the API, knows the mode IMPORT and yet
// ignores the ids asked for. It must be found out at the first schema, with
// nothing left behind; should it learn to take ids, all must be well.
func TestApicurio(t *testing.T) {
	address := startApicurio(t)
	r := open(t, registry.Options{URL: address})
	client, err := sr.NewClient(sr.URLs(address))
	if err != nil {
		t.Fatal(err)
	}
	all := items(t)
	err = r.Apply(t.Context(), all, func(registry.Change) {})
	var wrong *registry.WrongID
	switch {
	case errors.As(err, &wrong):
		subjects, serr := client.Subjects(t.Context())
		if serr != nil || len(subjects) != 0 {
			t.Errorf("subjects %v (%v) are left behind", subjects, serr)
		}
		plan, perr := r.Plan(t.Context(), all)
		if perr != nil || len(plan) != 2*len(all) {
			t.Errorf("%d changes are planned afterwards (%v), want %d", len(plan), perr, 2*len(all))
		}
	case err != nil:
		t.Fatal(err)
	default:
		codec, cerr := schemas.NewCodec()
		if cerr != nil {
			t.Fatal(cerr)
		}
		value, verr := codec.EncodeBody(schemas.FileDiscoveredTopic, &schemas.FileDiscovered{Scope: schemas.Scope{Source: "harwell"}})
		if verr != nil {
			t.Fatal(verr)
		}
		if got := decode(t, t.Context(), client, value)["source"]; got != "harwell" {
			t.Errorf("source = %v, want harwell", got)
		}
	}
}

// startApicurio starts the registry that make test-registry has fetched, with
// its data in memory, and returns the address of its Confluent API.
func startApicurio(t *testing.T) string {
	t.Helper()
	dir, java := os.Getenv("TRIBUTARY_APICURIO"), os.Getenv("TRIBUTARY_JAVA")
	if dir == "" || java == "" {
		t.Skip("no real registry at hand: make test-registry fetches one")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "apicurio.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(java, "-Xmx512m", "-Dquarkus.http.host=127.0.0.1", "-Dquarkus.http.port="+port, "-jar", "quarkus-run.jar")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	address := "http://" + host + "/apis/ccompat/v7"
	ctx, cancel := context.WithTimeout(t.Context(), apicurioStarts)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for !answers(ctx, address+"/subjects") {
		select {
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the registry ended: %v\n%s", err, text)
		case <-ctx.Done():
			t.Fatalf("the registry has not started within %s", apicurioStarts)
		case <-tick.C:
		}
	}
	return address
}

func answers(ctx context.Context, url string) bool {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
