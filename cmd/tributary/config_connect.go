package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/storeversion"
	"tributary/queries/doctor"
	historysql "tributary/sql/history"
	"tributary/topics"
)

// connectWithin bounds what config check --connect asks of one store.
const connectWithin = 30 * time.Second

// connect connects to every store that an address is configured for and says
// what is missing, one line each. It changes nothing.
func (c *cli) connect(ctx context.Context, cfg config.Config) error {
	log, err := c.quietLogger(cfg)
	if err != nil {
		return err
	}
	n := need{Kafka: len(cfg.Kafka.BootstrapServers) > 0, Postgres: cfg.Postgres.URL != "", ClickHouse: cfg.ClickHouse.URL != "", Application: "tributary config check"}
	s, err := openStores(ctx, cfg, log, n)
	if err != nil {
		return err
	}
	defer s.Close()
	good := true
	for _, store := range []struct {
		name  string
		given bool
		ask   func(context.Context, func(string, ...any)) (version string, err error)
	}{{"postgres", n.Postgres, s.checkPostgres}, {"kafka", n.Kafka, s.checkKafka}, {"clickhouse", n.ClickHouse, s.checkClickHouse}} {
		if !store.given {
			fmt.Fprintf(c.stdout, "  %s: embedded, started with tributary up or tributary engines\n", store.name)
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, connectWithin)
		missing := func(format string, args ...any) {
			good = false
			fmt.Fprintf(c.stdout, "  %s: %s\n", store.name, fmt.Sprintf(format, args...))
		}
		version, err := store.ask(ctx, missing)
		cancel()
		if err != nil {
			missing("%s", advised(store.name, err))
		} else {
			fmt.Fprintf(c.stdout, "  %s: connected, version %s\n", store.name, version)
		}
	}
	if !good {
		return errSilent
	}
	return nil
}

// advised is an error of a store with what to do about it.
func advised(store string, err error) string {
	var tooOld *storeversion.TooOldError
	switch {
	case errors.As(err, &tooOld):
		return err.Error()
	case kafka.Denied(err):
		return err.Error() + ": grant what tributary topics acl prints"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return err.Error() + ": correct kafka.sasl.username and kafka.sasl.password, or make this user on the brokers"
	}
	key := map[string]string{"postgres": "postgres.url", "clickhouse": "clickhouse.url", "kafka": "kafka.bootstrap_servers, kafka.tls and kafka.sasl"}[store]
	return err.Error() + ": see that the server runs, and correct " + key
}

// checkPostgres asks for the version and the rights in the database.
func (s *stores) checkPostgres(ctx context.Context, missing func(string, ...any)) (string, error) {
	version, err := pg.ServerVersion(ctx, s.Control)
	if err != nil {
		return version, err
	}
	var user, database string
	var create bool
	if err := s.Control.QueryRow(ctx, "SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE')").Scan(&user, &database, &create); err != nil {
		return version, fmt.Errorf("ask for the rights: %w", err)
	}
	if !create {
		missing("%s may not make schemas in the database %s: ALTER DATABASE %[2]s OWNER TO %[1]s", user, database)
	}
	others, err := doctor.ForeignSchemas(ctx, s.Control)
	if err != nil {
		return version, err
	}
	for _, schema := range others {
		missing("the schema %s belongs to somebody else: ALTER SCHEMA %[1]s OWNER TO %s, and its tables too", schema, user)
	}
	return version, nil
}

// checkKafka asks for the version, for the topics, and whether they may be
// looked at.
func (s *stores) checkKafka(ctx context.Context, missing func(string, ...any)) (string, error) {
	client, err := s.Kafka()
	if err != nil {
		return "", err
	}
	defer client.Close()
	if err := within(ctx, client.Ping); err != nil {
		return "", fmt.Errorf("no broker answers at %v: %w", s.Bootstrap, err)
	}
	admin := kadm.NewClient(client)
	version, err := kafka.ServerVersion(ctx, admin, s.cfg.Kafka.GroupProtocol)
	if err != nil {
		return version, err
	}
	changes, err := doctor.SettledTopics(ctx, admin, s.cfg.Kafka)
	if err != nil {
		return version, err
	}
	lacking := 0
	for _, change := range changes {
		switch change.Kind {
		case topics.Create:
			lacking++
		case topics.Setting:
			missing("%s: tributary topics apply --settings", change)
		default:
			missing("%s", change)
		}
	}
	if lacking > 0 {
		missing("%d topics are missing: tributary topics apply makes them", lacking)
	}
	return version, nil
}

// checkClickHouse asks for the version, and whether the user may make the
// database and what is in it.
func (s *stores) checkClickHouse(ctx context.Context, missing func(string, ...any)) (string, error) {
	server, err := engine.OpenClickHouse(s.ClickHouseURL, "")
	if err != nil {
		return "", err
	}
	defer server.Close()
	version, err := historysql.ServerVersion(ctx, server)
	if err != nil {
		return version, err
	}
	for _, right := range doctor.Grants() {
		var has bool
		if err := server.QueryRow(ctx, "CHECK GRANT "+right+" ON `"+s.cfg.ClickHouse.Database+"`.*").Scan(&has); err != nil {
			return version, nil // before 24.11 there is no such question
		}
		if !has {
			missing("the user may not %s: GRANT %[1]s ON %s.* TO it", right, s.cfg.ClickHouse.Database)
		}
	}
	return version, nil
}

// tooOld is the refusal of a store that is too old, if that may be why a command
// has failed; else nil.
func (s *stores) tooOld(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	var old *storeversion.TooOldError
	if s.Control != nil {
		if _, err := pg.ServerVersion(ctx, s.Control); errors.As(err, &old) {
			return err
		}
	}
	if s.ClickHouse != nil {
		if server, err := engine.OpenClickHouse(s.ClickHouseURL, ""); err == nil {
			defer server.Close()
			if _, err := historysql.ServerVersion(ctx, server); errors.As(err, &old) {
				return err
			}
		}
	}
	return nil
}
