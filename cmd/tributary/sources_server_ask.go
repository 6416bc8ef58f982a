package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

// checkByServer has a server check the sources that are named, or all that it has.
func (c *cli) checkByServer(ctx context.Context, r *client.Client, output string, ids []string) error {
	if len(ids) == 0 {
		if err := r.Sources(ctx, func(s report.Source) error {
			if pg.Value(s.State) != control.SourceRemoved {
				ids = append(ids, s.Source)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	var chosen []config.Source
	for _, id := range ids {
		d, err := r.Definition(ctx, order.Sources, id)
		if told := (*client.Error)(nil); errors.As(err, &told) && told.Name == "no_such_source" {
			err = usage(err)
		}
		if err != nil {
			return err
		}
		src, err := config.ParseDefinition(string(d.Definition))
		if err != nil {
			return fmt.Errorf("the server's definition of %s: %w", id, err)
		}
		src.ID = id
		chosen = append(chosen, src)
	}
	return c.tellChecks(output, chosen, func(s config.Source) (steps []checkedStep, err error) {
		done, err := r.Check(ctx, s.ID)
		for _, step := range done.Steps {
			steps = append(steps, checkedStep{s.ID, step})
		}
		return steps, badOrder(err)
	})
}

// filteredByServer has a server say what a source's filters do, and how many entries it
// shows of which the names are not kept.
func filteredByServer(ctx context.Context, r *client.Client, id string, values []string) (filtered, error) {
	keys, err := keysOf(order.Sources, values)
	if err != nil {
		return filtered{}, err
	}
	counts, err := r.TestFilters(ctx, id, keys)
	if err != nil {
		return filtered{}, badOrder(err)
	}
	total, kept, err := r.Ignored(ctx, id)
	return filtered{id, counts, total - int64(len(kept))}, err
}

// maxApplied bounds a file that a server is to apply, in bytes.
const maxApplied = 900_000

// applyByServer has a server define sources or centres as a file lists them.
func (c *cli) applyByServer(cmd *cobra.Command, f *serverFlags, on, file string, prune, dry bool) error {
	if file == "" {
		return usagef("-f FILE is missing: with --server a file is applied; a server's configuration is declared where its members run")
	}
	name, in, _, err := c.openFile(file)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxApplied+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s can't be read: %w", name, err)
	case len(text) > maxApplied:
		return usagef("%s has more than %d bytes, which no server takes: apply it in parts, or where the stores are", name, maxApplied)
	}
	return c.definedByServer(cmd, f, firstColumn(on), func(r *client.Client, reason string) ([]sources.Change, error) {
		return r.Apply(cmd.Context(), client.Many{Of: on, Text: string(text), Name: name, Prune: prune, Reason: reason, DryRun: dry})
	})
}

// exporter is a command that writes sources or centres as a file.
func (c *cli) exporter(cmd *cobra.Command, on string, export func(context.Context, pg.Querier, []string) ([]byte, error)) *cobra.Command {
	server := addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				text, err := r.Export(cmd.Context(), on, args)
				if err != nil {
					return err
				}
				_, err = io.WriteString(c.stdout, text)
				return err
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			text, err := export(cmd.Context(), s.Control, args)
			if sources.Refused(err) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(text)
			return err
		})
	}
	return cmd
}
