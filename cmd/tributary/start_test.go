package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/test/ports"
	"tributary/test/wait"
)

// asked is what readyz answers, or why nobody does.
func asked(t *testing.T, address string) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz?verbose", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// free is an address at which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	found, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return found[0].String()
}

// awaited waits until readyz answers what is wanted.
func awaited(t *testing.T, address string, code int, parts ...string) {
	t.Helper()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got, text := asked(t, address)
		fits := got == code
		for _, p := range parts {
			fits = fits && strings.Contains(text, p)
		}
		if fits {
			return
		}
		select {
		case <-over.C:
			t.Fatalf("readyz answers %d, want %d with %q:\n%s", got, code, parts, text)
		case <-tick.C:
		}
	}
}

// serveAt serves a unix socket's server at a TCP address from now on.
func serveAt(t *testing.T, address, socket string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
}

// written is what a command has written so far.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// begun runs roles by a configuration until the test ends, in which http.listen
// is the returned address.
func begun(t *testing.T, text string, roles ...string) (address string, log *written, ended chan int) {
	t.Helper()
	address, log, ended = free(t), &written{}, make(chan int, 1)
	path := filepath.Join(enginetest.Dir(t), "tributary.yaml")
	if err := os.WriteFile(path, []byte("data_dir: ./data\n"+text+"http: {listen: '"+address+"'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- run(ctx, newCLI(strings.NewReader(""), io.Discard, log, []string{"TRIBUTARY_CONFIG=" + path}), append([]string{"run"}, roles...))
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return address, log, ended
}

// Roles that start without their stores wait for them, say so, and serve when
// they have come.
func TestRolesWaitForTheirStores(t *testing.T) {
	dsn, err := url.Parse(enginetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	postgres, broker := free(t), enginetest.Broker(t)
	address, log, _ := begun(t, fmt.Sprintf("postgres: {url: 'postgres://%s@%s%s?sslmode=disable'}\nkafka: {bootstrap_servers: ['%s'], replication_factor: 1}\nclickhouse: {url: 'clickhouse://%s'}\n",
		dsn.Query().Get("user"), postgres, dsn.Path, broker[0], free(t)), "sequence", "history")
	awaited(t, address, 503, "[-] sequence: waiting for postgres:", "[-] history: waiting for postgres:", "connection refused")
	if code, _ := asked(t, address); code != 503 {
		t.Errorf("readyz = %d while Postgres is away", code)
	}
	serveAt(t, postgres, filepath.Join(dsn.Query().Get("host"), ".s.PGSQL.5432"))
	// Sequence serves, while history goes on waiting for ClickHouse.
	awaited(t, address, 503, "[+] sequence", "[-] history: waiting for clickhouse:")
	if n := strings.Count(log.String(), "waiting for a store that is away"); n < 2 || n > 6 {
		t.Errorf("it was said %d times what is waited for, want once per change:\n%s", n, log)
	}
}

// Ready means that the tables are made and the member has joined its group.
func TestReadyMeansMigratedAndServed(t *testing.T) {
	broker := enginetest.Broker(t)
	address, _, _ := begun(t, fmt.Sprintf("postgres: {url: '%s'}\nkafka: {bootstrap_servers: ['%s'], replication_factor: 1}\nclickhouse: {url: 'clickhouse://%s'}\n",
		enginetest.Postgres(t), broker[0], free(t)), "tracker", "unzip", "insert")
	awaited(t, address, 200, "[+] tracker", "[+] unzip", "[+] insert")
}

// What does not pass by itself ends a role at its start, with what to do.
func TestRolesEndWhereWaitingDoesNotHelp(t *testing.T) {
	dsn := enginetest.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/nothing"
	_, log, ended := begun(t, fmt.Sprintf("postgres: {url: '%s'}\nkafka: {bootstrap_servers: ['%s']}\nclickhouse: {url: 'clickhouse://%s'}\n", u, free(t), free(t)), "sequence")
	select {
	case code := <-ended:
		if code != exitFailed || !strings.Contains(log.String(), `database "nothing" does not exist`) {
			t.Errorf("exit code %d\n%s", code, log)
		}
		ended <- code
	case <-time.After(wait.Patience()):
		t.Fatalf("it waits for a database that nobody has made:\n%s", log)
	}
}
