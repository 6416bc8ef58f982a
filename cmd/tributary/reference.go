package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

func newReference(c *cli) *cobra.Command {
	return group("reference", "Look at reference data and load it", newReferenceList(c), newReferenceLoad(c))
}

// reference is a reference table of the profile, as -o json writes it.
type reference struct {
	Name     string   `json:"name"`
	Comment  string   `json:"comment"`
	Key      []string `json:"key"`
	Columns  []string `json:"columns"`
	Checks   []string `json:"checks"` // that are off until it is loaded
	Rows     *int64   `json:"rows"`   // nil if it is not loaded
	File     *string  `json:"file"`
	SHA256   *string  `json:"sha256"`
	Position *int64   `json:"position"`
}

func (r reference) cells() []string {
	loaded, file, checks := "not loaded", "", "on"
	if r.Rows == nil {
		checks = "off"
	}
	if r.Rows != nil {
		loaded, file = strconv.FormatInt(*r.Rows, 10), *r.File
	}
	return []string{r.Name, loaded, file, fmt.Sprintf("%d %s", len(r.Checks), checks), strings.Join(r.Columns, ","), r.Comment}
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
		return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, s *stores) error {
			p, m, err := configuredMapping(cfg)
			if err != nil {
				return err
			}
			statements, err := warehouse.Load(p.FS())
			if err != nil {
				return fmt.Errorf("SQL of profile %s: %w", p.Name, err)
			}
			out, err := report.NewOutput(c.stdout, *output, "name", "rows", "file", "checks", "columns", "comment")
			if err != nil {
				return usage(err)
			}
			for _, ref := range m.References {
				r, err := readReference(cmd.Context(), s, ref, statements)
				if err != nil {
					return err
				}
				if err := out.Row(r, r.cells()...); err != nil {
					return err
				}
			}
			return out.Close()
		})
	}
	return cmd
}

func readReference(ctx context.Context, s *stores, ref *mapping.Reference, statements *warehouse.Statements) (reference, error) {
	r := reference{Name: ref.Name, Comment: ref.Comment, Key: ref.Key, Columns: columnsOf(ref), Checks: append([]string{}, statements.Needed(ref.Name)...)}
	err := s.Warehouse.QueryRow(ctx, "SELECT rows, loaded_file, blob, position FROM warehouse.reference_load WHERE name = $1", ref.Name).Scan(&r.Rows, &r.File, &r.SHA256, &r.Position)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return r, fmt.Errorf("read what is loaded of %s: %w", ref.Name, err)
	}
	return r, nil
}

func columnsOf(ref *mapping.Reference) []string {
	names := make([]string, len(ref.Columns))
	for i, c := range ref.Columns {
		names[i] = c.Name
	}
	return names
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
