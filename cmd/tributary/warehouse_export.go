package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"tributary/queries/export"
	"tributary/queries/lineage"
)

func newWarehouseExport(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export DOCUMENT",
		Short: "Write a document back from the rows of the warehouse",
		Long: "Write a loaded document back from the rows of the warehouse: an XML document with the elements, attributes and\n" +
			"values that it had, in canonical form. DOCUMENT is its position, its UUID, or FILE/ENTRY (with an action before it\n" +
			"where several files have the name); of several versions the one that holds.",
		Args: cobra.ExactArgs(1),
	}
	to := cmd.Flags().String("to", "", "the file to write, which must not be there yet (default: stdout)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.export(cmd.Context(), s, args[0], *to)
		})
	}
	return cmd
}

func (c *cli) export(ctx context.Context, s *stores, what, to string) error {
	_, m, err := configuredMapping(s.cfg)
	if err != nil {
		return err
	}
	d, err := (&lineage.Reader{Warehouse: s.Warehouse, Mapping: m}).Find(ctx, what)
	if err != nil {
		return err
	}
	err = c.into(to, false, func(w io.Writer) error {
		return export.Document(ctx, s.Warehouse, m, d.Position, w)
	})
	if err != nil || to == "" {
		return err
	}
	fmt.Fprintf(c.stderr, "wrote %s: %s of %s/%s, position %d\n", filepath.Clean(to), d.Entry, d.Action, d.File, d.Position)
	return nil
}
