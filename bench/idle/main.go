// Command idle measures what waiting costs: one process (up) has ingested what its
// sources show, and polls them without finding anything new. Its lines tell how much of
// one processor the program and its engines take, how many statements a second reach
// Postgres, and, with -statements, which. Nothing but the processor's time and counts is
// told, so that a machine that is busy elsewhere measures the same.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/bench/counters"
	"tributary/bench/program"
	"tributary/test/corpus"
	"tributary/test/rig"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program")
	flag.DurationVar(&b.interval, "interval", 2*time.Second, "between polls of each of the four sources")
	flag.DurationVar(&b.settle, "settle", 15*time.Second, "how long is waited after the last file")
	flag.DurationVar(&b.span, "for", time.Minute, "how long is measured")
	flag.IntVar(&b.statements, "statements", 0, "how many of the most frequent statements are listed; Postgres counts them only if this is above 0, which costs it some itself")
	flag.StringVar(&b.extra, "config", "", "YAML to add to the configuration")
	program.Main("idle", b.run)
}

// zips is how many files lie at the sources.
const zips = 40

type bench struct {
	binary, extra          string
	interval, settle, span time.Duration
	statements             int
}

func (b *bench) run(ctx context.Context) error {
	binary, err := filepath.Abs(b.binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tributary-idle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs the embedded Postgres
		return err
	}
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: zips})
	if err != nil {
		return err
	}
	r, err := rig.Start(ctx, dir, c, rig.Options{Extra: fmt.Sprintf("schedule: {interval: %s}\npoll: {settle: 0s}\n%s", b.interval, b.extra)})
	if err != nil {
		return err
	}
	defer r.Stop()
	data := filepath.Join(dir, "data")
	if out, err := exec.CommandContext(ctx, binary, "up", "--once", "--config", r.Config, "--log-level", "error").CombinedOutput(); err != nil {
		return fmt.Errorf("tributary up --once: %w\n%s", err, out)
	}
	if b.statements > 0 {
		if err := counters.CountStatements(data); err != nil {
			return err
		}
	}
	up := exec.CommandContext(ctx, binary, "up", "--config", r.Config, "--log-level", "warn")
	up.Stderr = os.Stderr
	up.Cancel = func() error { return up.Process.Signal(syscall.SIGTERM) }
	if err := up.Start(); err != nil {
		return err
	}
	defer func() {
		_ = up.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = up.Wait()
	}()
	return b.measure(ctx, up.Process.Pid, data)
}

// counted is what Postgres has done for all databases, without what it was asked here.
type counted struct {
	transactions, wal int64
}

func count(ctx context.Context, conn *pgx.Conn) (c counted, err error) {
	err = conn.QueryRow(ctx, `SELECT sum(xact_commit + xact_rollback)::bigint, (SELECT wal_bytes FROM pg_stat_wal)::bigint FROM pg_stat_database`).Scan(&c.transactions, &c.wal)
	return c, err
}

func (b *bench) measure(ctx context.Context, program int, data string) error {
	conn, err := counters.Connect(ctx, data)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := pause(ctx, b.settle); err != nil {
		return err
	}
	if b.statements > 0 {
		for _, do := range []string{"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "SELECT pg_stat_statements_reset()"} {
			if _, err := conn.Exec(ctx, do); err != nil {
				return err
			}
		}
	}
	before, err := counters.Of(program)
	if err != nil {
		return err
	}
	pg, err := count(ctx, conn)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, b.span); err != nil {
		return err
	}
	after, err := counters.Of(program)
	if err != nil {
		return err
	}
	now, err := count(ctx, conn)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	if err := b.list(ctx, conn, took); err != nil {
		return err
	}
	u := after.Minus(before)
	fmt.Printf("bench idle interval=%s processors=%.3f program=%.3f postgres=%.3f clickhouse=%.3f transactions=%.1f/s wal=%.0fB/s\n", b.interval, (u.Program+u.Engines()).Seconds()/took,
		u.Program.Seconds()/took, u.Postgres.Seconds()/took, u.ClickHouse.Seconds()/took, float64(now.transactions-pg.transactions)/took, float64(now.wal-pg.wal)/took)
	return nil
}

// list prints the most frequent statements.
func (b *bench) list(ctx context.Context, conn *pgx.Conn, seconds float64) error {
	if b.statements == 0 {
		return nil
	}
	var all, took float64
	if err := conn.QueryRow(ctx, "SELECT sum(calls), sum(total_exec_time) FROM pg_stat_statements").Scan(&all, &took); err != nil {
		return err
	}
	fmt.Printf("%.1f statements a second, which take %.1f ms of it\n", all/seconds, took/seconds)
	rows, err := conn.Query(ctx, "SELECT calls::float8, total_exec_time, regexp_replace(left(query, 250), '\\s+', ' ', 'g') FROM pg_stat_statements ORDER BY calls DESC LIMIT $1", b.statements)
	if err != nil {
		return err
	}
	var calls, ms float64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &ms, &text}, func() error {
		fmt.Printf("%6.2f/s %6.3f ms/s %.110s\n", calls/seconds, ms/seconds, text)
		return nil
	})
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
