package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/schemas"
)

func newSchemas(c *cli) *cobra.Command {
	return group("schemas", "Look at the events' schemas, and publish them", newSchemasList(c), newSchemasCheck(c), newSchemasRegister(c))
}

func newSchemasList(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List every version of every schema, with its pinned id", Args: cobra.NoArgs}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		codec, err := schemas.NewCodec()
		if err != nil {
			return err
		}
		if *output == "json" {
			type row struct {
				Topic   string          `json:"topic"`
				Version int             `json:"version"`
				ID      int             `json:"id"`
				Schema  json.RawMessage `json:"schema"`
			}
			var rows []row
			for _, v := range codec.Versions() {
				rows = append(rows, row{v.Topic, v.Version, v.ID, json.RawMessage(v.Schema.String())})
			}
			return writeJSON(c.stdout, rows)
		}
		var rows [][]string
		for _, v := range codec.Versions() {
			rows = append(rows, []string{v.Topic, strconv.Itoa(v.Version), strconv.Itoa(v.ID)})
		}
		return report.WriteTable(c.stdout, []string{"TOPIC", "VERSION", "ID"}, rows)
	}
	return cmd
}

func newSchemasCheck(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find out whether all versions of each schema are compatible, both ways",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			codec, err := schemas.NewCodec()
			if err != nil {
				return err
			}
			var errs []error
			versions := codec.Versions()
			for i, older := range versions {
				for _, newer := range versions[i+1:] {
					if newer.Topic != older.Topic {
						break // sorted by topic
					}
					if err := schemas.Compatible(older.Schema, newer.Schema); err != nil {
						errs = append(errs, fmt.Errorf("%s, versions %d and %d: %w", older.Topic, older.Version, newer.Version, err))
					}
				}
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "%d schemas are compatible\n", len(versions))
			return nil
		},
	}
}
