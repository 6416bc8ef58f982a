package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"tributary/internal/engine"
	"tributary/internal/engine/child"
	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/sharedlib"
	"tributary/test/wait"
)

// TestMain lets this test binary be the ClickHouse child, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		if err := engine.RunClickHouseChild(context.Background(), os.Args[2:], sharedlib.Bind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(envHold); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

// envHold makes the test binary serve all engines in the directory it names
// until it is killed.
const envHold = "TRIBUTARY_TEST_HOLD_ENGINES"

func hold(dir string) {
	_, err := engine.Start(context.Background(), engine.Options{DataDir: dir, Broker: true, Postgres: true, ClickHouse: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	select {}
}

// holder starts another process that serves dir.
func holder(t testing.TB, dir string) (pid int, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envHold+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	if n, err := out.Read(buf); err != nil || string(buf[:n]) != "held\n" {
		t.Fatalf("the holder said %q, %v", buf[:n], err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	t.Cleanup(kill)
	return cmd.Process.Pid, kill
}

// options are those of all engines in a new directory; it skips where one is
// missing.
func options(t testing.TB) engine.Options {
	t.Helper()
	found, err := engine.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if missing := found.Missing(); len(missing) > 0 {
		enginetest.Missing(t, fmt.Sprint(missing))
	}
	return engine.Options{
		DataDir: enginetest.Dir(t), Broker: true, Postgres: true, ClickHouse: true, NoSync: true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
}

func start(t testing.TB, o engine.Options) *engine.Engines {
	t.Helper()
	e, err := engine.Start(t.Context(), o)
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

// eventually polls until try gives no error.
func eventually(t testing.TB, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within a minute: %v", err)
		case <-tick.C:
		}
	}
}

func pgExec(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func chExec(ctx context.Context, endpoint, sql string) error {
	conn, err := engine.OpenClickHouse(endpoint, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Exec(ctx, sql)
}

func TestAllStartStopAndKeepTheirData(t *testing.T) {
	o := options(t)
	e := start(t, o)
	ep := e.Endpoints()
	if err := pgExec(t.Context(), ep.Postgres, "CREATE TABLE kept (id int)"); err != nil {
		t.Fatal(err)
	}
	if err := chExec(t.Context(), ep.ClickHouse, "CREATE TABLE kept (id UInt8) ENGINE = MergeTree ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, running, err := engine.Attach(o.DataDir); running || err != nil {
		t.Errorf("attach after close: %v, %v", running, err)
	}
	again := start(t, o).Endpoints()
	if again.Kafka[0] != ep.Kafka[0] {
		t.Errorf("the broker was at %s and is now at %s", ep.Kafka[0], again.Kafka[0])
	}
	if err := pgExec(t.Context(), again.Postgres, "SELECT id FROM kept"); err != nil {
		t.Error(err)
	}
	if err := chExec(t.Context(), again.ClickHouse, "SELECT id FROM kept"); err != nil {
		t.Error(err)
	}
}

func TestASecondStartNamesTheHolder(t *testing.T) {
	o := options(t)
	o.Postgres, o.ClickHouse = false, false
	start(t, o)
	_, err := engine.Start(t.Context(), o)
	var held *engine.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("error is %v", err)
	}
	if held.Pid != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || !strings.Contains(err.Error(), o.DataDir) {
		t.Errorf("the error does not name the holder: %v", err)
	}
}

func TestAttach(t *testing.T) {
	o := options(t)
	if _, running, err := engine.Attach(o.DataDir); running || err != nil {
		t.Errorf("before the first start: %v, %v", running, err)
	}
	pid, kill := holder(t, o.DataDir)
	ep, running, err := engine.Attach(o.DataDir)
	if !running || err != nil {
		t.Fatalf("running %v, %v", running, err)
	}
	if err := pgExec(t.Context(), ep.Postgres, "CREATE TABLE kept (id int)"); err != nil {
		t.Error(err)
	}
	if err := chExec(t.Context(), ep.ClickHouse, "CREATE TABLE kept (id UInt8) ENGINE = MergeTree ORDER BY id"); err != nil {
		t.Error(err)
	}
	if len(ep.Kafka) != 1 {
		t.Errorf("brokers: %v", ep.Kafka)
	}
	_, err = engine.Start(t.Context(), o)
	var held *engine.HeldError
	if !errors.As(err, &held) || held.Pid != pid {
		t.Errorf("error of a second start is %v, want the holder %d", err, pid)
	}

	// Killed, its file stays, and yet nothing is attached to; a new start is
	// clean though the children may still be stopping.
	kill()
	if _, running, err := engine.Attach(o.DataDir); running || err != nil {
		t.Errorf("after the kill: %v, %v", running, err)
	}
	again := start(t, o).Endpoints()
	if diff := cmp.Diff(ep, again); diff != "" {
		t.Errorf("endpoints changed: %s", diff)
	}
	if err := pgExec(t.Context(), again.Postgres, "SELECT id FROM kept"); err != nil {
		t.Error(err)
	}
	if err := chExec(t.Context(), again.ClickHouse, "SELECT id FROM kept"); err != nil {
		t.Error(err)
	}
}

func TestDeadChildrenAreRestarted(t *testing.T) {
	e := start(t, options(t))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(context.Background()) }()
	ep := e.Endpoints()
	for range 2 {
		for name, pid := range e.Pids() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, func(context.Context) error {
				if now := e.Pids()[name]; now == pid {
					return fmt.Errorf("%s is still process %d", name, pid)
				}
				return nil
			})
		}
		eventually(t, func(ctx context.Context) error { return pgExec(ctx, ep.Postgres, "SELECT 1") })
		eventually(t, func(ctx context.Context) error { return chExec(ctx, ep.ClickHouse, "SELECT 1") })
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run ended with %v", err)
	}
	for name, pid := range e.Pids() {
		if child.Alive(pid) {
			t.Errorf("%s is left as process %d", name, pid)
		}
	}
}

// An engine whose directory was deleted under it would go on with the files that
// it holds open, and fail at all others: it begins anew instead.
func TestClickHouseBeginsAnewWhereItsDirectoryIsDeleted(t *testing.T) {
	o := options(t)
	o.Broker, o.Postgres = false, false
	e := start(t, o)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(context.Background()) }()
	endpoint, pid := e.Endpoints().ClickHouse, e.Pids()["clickhouse"]
	for _, sql := range []string{"CREATE TABLE kept (id Int64) ENGINE = MergeTree ORDER BY id", "INSERT INTO kept SELECT number FROM numbers(10)"} {
		if err := chExec(t.Context(), endpoint, sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(o.DataDir, "clickhouse")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if now := e.Pids()["clickhouse"]; now == pid {
			return fmt.Errorf("it is still process %d", pid)
		}
		return chExec(ctx, endpoint, "CREATE TABLE kept (id Int64) ENGINE = MergeTree ORDER BY id")
	})
	if err := chExec(t.Context(), endpoint, "INSERT INTO kept SELECT number FROM numbers(10)"); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run ended with %v", err)
	}
}

func TestAFailedStartStopsWhatHasStarted(t *testing.T) {
	o := options(t)
	o.ClickHouseCommand = []string{"/bin/false"}
	if _, err := engine.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "embedded ClickHouse") {
		t.Fatalf("error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.DataDir, "postgres", "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Postgres was left running: %v", err)
	}
	o.ClickHouseCommand = nil
	start(t, o)
}

func TestALongDataDirectory(t *testing.T) {
	o := options(t)
	o.Broker = false
	o.DataDir = filepath.Join(o.DataDir, strings.Repeat("long/", 25)+"data dir")
	e := start(t, o)
	if err := pgExec(t.Context(), e.Endpoints().Postgres, "SELECT 1"); err != nil {
		t.Error(err)
	}
	if err := chExec(t.Context(), e.Endpoints().ClickHouse, "SELECT 1"); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	run := filepath.Dir(filepath.Dir(strings.TrimPrefix(e.Endpoints().ClickHouse, "unix:")))
	if strings.HasPrefix(run, o.DataDir) {
		t.Fatalf("the sockets were at %s", run)
	}
	if _, err := os.Stat(run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", run, err)
	}
}

func TestAClusterOfAnotherVersionIsExplained(t *testing.T) {
	o := options(t)
	o.Broker, o.ClickHouse = false, false
	if err := os.MkdirAll(filepath.Join(o.DataDir, "postgres"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.DataDir, "postgres", "PG_VERSION"), []byte("11\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "was made by Postgres 11") {
		t.Errorf("error is %v", err)
	}
}

func TestOpenClickHouseHidesThePassword(t *testing.T) {
	for _, address := range []string{"", "clickhouse://user:secret@host:bad/db?x=%zz", "http://user:secret@%%"} {
		_, err := engine.OpenClickHouse(address, "")
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error is %v", address, err)
		}
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	o := options(t)
	before := goleak.IgnoreCurrent()
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context()) }()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	goleak.VerifyNone(t, before)
}
