package history

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/chdb"
	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// killsEnv is how many rebuilds, and how many engines under rebuilds, are
// killed; without it a few are.
const killsEnv = "TRIBUTARY_HISTORY_KILLS"

// moments are the lines that a process that rebuilds writes, of which it is
// killed at one or some time after it.
const (
	filling    = "filling"
	exchanging = "exchanging"
	exchanged  = "exchanged"
)

// rebuildAlone is the process that rebuilds; its arguments are where all is.
func rebuildAlone(ctx context.Context, args []string) error {
	endpoint, database, brokers := args[0], args[1], args[2:]
	c, err := schemas.NewCodec()
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	settings := config.Default().Kafka
	h := New(config.History{}, Deps{Open: func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }, Database: database, Codec: c,
		Prefix: settings.TopicPrefix, Connect: kafka.NewFactory(settings, brokers, quiet), Log: quiet})
	_, err = h.Rebuild(ctx, RebuildOptions{
		Batch:          60,
		Progress:       func(int64, int64) { fmt.Println(filling) },
		beforeExchange: func() { fmt.Println(exchanging) }, afterExchange: func() { fmt.Println(exchanged) },
	})
	return err
}

// TestKilledRebuild kills processes that rebuild, and then the engine under
// such, at any moment: what is there is the table as it was, which differs from
// the log, or the new one, and never a mixture; and in the end a rebuild
// succeeds and leaves nothing behind.
func TestKilledRebuild(t *testing.T) {
	kills, seed := 2, rand.Uint64()
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	t.Logf("%d kills of each; seed %d", kills, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	cluster := enginetest.Cluster(t)
	l := logOn(t, cluster.ListenAddrs(), 3)
	l.events(t, 900)
	server := ownEngine(t)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(server.Endpoint(), name) }
	h := New(config.History{}, Deps{Open: open, Database: "killed", Codec: l.codec, Log: slog.New(slog.DiscardHandler)})
	defer h.Close()
	l.store(t, h)
	whole := contents(t, open)
	outcomes := map[string]int{}
	for n := range 2 * kills {
		byHand := spoil(t, open, n)
		p := startRebuild(t, server.Endpoint(), cluster.ListenAddrs())
		victim, name := p.Process, "rebuild"
		if n >= kills {
			var err error
			if victim, err = os.FindProcess(server.Pid()); err != nil {
				t.Fatal(err)
			}
			name = "engine"
		}
		when := p.await(random)
		if err := victim.Kill(); err != nil {
			t.Fatal(err)
		}
		err := p.Wait()
		if n >= kills {
			<-server.Done()
			if err := server.Start(t.Context()); err != nil {
				t.Fatalf("the engine, killed %s, does not start again: %v", when, err)
			}
		}
		switch got := contents(t, open); got {
		case whole:
			outcomes[name+": new"]++
		case byHand:
			outcomes[name+": old"]++
			if err == nil {
				t.Fatalf("%s killed %s: the rebuild says that it succeeded, and the table is the old one", name, when)
			}
		default:
			t.Fatalf("%s killed %s: the table is %s; it was %s, the new one is %s", name, when, got, byHand, whole)
		}
		l.rebuild(t, another(t, h), RebuildOptions{})
		if got := contents(t, open); got != whole {
			t.Fatalf("%s killed %s: after another rebuild the table is %s, want %s", name, when, got, whole)
		}
		if left := tables(t, open); left != "" {
			t.Fatalf("%s killed %s: after another rebuild there are %s", name, when, left)
		}
	}
	t.Logf("what was there after a kill: %v", outcomes)
	l.equal(t, another(t, h))
}

// ownEngine is an engine that no other test uses, so that it can be killed.
func ownEngine(t *testing.T) *chdb.Server {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if found.ChDB == "" {
		enginetest.Missing(t, "ClickHouse's engine (libchdb.so)")
	}
	dir := enginetest.Dir(t)
	s := chdb.New(chdb.Options{
		Library: found.ChDB, DataDir: filepath.Join(dir, "ch"), Socket: filepath.Join(dir, "ch.sock"),
		Command: []string{os.Args[0]}, Env: []string{roleEnv + "=engine"}, Logger: slog.New(slog.DiscardHandler),
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// rebuildProcess is a process that rebuilds.
type rebuildProcess struct {
	*osexec.Cmd
	lines chan string // closed at its end
}

func startRebuild(t *testing.T, endpoint string, brokers []string) *rebuildProcess {
	t.Helper()
	cmd := osexec.Command(os.Args[0], append([]string{endpoint, "killed"}, brokers...)...)
	cmd.Env = append(os.Environ(), roleEnv+"=rebuild")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &rebuildProcess{cmd, make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

// await waits for a moment in the life of the process, and says which.
func (p *rebuildProcess) await(random *rand.Rand) string {
	moment := []string{"", filling, filling, exchanging, exchanged}[random.IntN(5)]
	times := 1
	if moment == filling {
		times += random.IntN(15) // of 900 rows in batches of 60
	}
	after := time.Duration(random.IntN(20)) * time.Millisecond
	if moment == "" {
		after = time.Duration(random.IntN(400)) * time.Millisecond
	} else {
		for line := range p.lines {
			if line == moment {
				times--
			}
			if times == 0 {
				break
			}
		}
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case _, running := <-p.lines:
			if !running {
				return "at its end"
			}
		case <-timer.C:
			return fmt.Sprintf("%s after %q", after, moment)
		}
	}
}

// query asks on a connection of its own: others may have lost their engine.
func query(t *testing.T, open Open, sql string) (out string) {
	t.Helper()
	conn, err := open("killed")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// contents tell of all rows of the history.
func contents(t *testing.T, open Open) string {
	t.Helper()
	return query(t, open, "SELECT concat(toString(count()), ' rows, ', hex(sum("+rowHash()+"))) FROM log")
}

// tables are those that rebuilds have left.
func tables(t *testing.T, open Open) string {
	t.Helper()
	return query(t, open, "SELECT arrayStringConcat(groupArray(name), ', ') FROM system.tables WHERE database = 'killed' AND startsWith(name, '"+builtPrefix+"')")
}

// spoil changes a row by hand and takes one away, so that the table is not the
// one that a rebuild makes, and tells of its contents.
func spoil(t *testing.T, open Open, n int) string {
	t.Helper()
	conn, err := open("killed")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec(t, conn, fmt.Sprintf("ALTER TABLE event UPDATE message = 'by hand %d' WHERE offset = 3 SETTINGS mutations_sync = 2", n))
	exec(t, conn, "DELETE FROM event WHERE offset = 7")
	return contents(t, open)
}
