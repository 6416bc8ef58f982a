package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/obs"
	"tributary/test/wait"
)

// place is a configuration with a data directory of its own.
func place(t *testing.T) (cfg config.Config, path string) {
	t.Helper()
	dir := enginetest.Dir(t)
	path = filepath.Join(dir, "tributary.yaml")
	if err := os.WriteFile(path, []byte("data_dir: data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o711); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, path
}

func at(t *testing.T, path string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), newCLI(strings.NewReader(""), &out, &errs, nil), append(args, "--config", path))
	return code, out.String(), errs.String()
}

// running serves a broker from cfg's data directory, as another process would.
func running(t *testing.T, cfg config.Config) *engine.Engines {
	t.Helper()
	e, err := engine.Start(t.Context(), engine.Options{DataDir: cfg.DataDir, Broker: true, NoSync: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestTopicsFromPlanToTail(t *testing.T) {
	_, path := place(t)
	code, stdout, stderr := at(t, path, "topics", "plan")
	if code != exitFailed || !strings.Contains(stdout, "create tributary.document.ordered.v1 with 1 partitions") {
		t.Fatalf("plan on a new broker: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = at(t, path, "topics", "apply"); code != exitOK || strings.Count(stdout, "create ") != 13 {
		t.Fatalf("apply: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = at(t, path, "topics", "plan"); code != exitOK || stdout != "the topics are as they should be\n" {
		t.Fatalf("plan after apply, on the engine's next start: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = at(t, path, "topics", "list", "-o", "json"); code != exitOK || strings.Count(stdout, `"exists":true`) != 13 {
		t.Fatalf("list: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = at(t, path, "topics", "tail", "status.changed"); code != exitOK || stdout != "" {
		t.Fatalf("tail of an empty topic: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// Commands that ask at the same moment share the engines that one of them has
// started.
func TestQueriesShareEngines(t *testing.T) {
	_, path := place(t)
	if code, _, stderr := at(t, path, "topics", "apply"); code != exitOK {
		t.Fatal(stderr)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if code, stdout, stderr := at(t, path, "topics", "list"); code != exitOK {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	wg.Wait()
}

func TestStoresAttach(t *testing.T) {
	cfg, _ := place(t)
	log := slog.New(slog.DiscardHandler)
	if _, err := openStores(t.Context(), cfg, log, need{Kafka: true, How: attachOnly}); err == nil || !strings.Contains(err.Error(), "no engines run in") {
		t.Errorf("attachOnly without engines = %v", err)
	}
	e := running(t, cfg)
	for _, how := range []how{attachOnly, attachOrStart} {
		s, err := openStores(t.Context(), cfg, log, need{Kafka: true, How: how})
		if err != nil {
			t.Fatal(err)
		}
		if s.Engines != nil || s.Bootstrap[0] != e.Endpoints().Kafka[0] {
			t.Errorf("attached to %v, the broker is at %v", s.Bootstrap, e.Endpoints().Kafka)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, ok, err := engine.Attach(cfg.DataDir); !ok || err != nil {
		t.Errorf("the engines ended with a command that used them: %v", err)
	}
	if _, err := openStores(t.Context(), cfg, log, need{Kafka: true, Postgres: true}); err == nil || !strings.Contains(err.Error(), "without Postgres") {
		t.Errorf("engines that lack Postgres = %v", err)
	}
	var held *engine.HeldError
	if _, err := openStores(t.Context(), cfg, log, need{Kafka: true, How: startOwn}); !errors.As(err, &held) {
		t.Errorf("startOwn beside running engines = %v", err)
	}
}

func TestConfiguredAddressesStartNothing(t *testing.T) {
	cfg, _ := place(t)
	cfg.Kafka.BootstrapServers = []string{"broker:1"}
	cfg.Postgres.URL, cfg.ClickHouse.URL = "postgres://h/d", "clickhouse://h:9000"
	s, err := openStores(t.Context(), cfg, slog.New(slog.DiscardHandler), all)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Engines != nil || s.Bootstrap[0] != "broker:1" || s.PostgresURL != "postgres://h/d" || s.ClickHouse == nil || s.Tracker == nil {
		t.Errorf("stores = %+v", s)
	}
}

func TestSQL(t *testing.T) {
	found, err := engine.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, strings.Join(missing, ", "))
	}
	_, path := place(t)
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"postgres": {[]string{"--store", "tracker", "-o", "json", "SELECT 1 AS one, NULL AS none"}, exitOK, `{"one":1,"none":null}` + "\n", ""},
		"csv":      {[]string{"--store", "warehouse", "-o", "csv", "SELECT 'a,b' AS x"}, exitOK, "x\n\"a,b\"\n", ""},
		"writing":  {[]string{"--store", "tracker", "CREATE TABLE public.x (i int)"}, exitFailed, "", "only"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := at(t, path, append([]string{"sql"}, tc.args...)...)
			if code != tc.code || stdout != tc.stdout || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := at(t, path, "files"); code != exitFailed || !strings.Contains(stderr, "nothing is there yet: run tributary up") {
		t.Errorf("files of an empty database: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := at(t, path, "warehouse", "hash"); code != exitFailed || !strings.Contains(stderr, "nothing is there yet") {
		t.Errorf("hash of an empty database: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := at(t, path, "sql", "--store", "history", "SELECT 1"); code != exitFailed || !strings.Contains(stderr, "there is no history yet: run tributary up") {
		t.Errorf("history before any: exit code %d, %s", code, stderr)
	}
}

// A broker that is away makes a process not ready, and leaves it alive.
func TestReadiness(t *testing.T) {
	cfg, _ := place(t)
	e := running(t, cfg)
	s, err := openStores(t.Context(), cfg, slog.New(slog.DiscardHandler), need{Kafka: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := obs.NewHealth()
	if err := s.readiness(h, needsOf([]string{"download"})); err != nil {
		t.Fatal(err)
	}
	if results, ok := h.Ready(t.Context()); !ok || len(results) != 1 {
		t.Errorf("with its broker: %v", results)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if results, ok := h.Ready(t.Context()); ok || !strings.Contains(results[0].Reason, "no broker answers at [unix:") {
		t.Errorf("without its broker: %v", results)
	}
}

func TestNeedsOf(t *testing.T) {
	for roles, want := range map[string]need{
		"download unzip validate": {Kafka: true},
		"history":                 {Kafka: true, ClickHouse: true},
		"unzip tracker":           {Kafka: true, Postgres: true},
	} {
		if got := needsOf(strings.Fields(roles)); got != want {
			t.Errorf("%s need %+v, want %+v", roles, got, want)
		}
	}
}

// What wants engines of its own waits for a query that has started them for
// itself.
func TestStartOwnWaitsForAQuery(t *testing.T) {
	cfg, _ := place(t)
	log := slog.New(slog.DiscardHandler)
	query, err := openStores(t.Context(), cfg, log, need{Kafka: true})
	if err != nil || query.Engines == nil {
		t.Fatalf("the query has no engines of its own: %v", err)
	}
	type result struct {
		s   *stores
		err error
	}
	opened := make(chan result)
	go func() {
		s, err := openStores(t.Context(), cfg, log, need{Kafka: true, How: startOwn, Patience: wait.Patience()})
		opened <- result{s, err}
	}()
	if err := query.Close(); err != nil {
		t.Error(err)
	}
	r := <-opened
	if r.err != nil {
		t.Fatal(r.err)
	}
	if err := r.s.Close(); err != nil {
		t.Error(err)
	}
}
