package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
)

// TestMain lets this test binary be the ClickHouse child, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		if err := engine.RunClickHouseChild(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
