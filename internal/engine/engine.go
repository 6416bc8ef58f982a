// Package engine runs the services that Tributary needs on a machine that has
// none: a Kafka broker in this process, a private Postgres, and ClickHouse's own
// engine in a child process. All of them keep their data below one directory,
// which one process at a time may serve.
//
// Elsewhere in Tributary only addresses differ between these and real servers.
// What the embedded broker does not promise is written at package broker.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"tributary/internal/engine/broker"
	"tributary/internal/engine/chdb"
	"tributary/internal/engine/install"
	"tributary/internal/engine/pgdoor"
	"tributary/internal/engine/postgres"
)

// Options say which engines to run and where.
type Options struct {
	// DataDir holds everything; it is created if it does not exist, and
	// closed to other accounts.
	DataDir string
	// EnginesDir is searched for engines first; may be empty.
	EnginesDir string
	// Broker, Postgres and ClickHouse choose the engines to run.
	Broker, Postgres, ClickHouse bool
	// KafkaAddr is a host and port at which the broker listens beside its
	// unix socket, for users with a password; empty: none. Port 0 stands for
	// a free one that is kept from then on.
	KafkaAddr string
	// KafkaPrefix begins the names of the pipeline's topics and groups:
	// users may write one of these topics, and take part in none of these
	// groups. "tributary" if empty.
	KafkaPrefix string
	// KafkaLogShare is the share of the machine's memory beyond which the
	// broker's log is too large, which is logged; 0: never.
	KafkaLogShare float64
	// PostgresAddr is a host and port on loopback at which others may read
	// Postgres, with a password; empty: none. Port 0 stands for a free one.
	PostgresAddr string
	// PostgresRole is the role whose rights they get.
	PostgresRole string
	// PreparePostgresRole makes that role in the database at dsn, and gives it
	// what has come since. Required with PostgresAddr.
	PreparePostgresRole func(ctx context.Context, dsn string) error
	// ClickHouseMaxMemory is the most memory for ClickHouse's statements,
	// in bytes, 2 GiB if 0.
	ClickHouseMaxMemory int64
	// ClickHouseCommand is the program, and its first arguments, that ends
	// in RunClickHouseChild. If empty it is this binary with [ChildCommand].
	ClickHouseCommand []string
	// NoSync leaves writing to disk to the kernel. For tests.
	NoSync bool
	// Logger gets what the engines say; [slog.Default] if nil.
	Logger *slog.Logger
}

// Endpoints are the addresses of the engines that run; those of others are
// empty. While they run they are in engines.json in the data directory.
type Endpoints struct {
	// Kafka holds "unix:" and the path of the broker's socket, for
	// [kafka.Bootstrap].
	Kafka []string `json:"kafka,omitempty"`
	// KafkaListener is where others reach the broker; nil: nowhere.
	KafkaListener *Listener `json:"kafka_listener,omitempty"`
	// Postgres is the address of the database tributary for pgx and psql,
	// by way of a unix socket. Where Postgres can't be the owner's alone, it
	// holds a password, and must not be shown.
	Postgres string `json:"postgres,omitempty"`
	// PostgresListener is where others read Postgres; nil: nowhere.
	PostgresListener *Listener `json:"postgres_listener,omitempty"`
	// ClickHouse is "unix:" and the path of a socket, for [OpenClickHouse].
	ClickHouse string `json:"clickhouse,omitempty"`
}

// Listener is a TCP address of an embedded engine, without TLS.
type Listener struct {
	// Address is host:port.
	Address string `json:"address"`
	// Mechanism is that of SASL: SCRAM-SHA-256.
	Mechanism string `json:"mechanism"`
	// Database is the one that Postgres serves there; empty: it is the broker.
	Database string `json:"database,omitempty"`
	// Users are the passwords by user: those of [broker.Users], or
	// [pgdoor.User]. They must not be shown.
	Users map[string]string `json:"users"`
}

// Engines are running engines.
type Engines struct {
	log        *slog.Logger
	lock       *lock
	account    *postgres.Account
	secrets    map[string]string
	measure    func() (broker.Log, error) // nil without a broker
	run        string
	runBorn    bool // the run directory lies outside of the data directory
	endpoints  Endpoints
	broker     *broker.Broker
	postgres   *postgres.Server
	door       *pgdoor.Door // nil where none is open
	clickhouse *chdb.Server

	mu      sync.Mutex // orders Run's beginning and Close
	closing context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	close   func() error
}

// Start takes the data directory's lock, starts the chosen engines one after
// another and publishes their endpoints. If one does not start, those before it
// are stopped. A [HeldError] says that another process serves the directory.
func Start(ctx context.Context, o Options) (*Engines, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	account, err := chooseAccount(o)
	if err != nil {
		return nil, err
	}
	dir, err := makeDataDir(o.DataDir, dirMode(account))
	if err != nil {
		return nil, err
	}
	o.DataDir = dir
	l, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	e := &Engines{log: o.Logger, lock: l, account: account}
	e.closing, e.stop = context.WithCancel(context.Background())
	e.close = sync.OnceValue(e.shut)
	if err := e.start(ctx, o); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engines) start(ctx context.Context, o Options) error {
	found, err := install.Locate(o.EnginesDir)
	if err != nil {
		return err
	}
	if e.run, e.runBorn, err = makeRunDir(o.DataDir, dirMode(e.account)); err != nil {
		return err
	}
	if e.secrets, err = keptSecrets(o.DataDir); err != nil {
		return err
	}
	// They need nothing of each other, so they start side by side.
	var g errgroup.Group
	if o.Broker {
		g.Go(func() error { return e.startBroker(o) })
	}
	if o.Postgres {
		g.Go(func() error { return e.startPostgres(ctx, o, found) })
	}
	if o.ClickHouse {
		g.Go(func() error { return e.startClickHouse(ctx, o, found) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return e.lock.publish(e.endpoints)
}

func (e *Engines) startBroker(o Options) (err error) {
	dir := filepath.Join(e.run, "kafka")
	if err := secureDir(dir, 0o700); err != nil {
		return err
	}
	users := map[string]string{}
	for _, user := range broker.Users() {
		users[user] = e.secrets[user]
	}
	if e.broker, err = broker.Open(broker.Options{
		DataDir: filepath.Join(o.DataDir, "kafka"), Socket: filepath.Join(dir, "s"), Addr: o.KafkaAddr, Passwords: users,
		Prefix: cmp.Or(o.KafkaPrefix, "tributary"), NoSync: o.NoSync, Logger: o.Logger,
	}); err != nil {
		return err
	}
	e.measure = func() (broker.Log, error) { return BrokerLog(o.DataDir, o.KafkaLogShare) }
	e.endpoints.Kafka = e.broker.Addrs()
	if at := e.broker.TCP(); at != "" {
		e.endpoints.KafkaListener = &Listener{Address: at, Mechanism: broker.Mechanism, Users: users}
		o.Logger.Warn("the embedded broker listens on TCP, without TLS; who connects logs in as a user whose password is in engines.json", "address", at)
	}
	return nil
}

// BrokerLog measures the log of the embedded broker of a data directory, whoever
// serves it; share is as in [Options.KafkaLogShare].
func BrokerLog(dataDir string, share float64) (broker.Log, error) {
	return broker.MeasureLog(filepath.Join(dataDir, "kafka"), share)
}

// Endpoints are the addresses of the engines; they stay the same when one is
// restarted.
func (e *Engines) Endpoints() Endpoints { return e.endpoints }

// Checkpoint has Postgres, if it is among the engines, write what it holds in memory:
// who is about to close the engines waits less if that is done beside other work.
func (e *Engines) Checkpoint(ctx context.Context) error {
	if e.postgres == nil {
		return nil
	}
	return e.postgres.Checkpoint(ctx)
}

// Close stops the engines in reverse order, ends Run, and gives the data
// directory free. Closing twice is harmless.
func (e *Engines) Close() error { return e.close() }

func (e *Engines) shut() error {
	e.mu.Lock()
	e.stop()
	e.mu.Unlock()
	e.running.Wait()
	errs := []error{e.lock.withdraw(), nil, nil, nil}
	var stopping sync.WaitGroup
	if e.clickhouse != nil {
		stopping.Go(func() { errs[1] = e.clickhouse.Stop() })
	}
	if e.postgres != nil {
		stopping.Go(func() {
			if e.door != nil {
				errs[2] = e.door.Close()
			}
			errs[2] = errors.Join(errs[2], e.postgres.Stop())
		})
	}
	if e.broker != nil {
		stopping.Go(func() { errs[3] = e.broker.Close() })
	}
	stopping.Wait()
	if e.runBorn {
		errs = append(errs, os.RemoveAll(e.run))
	}
	return errors.Join(append(errs, e.lock.release())...)
}
