package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/engine/chdb"
	"tributary/internal/engine/install"
)

// ChildCommand is the hidden subcommand that the ClickHouse child is started
// with; its body is [RunClickHouseChild].
const ChildCommand = "engine-clickhouse"

func (e *Engines) startClickHouse(ctx context.Context, o Options, found install.Found) error {
	if found.ChDB == "" {
		return fmt.Errorf("ClickHouse's engine is not installed: run tributary engines fetch (or make engines); looked in %v", found.Searched)
	}
	if len(o.ClickHouseCommand) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("which program to run ClickHouse's engine with: %w", err)
		}
		o.ClickHouseCommand = []string{self, ChildCommand}
	}
	socket := filepath.Join(e.run, "ch", "s")
	if err := secureDir(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	s := chdb.New(chdb.Options{
		Library: found.ChDB, DataDir: filepath.Join(o.DataDir, "clickhouse"), Socket: socket,
		MaxMemory: o.ClickHouseMaxMemory, Command: o.ClickHouseCommand, Logger: o.Logger,
	})
	if err := s.Start(ctx); err != nil {
		return err
	}
	e.clickhouse = s
	e.endpoints.ClickHouse = s.Endpoint()
	return nil
}

// OpenClickHouse returns a client for the embedded engine ("unix:" and a path)
// or for a real server (an address as clickhouse-go writes it, for example
// clickhouse://user:password@host:9000/database). A database that is not empty
// replaces the address's. Nothing is sent yet.
func OpenClickHouse(endpoint, database string) (driver.Conn, error) {
	return chdb.Dial(endpoint, database)
}

// RunClickHouseChild is the body of the hidden subcommand [ChildCommand]. It
// serves until ctx ends, a signal asks it to stop, or its standard input ends. The engine's
// library is opened by bind: sharedlib.Bind.
func RunClickHouseChild(ctx context.Context, args []string, bind chdb.Bind) error {
	return chdb.RunChild(ctx, args, bind)
}
