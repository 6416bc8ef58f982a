package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/queries/report"
)

// need says which stores a command needs, and how it gets at embedded ones.
type need struct {
	Kafka, Postgres, ClickHouse bool
	// How says what to do about engines that no address is configured for.
	How how
	// Application names the command to the databases.
	Application string
	// Patience is how long startOwn waits for engines that another command,
	// most likely a query, has started for itself.
	Patience time.Duration
}

// Names by which members are known to the databases: control restore looks for them.
const (
	applicationUp  = "tributary up"
	applicationRun = "tributary run"
)

// all needs every store. It is copied, and never changed.
var all = need{Kafka: true, Postgres: true, ClickHouse: true, Patience: 10 * time.Second} //nolint:gochecknoglobals // a struct can't be a constant

// how embedded engines are reached: by queries, by run ROLE, and by up.
type how = engine.How

const (
	attachOrStart = engine.AttachOrStart
	attachOnly    = engine.AttachOnly
	startOwn      = engine.StartOwn
)

// stores are the open ways to everything that keeps data.
type stores struct {
	// Bootstrap holds the brokers' addresses.
	Bootstrap []string
	// PostgresURL and ClickHouseURL are the addresses, secrets resolved: they
	// must not be shown.
	PostgresURL, ClickHouseURL string
	// Control, Tracker and Warehouse are pools that connect when they are
	// used. Today one address serves all three.
	Control, Tracker, Warehouse *pgxpool.Pool
	// ClickHouse is the history's connection, in the configured database.
	ClickHouse driver.Conn
	// Engines are those that this process has started; nil if none.
	Engines *engine.Engines
	// Kafka makes clients for the brokers; nil if not needed.
	Kafka kafka.Factory

	cfg     config.Config
	log     *slog.Logger
	closers []func() error
	asked   string // the schema in which a statement of people looks names up; empty: none
	shared  *engine.Shared
}

// openStores opens what is needed. Close closes it, and stops what was started.
func openStores(ctx context.Context, cfg config.Config, log *slog.Logger, n need) (*stores, error) {
	s := &stores{cfg: cfg, log: log}
	if err := s.open(ctx, cfg, log, n); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stores) open(ctx context.Context, cfg config.Config, log *slog.Logger, n need) error {
	if err := s.addresses(ctx, cfg, log, n); err != nil {
		return err
	}
	if n.Kafka {
		s.Kafka = kafka.NewFactory(cfg.Kafka, s.Bootstrap, log)
	}
	if n.Postgres {
		for _, p := range []**pgxpool.Pool{&s.Control, &s.Tracker, &s.Warehouse} {
			pool, err := s.Pool(ctx, cfg, n.Application)
			if err != nil {
				return err
			}
			*p = pool
		}
	}
	if n.ClickHouse {
		conn, err := engine.OpenClickHouse(s.ClickHouseURL, cfg.ClickHouse.Database)
		if err != nil {
			return err
		}
		s.ClickHouse = conn
		s.closers = append(s.closers, conn.Close)
	}
	return nil
}

// Pool opens a further pool, of postgres.max_connections, that Close closes.
func (s *stores) Pool(ctx context.Context, cfg config.Config, application string) (*pgxpool.Pool, error) {
	pool, err := pg.Open(ctx, s.PostgresURL, application, cfg.Postgres.MaxConnections)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { pool.Close(); return nil })
	return pool, nil
}

// engineOptions are the engines needed that no address is configured for.
func engineOptions(cfg config.Config, n need, log *slog.Logger) engine.Options {
	return engine.Options{
		DataDir: cfg.DataDir, EnginesDir: cfg.EnginesDir,
		Broker:              n.Kafka && len(cfg.Kafka.BootstrapServers) == 0,
		Postgres:            n.Postgres && cfg.Postgres.URL == "",
		ClickHouse:          n.ClickHouse && cfg.ClickHouse.URL == "",
		KafkaAddr:           cfg.Kafka.ListenAddress,
		KafkaPrefix:         cfg.Kafka.TopicPrefix,
		KafkaLogShare:       cfg.Kafka.LogAlarmShare,
		PostgresAddr:        cfg.Postgres.Listen,
		PostgresRole:        report.ReaderRole,
		PreparePostgresRole: report.PrepareReader,
		ClickHouseMaxMemory: int64(cfg.ClickHouse.MaxMemory),
		Logger:              log,
	}
}

// addresses finds out where everything is, starting what has to be started.
func (s *stores) addresses(ctx context.Context, cfg config.Config, log *slog.Logger, n need) error {
	var err error
	s.Bootstrap = cfg.Kafka.BootstrapServers
	if s.PostgresURL, err = cfg.Postgres.URL.Resolve(); err != nil {
		return usagef("postgres.url: %w", err)
	}
	if s.ClickHouseURL, err = cfg.ClickHouse.URL.Resolve(); err != nil {
		return usagef("clickhouse.url: %w", err)
	}
	o := engineOptions(cfg, n, log)
	if !o.Broker && !o.Postgres && !o.ClickHouse {
		return nil
	}
	if s.shared, err = engine.Share(ctx, o, n.How, n.Patience); err != nil {
		return err
	}
	s.Engines = s.shared.Own
	ep := s.shared.Endpoints
	for _, e := range []struct {
		wanted bool
		has    bool
		name   string
	}{{o.Broker, len(ep.Kafka) > 0, "broker"}, {o.Postgres, ep.Postgres != "", "Postgres"}, {o.ClickHouse, ep.ClickHouse != "", "ClickHouse"}} {
		if e.wanted && !e.has {
			return fmt.Errorf("the engines that run in %s are without %s: another command has started them for itself; try again when it has ended, or run tributary engines", cfg.DataDir, e.name)
		}
	}
	if o.Broker {
		s.Bootstrap = ep.Kafka
	}
	if o.Postgres {
		s.PostgresURL = ep.Postgres
	}
	if o.ClickHouse {
		s.ClickHouseURL = ep.ClickHouse
	}
	return nil
}

// Close closes everything in reverse order, waits a while for other commands
// that use engines started here, and stops them.
func (s *stores) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	if s.shared != nil {
		errs = append(errs, s.shared.Close())
		s.shared, s.Engines = nil, nil
	}
	return errors.Join(errs...)
}
