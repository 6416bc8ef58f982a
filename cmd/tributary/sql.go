package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/screen"
	"tributary/queries/columnar"
	"tributary/queries/report"
	"tributary/web/client"
)

// The stores that sql asks.
const (
	storeTracker   = "tracker"
	storeWarehouse = "warehouse"
	storeHistory   = "history"
)

// maxStatement bounds a statement read from stdin, in bytes.
const maxStatement = 1 << 20

func newSQL(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sql --store tracker|warehouse|history STATEMENT",
		Short: "Ask the tracker, the warehouse or the history in SQL",
		Long: "Run one reading statement and print its rows. tracker and warehouse are schemas of Postgres, history is ClickHouse.\n" +
			"STATEMENT - is read from stdin; one that begins with a comment (-- …) is written behind the word --, as nothing behind it\n" +
			"is taken for a flag. Whatever it says, nothing is written to the store.\n" +
			"With --server it has a minute, and 1 GiB of rows.\n\n" +
			"parquet and arrow (an IPC file) keep the types of columns; csv and json say what is stored, exactly.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, append(report.Formats(), columnar.Parquet, columnar.Arrow)...)
	to := cmd.Flags().String("to", "", "the file to write, whole or not at all (default: stdout)")
	force := cmd.Flags().Bool("force", false, "replace the file of --to if it is there")
	store := cmd.Flags().String("store", "", "tracker, warehouse or history")
	timeout, server := timeoutFlag(cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTimeout(*timeout); err != nil {
			return err
		}
		statement := args[0]
		if statement == "-" {
			text, err := io.ReadAll(io.LimitReader(c.stdin, maxStatement+1))
			if err != nil {
				return fmt.Errorf("read the statement: %w", err)
			}
			if len(text) > maxStatement {
				return usagef("the statement is larger than %s", config.Bytes(maxStatement))
			}
			statement = string(text)
		}
		if *force && *to == "" {
			return usagef("--force is about the file of --to: give both")
		}
		if *to == "" && (*output == columnar.Parquet || *output == columnar.Arrow) && screen.On(c.stdout) != nil {
			return usagef("%s is no text for a terminal: give --to FILE, or send it to a file or a program", *output)
		}
		n := need{Postgres: true}
		switch *store {
		case storeTracker, storeWarehouse:
			if *timeout > report.MaxSnapshot {
				return usagef("--timeout: %s is no time for a statement on Postgres, which keeps for it what others delete meanwhile: give at most %s", *timeout, report.MaxSnapshot)
			}
		case storeHistory:
			n = need{ClickHouse: true}
		case "":
			return usagef("say which store: --store tracker, --store warehouse or --store history")
		default:
			return usagef("--store %q is not known: use tracker, warehouse or history", *store)
		}
		if server.given() {
			if cmd.Flags().Changed("timeout") {
				return errServersTime()
			}
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.into(*to, *force, func(w io.Writer) error { return r.SQL(cmd.Context(), *store, statement, w, *output) })
			})
		}
		return c.open(cmd.Context(), n, func(s *stores) error {
			s.asked = *store
			return c.into(*to, *force, func(w io.Writer) error {
				return columnar.SQL(cmd.Context(), s.ask(*store, *timeout), statement, w, *output)
			})
		})
	}
	return cmd
}

// errServersTime refuses a time where a server is asked.
func errServersTime() error {
	return usagef("--timeout goes without --server, which has a limit of its own")
}

// timeoutFlag adds --timeout for what asks a store.
func timeoutFlag(cmd *cobra.Command) *time.Duration {
	return cmd.Flags().Duration("timeout", report.Timeout, "stop the statement after so long; more than 0, at most 1h")
}

// checkTimeout refuses a --timeout that no statement can have.
func checkTimeout(d time.Duration) error {
	if err := report.CheckTimeout(d); err != nil {
		return usagef("--timeout: %w", err)
	}
	return nil
}

// ask is the store of that name, for reading.
func (s *stores) ask(store string, timeout time.Duration) report.Store {
	switch store {
	case storeTracker:
		return report.Postgres{Pool: s.Tracker, Schema: store, Timeout: timeout}
	case storeWarehouse:
		return report.Postgres{Pool: s.Warehouse, Schema: store, Timeout: timeout}
	}
	return report.ClickHouse{Conn: s.ClickHouse, Timeout: timeout, MaxMemory: int64(s.cfg.ClickHouse.MaxMemory)}
}
