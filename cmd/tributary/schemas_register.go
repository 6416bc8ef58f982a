package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/registry"
)

// registerWithin bounds a whole registration.
const registerWithin = 5 * time.Minute

func newSchemasRegister(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "register",
		Short: "Publish the schemas to a schema registry, with their pinned ids",
		Long: "Publish every version of every schema to the registry at schema_registry.url, which speaks the usual (Confluent)\n" +
			"API, so that others decode the events: below the subject TOPIC-value, with its pinned id, compatible both ways.\n" +
			"The subject is in the mode IMPORT for that moment and back in READWRITE then. What is there already is left\n" +
			"alone, so this may be repeated, for example at every upgrade. With --dry-run, say what would be done.\n" +
			"Tributary itself needs no registry.",
		Args: cobra.NoArgs,
	}
	address := cmd.Flags().String("registry", "", "address of the registry (default schema_registry.url)")
	dryRun := cmd.Flags().Bool("dry-run", false, "say what would be done, and do nothing")
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
		if err != nil {
			return err
		}
		if *address != "" {
			// What is configured for one registry is not shown to another.
			cfg.Registry.URL, cfg.Registry.Username, cfg.Registry.Password = *address, "", ""
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), registerWithin)
		defer cancel()
		changes, err := registerSchemas(ctx, cfg, *dryRun)
		if *output == "json" {
			if werr := writeJSON(c.stdout, changes); err == nil {
				err = werr
			}
			return err
		}
		for _, change := range changes {
			prefix := ""
			if *dryRun {
				prefix = "would "
			}
			fmt.Fprintln(c.stdout, prefix+change.String())
		}
		if err == nil && len(changes) == 0 {
			fmt.Fprintln(c.stdout, "the registry has every schema")
		}
		return err
	}
	return cmd
}

// registerSchemas publishes the schemas and returns what was done, or, in a dry
// run, what would be; also along with an error.
func registerSchemas(ctx context.Context, cfg config.Config, dryRun bool) ([]registry.Change, error) {
	if cfg.Registry.URL == "" {
		return nil, usagef("no schema registry is known: set schema_registry.url, or name one with --registry http://host:8081")
	}
	password, err := cfg.Registry.Password.Resolve()
	if err != nil {
		return nil, usage(fmt.Errorf("schema_registry.password: %w", err))
	}
	r, err := registry.New(registry.Options{URL: cfg.Registry.URL, Username: cfg.Registry.Username, Password: password, CAFile: cfg.Registry.CAFile})
	if err != nil {
		return nil, usage(err)
	}
	codec, err := schemas.NewCodec()
	if err != nil {
		return nil, err
	}
	items := registry.Items(codec.Versions(), func(name string) string { return kafka.TopicName(cfg.Kafka.TopicPrefix, name) })
	if dryRun {
		return r.Plan(ctx, items)
	}
	var done []registry.Change
	err = r.Apply(ctx, items, func(change registry.Change) { done = append(done, change) })
	return done, err
}
