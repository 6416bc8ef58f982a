package chdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sync/errgroup"

	"tributary/internal/engine/child"
)

func running(t testing.TB, k driverConn, mark string) uint64 {
	return count(t, k, "SELECT count() FROM system.processes WHERE query LIKE '/* rid:%"+mark+"%' AND query NOT LIKE '%system.processes%'")
}

func TestStatementsEndWithTheirClient(t *testing.T) {
	s := start1(t, options(t))
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE TABLE sink (n UInt64) ENGINE = Null")
	for name, sql := range map[string]string{
		"a select that computes": "SELECT /* busy */ sum(sipHash64(number)) FROM numbers(1000000000000)",
		"a select that streams":  "SELECT /* busy */ number FROM numbers(1000000000000)",
		"an insert from select":  "INSERT INTO sink /* busy */ SELECT number FROM numbers(1000000000000)",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- consume(ctx, c, sql) }()
			eventually(t, "it runs", func() bool { return running(t, c, "busy") == 1 })
			cancel()
			if err := <-ended; err == nil {
				t.Error("the client got no error")
			}
			eventually(t, "it is gone", func() bool { return running(t, c, "busy") == 0 })
		})
	}
}

func consume(ctx context.Context, c driverConn, sql string) error {
	if strings.HasPrefix(sql, "INSERT") {
		return c.Exec(ctx, sql)
	}
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func TestABatchThatBreaksOffInsertsNothing(t *testing.T) {
	s := start1(t, options(t))
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE TABLE broken (n UInt8) ENGINE = MergeTree ORDER BY n")
	conn, err := net.Dial("unix", s.o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	block := "\x01\x02" + "\x01n\x05UInt8" + "\x01\x02" // whole, but more was announced
	_, err = fmt.Fprintf(conn, "POST /?query=INSERT+INTO+broken+FORMAT+Native HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(block), block)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the insert has begun", func() bool { return running(t, c, "INSERT INTO broken") == 1 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the insert is gone", func() bool { return running(t, c, "INSERT INTO broken") == 0 })
	if n := count(t, c, "SELECT count() FROM broken"); n != 0 {
		t.Errorf("%d rows were inserted", n)
	}
}

func TestMemoryIsCapped(t *testing.T) {
	o := options(t)
	o.MaxMemory = 200 << 20
	c := connect(t, start1(t, o), nil)
	err := c.Exec(t.Context(), "SELECT length(groupArray(number)) FROM numbers(100000000)")
	wantCode(t, err, 241)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	// All statements together: each alone would fit.
	var g errgroup.Group
	errs := make([]error, 6)
	for i := range errs {
		g.Go(func() error {
			errs[i] = c.Exec(t.Context(), "SELECT length(groupArray(number)), sleep(1) FROM numbers(6000000)")
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var e *clickhouse.Exception
	if err := errors.Join(errs...); !errors.As(err, &e) || e.Code != 241 {
		t.Errorf("six statements of 64 MB or more each fit into 200 MB: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	c := connect(t, start1(t, options(t)), func(o *clickhouse.Options) { o.MaxOpenConns = 2 * maxConns })
	mustExec(t, c, "CREATE TABLE many (w UInt64, n UInt64) ENGINE = MergeTree ORDER BY (w, n)")
	g, ctx := errgroup.WithContext(t.Context())
	for w := range uint64(2 * maxConns) {
		g.Go(func() error {
			for i := range uint64(5) {
				with := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint(w, i)}))
				b, err := c.PrepareBatch(with, "INSERT INTO many")
				if err != nil {
					return err
				}
				if err := b.Append(w, i); err != nil {
					return err
				}
				if err := b.Send(); err != nil {
					return err
				}
				var n uint64
				if err := c.QueryRow(ctx, "SELECT count() FROM many WHERE w = ?", w).Scan(&n); err != nil || n != i+1 {
					return fmt.Errorf("worker %d sees %d rows, want %d: %w", w, n, i+1, err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestDeduplicationToken(t *testing.T) {
	c := connect(t, start1(t, options(t)), nil)
	mustExec(t, c, "CREATE TABLE dedup (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100")
	for _, token := range []string{"a", "b", "a"} {
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": token}))
		b, err := c.PrepareBatch(ctx, "INSERT INTO dedup")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Append(uint64(1)); err != nil {
			t.Fatal(err)
		}
		if err := b.Send(); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, c, "SELECT count() FROM dedup"); n != 2 {
		t.Errorf("%d rows, want one per token", n)
	}
}

func TestRestartAfterKill(t *testing.T) {
	o := options(t)
	s := start1(t, o)
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n")
	mustExec(t, c, "INSERT INTO kept SELECT number FROM numbers(1000)")
	if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a killed engine answers")
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same client goes on.
	if n := count(t, c, "SELECT sum(n) FROM kept"); n != 499500 {
		t.Errorf("sum = %d", n)
	}
}

// What was acknowledged is there, whole; of what was not, all or nothing.
func TestKillUnderLoad(t *testing.T) {
	const rows = 10_000
	s := start1(t, options(t))
	c := connect(t, s, nil)
	mustExec(t, c, "CREATE TABLE loaded (batch UInt64, n UInt64) ENGINE = MergeTree ORDER BY (batch, n)")
	batch := uint64(0)
	acked := map[uint64]bool{}
	for round := range 3 {
		killed := make(chan error, 1)
		for i := 0; ; i++ {
			batch++
			if i == 5+round {
				go func() { killed <- syscall.Kill(s.Pid(), syscall.SIGKILL) }()
			}
			if insert(t.Context(), c, batch, rows) != nil {
				break
			}
			acked[batch] = true
		}
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := c.Query(t.Context(), "SELECT batch, count(), sum(n) FROM loaded GROUP BY batch")
		if err != nil {
			t.Fatal(err)
		}
		there := uint64(0)
		for found.Next() {
			var b, n, sum uint64
			if err := found.Scan(&b, &n, &sum); err != nil {
				t.Fatal(err)
			}
			if n != rows || sum != rows*(rows-1)/2 {
				t.Errorf("batch %d has %d rows", b, n)
			}
			if acked[b] {
				there++
			}
		}
		if err := found.Err(); err != nil || there != uint64(len(acked)) {
			t.Errorf("round %d: %d of %d acknowledged batches are there, %v", round, there, len(acked), err)
		}
	}
}

func insert(ctx context.Context, c driverConn, batch uint64, rows int) error {
	b, err := c.PrepareBatch(ctx, "INSERT INTO loaded")
	if err != nil {
		return err
	}
	for i := range rows {
		if err := b.Append(batch, uint64(i)); err != nil {
			return err
		}
	}
	return b.Send()
}

func TestStopIsClean(t *testing.T) {
	s := start1(t, options(t))
	c := connect(t, s, nil)
	busy := make(chan error, 1)
	go func() { busy <- c.Exec(t.Context(), "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)") }()
	eventually(t, "it runs", func() bool { return running(t, c, "sipHash64") == 1 })
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := s.Process().Err(); err != nil {
		t.Errorf("it ended with %v; it said:\n%s", err, s.LastWords())
	}
	if <-busy == nil {
		t.Error("a statement that was cut off gave no error")
	}
}

func TestTheChildEndsByItselfCleanly(t *testing.T) {
	for name, end := range map[string]func(p *child.Process, stdin *os.File) error{
		"when its input does": func(_ *child.Process, stdin *os.File) error { return stdin.Close() },
		"when asked":          func(p *child.Process, _ *os.File) error { p.Signal(syscall.SIGTERM); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			if err := os.Mkdir(o.DataDir, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(o.Command[0], "--library", o.Library, "--data", o.DataDir, "--socket", o.Socket)
			cmd.Env = append(os.Environ(), o.Env...)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			cmd.Stdin = r
			p, err := child.Start(cmd, syscall.SIGKILL)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "it serves", func() bool { _, err := os.Stat(o.Socket); return err == nil })
			if err := end(p, w); err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if p.Err() != nil {
				t.Errorf("it ended with %v", p.Err())
			}
			if _, err := os.Stat(o.Socket); err == nil {
				t.Error("its socket is left")
			}
		})
	}
}

// The engine's signal handlers would turn a nil dereference into a hang.
func TestGoPanicsAreStillRecoveredInTheChild(t *testing.T) {
	o := options(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], o.Library, o.DataDir)
	cmd.Env = append(os.Environ(), envChild+"=panic")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "recovered: runtime error: invalid memory address") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTwoOnOneDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the lock for as long as a start does")
	}
	o := options(t)
	start1(t, o)
	o.Socket += "2"
	ctx, cancel := context.WithCancel(t.Context())
	second := New(o)
	failed := make(chan error, 1)
	go func() { failed <- second.Start(ctx) }()
	eventually(t, "the second one says that the first holds the directory", func() bool {
		return strings.Contains(second.LastWords(), "Cannot lock file")
	})
	cancel()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "Cannot lock file") {
		t.Errorf("the error does not say why: %v", err)
	}
}
