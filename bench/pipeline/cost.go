package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"tributary/bench/counters"
)

// cost tells what our side alone takes, in counts and in time of the processor, which a
// machine that is busy elsewhere hardly changes: with it is one round, without a peer.
func (b *bench) cost(ctx context.Context) error {
	r, err := b.rig(ctx, "cost", b.zips)
	if err != nil {
		return err
	}
	defer r.Stop()
	if err := warm(ctx, b.binary, r.Config); err != nil {
		return err
	}
	data := filepath.Join(r.Dir, "data")
	if err := counters.CountStatements(data); err != nil {
		return err
	}
	before, err := read(ctx, b.binary, r.Config, data, 0)
	if err != nil {
		return err
	}
	used, err := once(ctx, b.binary, r)
	if err != nil {
		return err
	}
	after, err := read(ctx, b.binary, r.Config, data, b.statements)
	if err != nil {
		return err
	}
	zips := float64(b.zips)
	fmt.Printf("bench cost zips=%d processor=%.2fms/zip statements=%.1f/zip wal=%.0fB/zip memory=%.0fMB\n", b.zips, used.cpu*1000/zips,
		float64(after.statements-before.statements)/zips, float64(after.wal-before.wal)/zips, used.memory)
	return nil
}

// counts are what Postgres has done since its data directory was made.
type counts struct{ statements, wal int64 }

// read starts the engines and reads what Postgres has counted, of which it lists the
// statements that took longest.
func read(ctx context.Context, binary, config, data string, list int) (n counts, err error) {
	engines := exec.CommandContext(ctx, binary, "engines", "--config", config, "--log-level", "error")
	engines.Stderr = os.Stderr
	if err := engines.Start(); err != nil {
		return n, err
	}
	defer func() {
		_ = engines.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = engines.Wait()
	}()
	conn, err := counters.Connect(ctx, data)
	if err != nil {
		return n, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"); err != nil {
		return n, err
	}
	if err := conn.QueryRow(ctx, "SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements)::bigint, (SELECT wal_bytes FROM pg_stat_wal)::bigint").Scan(&n.statements, &n.wal); err != nil {
		return n, err
	}
	if list == 0 {
		_, err = conn.Exec(ctx, "SELECT pg_stat_statements_reset()")
		return counts{wal: n.wal}, err
	}
	rows, err := conn.Query(ctx, `SELECT calls, total_exec_time, wal_bytes::bigint, regexp_replace(left(query, 400), '\s+', ' ', 'g') FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT $1`, list)
	if err != nil {
		return n, err
	}
	var calls, wal int64
	var ms float64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &ms, &wal, &text}, func() error {
		fmt.Printf("%7d calls %8.0f ms %8.1f kB of WAL: %.120s\n", calls, ms, float64(wal)/1000, text)
		return nil
	})
	return n, err
}
