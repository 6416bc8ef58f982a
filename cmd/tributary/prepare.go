package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/profile"
	"tributary/internal/storewait"
	"tributary/schemas/exception"
	"tributary/sql/control"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
	"tributary/topics"
)

// knock is how long a store may take to answer who asks whether it is there.
const knock = 10 * time.Second

// prepare migrates the schemas, applies the profile's tables and views, makes
// missing topics and opens the blobs. Members that start together take turns. A
// store that is away is waited for.
func (a *app) prepare(ctx context.Context, w storewait.Waiter) error {
	if err := w.Until(ctx, "postgres", a.preparePostgres); err != nil {
		return err
	}
	client, err := a.stores.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := w.Until(ctx, "kafka", func(ctx context.Context) error { return a.prepareKafka(ctx, client) }); err != nil {
		return err
	}
	return w.Until(ctx, "postgres", func(ctx context.Context) (err error) {
		if a.blobs, err = openBlobs(ctx, a.cfg, a.stores.Control); err == nil {
			a.space = spaceOf(a.blobs, a.cfg.Blobs, a.log)
		}
		return err
	})
}

func (a *app) preparePostgres(ctx context.Context) error {
	for _, m := range []struct {
		pool    *pgxpool.Pool
		migrate func(context.Context, *pgxpool.Pool) error
	}{{a.stores.Control, control.Migrate}, {a.stores.Tracker, tracker.Migrate}, {a.stores.Warehouse, warehouse.Migrate}} {
		if err := within(ctx, m.pool.Ping); err != nil {
			return err
		}
		if err := m.migrate(ctx, m.pool); err != nil {
			return err
		}
	}
	known, err := meanings(a.profile)
	if err != nil {
		return err
	}
	if err := tracker.Describe(ctx, a.stores.Tracker, known); err != nil {
		return err
	}
	if err := warehouse.Apply(ctx, a.stores.Warehouse, a.profile.FS(), a.mapping); err != nil {
		return fmt.Errorf("tables of the profile %s: %w", a.profile.Name, err)
	}
	return nil
}

// meanings are what exceptions mean, by their names: those of the program, and the
// findings of a profile's checks.
func meanings(p *profile.Profile) (map[string]string, error) {
	statements, err := warehouse.Load(p.FS())
	if err != nil {
		return nil, fmt.Errorf("SQL of the profile %s: %w", p.Name, err)
	}
	out := statements.Meanings()
	maps.Copy(out, exception.Texts())
	return out, nil
}

func (a *app) prepareKafka(ctx context.Context, client *kgo.Client) error {
	if err := within(ctx, client.Ping); err != nil {
		return fmt.Errorf("no broker answers at %v: %w", a.stores.Bootstrap, err)
	}
	admin := kadm.NewClient(client)
	if _, err := kafka.ServerVersion(ctx, admin, a.cfg.Kafka.GroupProtocol); err != nil {
		return err
	}
	left, err := topics.Ensure(ctx, admin, a.cfg.Kafka)
	for _, c := range left {
		a.log.Warn("a topic differs from the catalogue; see tributary topics plan", "change", c.String())
	}
	if err != nil {
		return err
	}
	a.passed, a.codec, err = a.stores.decided(ctx)
	return err
}

// within asks a store that may not answer at all.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	return ask(ctx)
}
