package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/queries/absence"
	"tributary/recovery/deadletter"
	"tributary/recovery/passover"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// open opens stores for a command that asks, and closes them. What a command
// needs beyond them is made of them by the methods below.
func (c *cli) open(ctx context.Context, n need, fn func(s *stores) error) (err error) {
	cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
	if err != nil {
		return err
	}
	log, err := c.quietLogger(cfg)
	if err != nil {
		return err
	}
	n.Application = "tributary query"
	s, err := openStores(ctx, cfg, log, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.explainAbsence(ctx, cfg, fn(s))
}

// explainAbsence says which server is too old, or what is missing, if that is why
// a command has failed.
func (s *stores) explainAbsence(ctx context.Context, cfg config.Config, err error) error {
	if err == nil {
		return nil
	}
	var answered *pgconn.PgError
	var refused *clickhouse.Exception
	if errors.As(err, &answered) || errors.As(err, &refused) || strings.Contains(err.Error(), "client_protocol_version") {
		if old := s.tooOld(ctx); old != nil {
			return fmt.Errorf("%w (%w)", old, err)
		}
	}
	return absence.Explainer{Postgres: s.Tracker, Database: cfg.ClickHouse.Database, Asked: s.asked}.Explain(ctx, err)
}

// decided reads what people decided about records of the topics, and makes the
// codec that knows it: whoever reads topics reads them with it.
func (s *stores) decided(ctx context.Context) (*passover.List, *schemas.Codec, error) {
	codec, err := schemas.NewCodec()
	if err != nil {
		return nil, nil, err
	}
	list := &passover.List{Connect: s.Kafka, Codec: codec, Prefix: s.cfg.Kafka.TopicPrefix, Log: s.log}
	if err := list.Load(ctx); err != nil {
		return nil, nil, err
	}
	return list, codec.PassingOver(list.Covers), nil
}

// controlOutbox is where a command writes down, in control, what it has done.
func controlOutbox() (outbox.Outbox, error) {
	codec, err := schemas.NewCodec()
	return outbox.Outbox{Schema: control.Schema, Codec: codec}, err
}

// statements are the SQL of the configured profile, with the profile and how its
// documents become rows.
func (s *stores) statements() (*profile.Profile, *mapping.Mapping, *warehouse.Statements, error) {
	p, m, err := configuredMapping(s.cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	statements, err := warehouse.Load(p.FS())
	if err != nil {
		return nil, nil, nil, usage(fmt.Errorf("SQL of the profile %s: %w", p.Name, err))
	}
	return p, m, statements, nil
}

// decider only writes down what is decided about dead letters. What a running
// system may still use is migrated by who runs it: nothing is here.
func (s *stores) decider(codec *schemas.Codec) *deadletter.Decider {
	return &deadletter.Decider{Pool: s.Control, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Now: now}
}

// replays only writes down what is asked of replays, as decider does.
func (s *stores) replays(codec *schemas.Codec) *replay.Manager {
	return &replay.Manager{Pool: s.Control, Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Now: now}
}
