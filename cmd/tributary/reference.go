package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/blob"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

func newReference(c *cli) *cobra.Command {
	return group("reference", "Look at reference data and load it", newReferenceList(c), newReferenceLoad(c))
}

func newReferenceList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the profile's reference tables and what they hold",
		Long:  "List the profile's reference tables: rows, the file they were loaded from, columns, and how many data checks are off until the table is loaded; -o json names them.",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			_, m, statements, err := s.statements()
			if err != nil {
				return err
			}
			return c.list(*output, warehouse.ReferenceHeader(), func(row func(any, ...string) error) error {
				for _, ref := range m.References {
					r, err := statements.Reference(cmd.Context(), s.Warehouse, ref)
					if err != nil {
						return err
					}
					if err := row(r, r.Cells()...); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return cmd
}

func newReferenceLoad(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load NAME FILE.csv",
		Short: "Load a reference table from a CSV file",
		Long: "Replace what a reference table holds by a CSV file: UTF-8, commas, and a first line that names columns of the\n" +
			"table (see reference list), in any order, those of its key among them. What is empty is not known. The data\n" +
			"checks that need the table judge all current records again. A file that can't be loaded changes nothing.\n\n" +
			"A running system does it; where none runs, this command runs what it takes meanwhile. Ctrl-C or the end of\n" +
			"--timeout stops the waiting only: what was asked for is done later.",
		Args: cobra.ExactArgs(2),
	}
	output := outputFlag(cmd, "text", "json")
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	timeout := cmd.Flags().Duration("timeout", operationTimeout, "wait at most so long until it is applied")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, err := c.loadReference(cmd.Context(), args[0], args[1], *reason, *timeout)
		if err != nil {
			return err
		}
		return c.writeOperation(done, *output)
	}
	return cmd
}

func (c *cli) loadReference(ctx context.Context, name, path, reason string, timeout time.Duration) (operation, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return operation{}, usagef("there is no file %s", path)
	}
	if err != nil {
		return operation{}, fmt.Errorf("open the file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return operation{}, usagef("%s is no file", path)
	}
	return c.operate(ctx, timeout, func(ctx context.Context, a *app) (control.Operation, error) {
		if a.mapping.Reference(name) == nil {
			var names []string
			for _, r := range a.mapping.References {
				names = append(names, r.Name)
			}
			return control.Operation{}, usagef("the profile %s has no reference table %q: it has %s", a.profile.Name, name, strings.Join(names, ", "))
		}
		ref, err := blob.Put(ctx, a.blobs, f)
		if err != nil {
			return control.Operation{}, fmt.Errorf("store %s: %w", path, err)
		}
		return control.RequestReference(ctx, a.stores.Control, control.Reference{Name: name, File: filepath.Base(path), Blob: ref.SHA256, By: requester(), Reason: reason}, now())
	})
}
