package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"tributary/consumers/history"
	"tributary/internal/engine"
)

func newHistory(c *cli) *cobra.Command {
	return group("history", "Prove the history equal to the log, or fill it again", newHistoryVerify(c), newHistoryRebuild(c))
}

// withHistory opens the log and ClickHouse for a command.
func (c *cli) withHistory(ctx context.Context, fn func(*history.History) error) error {
	return c.open(ctx, need{Kafka: true, ClickHouse: true}, func(s *stores) (err error) {
		_, codec, err := s.decided(ctx)
		if err != nil {
			return err
		}
		open := func(database string) (driver.Conn, error) { return engine.OpenClickHouse(s.ClickHouseURL, database) }
		if os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(history.MemoryLimit)
		}
		h := history.New(s.cfg.History, history.Deps{Open: open, Database: s.cfg.ClickHouse.Database, Codec: codec,
			Prefix: s.cfg.Kafka.TopicPrefix, Connect: s.Kafka, Log: s.log})
		defer func() {
			if cerr := h.Close(); err == nil {
				err = cerr
			}
		}()
		return fn(h)
	})
}

// every calls say at most once in a while, whoever calls it.
func every(d time.Duration, say func(done, total int64)) func(done, total int64) {
	var mu sync.Mutex
	last := time.Now()
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= d {
			last = now
			say(done, total)
		}
	}
}

func share(done, total int64) string {
	if total <= 0 {
		return "100 %"
	}
	return fmt.Sprintf("%d %%", done*100/total)
}
