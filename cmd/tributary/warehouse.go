package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tributary/sql/warehouse"
)

func newWarehouse(c *cli) *cobra.Command {
	return group("warehouse", "Look at the warehouse, retract what was loaded, and make it anew", newWarehouseHash(c), newWarehouseExport(c), newWarehouseUnload(c),
		newWarehouseRebuild(c), newWarehouseVerify(c))
}

func newWarehouseHash(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "hash",
		Short: "Print a digest of all that the warehouse holds now",
		Long:  "Print a digest of all current rows in the order of their natural keys, without surrogate keys and times of loading. Two warehouses that hold the same have the same hash, however they came to it.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
				_, m, err := configuredMapping(s.cfg)
				if err != nil {
					return err
				}
				hash, err := warehouse.Hash(cmd.Context(), s.Warehouse, m)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(c.stdout, hash)
				return err
			})
		},
	}
}
