package main

import (
	"context"
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

// definedByServer has a server make changes of how sources are defined, and tells them.
func (c *cli) definedByServer(cmd *cobra.Command, f *serverFlags, change func(r *client.Client, reason string) ([]sources.Change, error)) error {
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
		if bad := (*client.Error)(nil); errors.As(err, &bad) && bad.Name == "bad_order" {
			return usage(err)
		}
		if err != nil {
			return err
		}
		return c.listChanges(output, "source", changes)
	})
}

// defineByServer adds a source, or edits it where an update is named.
func (c *cli) defineByServer(cmd *cobra.Command, f *serverFlags, update, id string, pairs []string) error {
	keys, err := keysOf(pairs)
	if err != nil {
		return err
	}
	return c.definedByServer(cmd, f, func(r *client.Client, reason string) ([]sources.Change, error) {
		done, err := r.DefineSource(cmd.Context(), id, client.Defined{Keys: keys, Update: update, Reason: reason})
		return []sources.Change{done}, err
	})
}

// removeByServer removes sources, one after the other, up to the first that isn't.
func removeByServer(ctx context.Context, r *client.Client, ids []string, reason string) (done []sources.Change, err error) {
	for _, id := range ids {
		out, err := r.Order(ctx, order.Sources, id, "remove", client.Wish{Reason: reason})
		if err != nil {
			return done, err
		}
		if !out.Done {
			return done, usage(errors.New(out.Detail))
		}
		done = append(done, sources.Change{Source: id, Done: "removed", Detail: out.Detail})
	}
	return done, nil
}

// keysOf reads KEY=VALUE, with a VALUE in YAML, as a server takes them. Without a value
// a key is null, which gives it its default.
func keysOf(pairs []string) (map[string]any, error) {
	keys := map[string]any{}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("%q is not KEY=VALUE", pair)
		}
		var value any
		err := yaml.Unmarshal([]byte(text), &value)
		if _, moment := value.(time.Time); moment || err != nil {
			value = text // as it is written: the server says what it can't be
		}
		keys[key] = value
	}
	return keys, nil
}
