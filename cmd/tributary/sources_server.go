package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tributary/producers/sources"
	"tributary/web/client"
	"tributary/web/order"
)

// definedByServer has a server make changes of how sources or centres are defined, and
// tells them; what is the first column of the table.
func (c *cli) definedByServer(cmd *cobra.Command, f *serverFlags, what string, change func(r *client.Client, reason string) ([]sources.Change, error)) error {
	output, err := cmd.Flags().GetString("output")
	if err != nil {
		return fmt.Errorf("flags of %s: %w", cmd.Name(), err)
	}
	reason, err := cmd.Flags().GetString("reason")
	if err != nil {
		return fmt.Errorf("flags of %s: %w", cmd.Name(), err)
	}
	return c.askServer(f, nil, func(r *client.Client) error {
		changes, err := change(r, reason)
		if err != nil {
			return badOrder(err)
		}
		return c.listChanges(output, what, changes)
	})
}

// addByServer adds a source or a centre (order.Sources, order.Centres).
func (c *cli) addByServer(cmd *cobra.Command, f *serverFlags, on, id string, pairs []string) error {
	return c.defineByServer(cmd, f, on, pairs, func(r *client.Client, d client.Defined) (sources.Change, error) {
		d.ID = id
		return r.Add(cmd.Context(), on, d)
	})
}

// editByServer edits one; an update is one of config.UpdateKinds, and of sources only.
func (c *cli) editByServer(cmd *cobra.Command, f *serverFlags, on, update, id string, pairs []string) error {
	return c.defineByServer(cmd, f, on, pairs, func(r *client.Client, d client.Defined) (sources.Change, error) {
		d.Update = update
		return r.Edit(cmd.Context(), on, id, d)
	})
}

func (c *cli) defineByServer(cmd *cobra.Command, f *serverFlags, on string, pairs []string, define func(*client.Client, client.Defined) (sources.Change, error)) error {
	keys, err := keysOf(on, pairs)
	if err != nil {
		return err
	}
	return c.definedByServer(cmd, f, firstColumn(on), func(r *client.Client, reason string) ([]sources.Change, error) {
		done, err := define(r, client.Defined{Keys: keys, Reason: reason})
		return []sources.Change{done}, err
	})
}

// firstColumn is that of tables about sources or centres.
func firstColumn(on string) string {
	if on == order.Centres {
		return "centre"
	}
	return "source"
}

// removeByServer removes sources or centres, one after the other, up to the first that isn't.
func (c *cli) removeByServer(cmd *cobra.Command, f *serverFlags, on string, ids []string) error {
	return c.definedByServer(cmd, f, firstColumn(on), func(r *client.Client, reason string) (done []sources.Change, err error) {
		for _, id := range ids {
			out, err := r.Order(cmd.Context(), on, id, "remove", client.Wish{Reason: reason})
			if err != nil {
				return done, err
			}
			if !out.Done {
				return done, usage(errors.New(out.Detail))
			}
			change := sources.Change{Source: id, Done: "removed", Detail: out.Detail}
			if on == order.Centres {
				change.Source, change.Centre = "", id
			}
			done = append(done, change)
		}
		return done, nil
	})
}

// keysOf reads KEY=VALUE as a server takes them: the VALUE of a source's is YAML, that of a
// centre's a text. Without a value a key is null, which gives it its default.
func keysOf(on string, pairs []string) (map[string]any, error) {
	keys := map[string]any{}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("%q is not KEY=VALUE", pair)
		}
		var value any
		if on == order.Centres {
			if text != "" {
				value = text
			}
			keys[key] = value
			continue
		}
		err := yaml.Unmarshal([]byte(text), &value)
		if _, moment := value.(time.Time); moment || err != nil {
			value = text // as it is written: the server says what it can't be
		}
		keys[key] = value
	}
	return keys, nil
}
