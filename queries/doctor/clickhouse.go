package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/blob"
	"tributary/internal/engine"
	"tributary/sql/history"
)

// Codes of ClickHouse's errors.
const (
	clickUnknownUser   = 192
	clickWrongPassword = 193
	clickRefused       = 516 // authentication failed
	clickNotAllowed    = 497
)

func (s *stores) clickhouse(ctx context.Context, r *report) {
	const key = "clickhouse.url"
	if s.clickAt == "" {
		s.unreached(r, s.embedded().ClickHouse, key)
		return
	}
	server, err := engine.OpenClickHouse(s.clickAt, "")
	if err != nil {
		r.found(CheckFailed, key, "correct it: clickhouse://user@host:9000/database", "%s", err)
		return
	}
	defer server.Close()
	version, err := history.ServerVersion(ctx, server)
	if err != nil {
		refusedByClickHouse(r, err)
		return
	}
	r.ok(key, "connected, version %s", version)
	for _, ask := range []func(context.Context, *report, driver.Conn) error{s.grants, s.clickClock, s.disks} {
		if err := ask(ctx, r, server); err != nil {
			r.failed(key, err)
			return
		}
	}
	if err := s.database(ctx, r, server); err != nil {
		r.failed("clickhouse.database", err)
	}
}

func refusedByClickHouse(r *report, err error) {
	var answered *clickhouse.Exception
	if errors.As(err, &answered) {
		switch answered.Code {
		case clickUnknownUser, clickWrongPassword, clickRefused:
			r.found(LoginRefused, "clickhouse.url", "correct user and password in clickhouse.url, or make this user on the server", "%s", err)
			return
		case clickNotAllowed:
			r.found(RightsMissing, "clickhouse.url", "GRANT on the server what the message names", "%s", err)
			return
		}
	}
	unanswered(r, "clickhouse.url", err)
}

// Grants are what Tributary needs to be allowed in the history's database.
func Grants() []string {
	return []string{"CREATE DATABASE", "CREATE TABLE", "CREATE VIEW", "INSERT", "SELECT", "ALTER"}
}

func (s *stores) grants(ctx context.Context, r *report, server driver.Conn) error {
	lacks := false
	for _, right := range Grants() {
		var has bool
		if err := server.QueryRow(ctx, "CHECK GRANT "+right+" ON `"+s.Config.ClickHouse.Database+"`.*").Scan(&has); err != nil {
			return ctx.Err() // before 24.11 there is no such question
		}
		if !has {
			lacks = true
			r.found(RightsMissing, "clickhouse.database", fmt.Sprintf("GRANT %s ON %s.* TO the user of clickhouse.url", right, s.Config.ClickHouse.Database), "the user may not %s", right)
		}
	}
	if !lacks {
		r.ok("rights", "the user may do in %s what is needed", s.Config.ClickHouse.Database)
	}
	return nil
}

func (s *stores) clickClock(ctx context.Context, r *report, server driver.Conn) error {
	return s.clock(r, func() (at time.Time, err error) {
		return at, server.QueryRow(ctx, "SELECT now64(6, 'UTC')").Scan(&at)
	})
}

// disks finds out whether the server's disks have room. One that is this machine's
// is looked at again there.
func (s *stores) disks(ctx context.Context, r *report, server driver.Conn) error {
	var name string
	var free, total uint64
	for err := range history.Each(ctx, server, "ask for the disks", []any{&name, &free, &total}, "SELECT name, free_space, total_space FROM system.disks ORDER BY name LIMIT 20") {
		if err != nil {
			return err
		}
		usage := blob.Usage{Free: int64(min(free, math.MaxInt64)), Total: int64(min(total, math.MaxInt64))}
		if total > 0 && total < math.MaxInt64 { // object stores have no end
			s.low(r, "disk "+name, usage)
		}
	}
	return nil
}

// database finds out whether the history's database is there, and what made it.
func (s *stores) database(ctx context.Context, r *report, server driver.Conn) error {
	name := s.Config.ClickHouse.Database
	var there bool
	if err := server.QueryRow(ctx, "SELECT count() > 0 FROM system.databases WHERE name = ?", name).Scan(&there); err != nil {
		return fmt.Errorf("ask for the database: %w", err)
	}
	if !there {
		r.found(DatabaseMissing, "clickhouse.database", "start a member with the role history (tributary up, or run history), which makes it, or correct clickhouse.database", "there is no database %s", name)
		return nil
	}
	conn, err := engine.OpenClickHouse(s.clickAt, name)
	if err != nil {
		return err
	}
	defer conn.Close()
	has, err := history.Statements()
	if err != nil {
		return err
	}
	had, err := history.Executed(ctx, conn)
	if err != nil {
		return fmt.Errorf("ask for the statements that made %s: %w", name, err)
	}
	r.compareMigrations("database "+name, has, had)
	return nil
}
