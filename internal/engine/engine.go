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
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"tributary/internal/engine/broker"
	"tributary/internal/engine/chdb"
	"tributary/internal/engine/install"
	"tributary/internal/engine/pgdoor"
	"tributary/internal/engine/postgres"
)

// ChildCommand is the hidden subcommand that the ClickHouse child is started
// with; its body is [RunClickHouseChild].
const ChildCommand = "engine-clickhouse"

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

// chooseAccount finds out whom Postgres is to run as, which decides who must
// be able to get through the directories.
func chooseAccount(o Options) (*postgres.Account, error) {
	if !o.Postgres {
		return postgres.Self(), nil
	}
	return postgres.ChooseAccount(filepath.Join(o.DataDir, "postgres"))
}

func (e *Engines) startPostgres(ctx context.Context, o Options, found install.Found) error {
	data := filepath.Join(o.DataDir, "postgres")
	bin, err := choosePostgres(data, found)
	if err != nil {
		return err
	}
	s := postgres.New(postgres.Options{
		DataDir: data, SocketDir: filepath.Join(e.run, "pg"), BinDir: bin, NoSync: o.NoSync, Logger: o.Logger,
		Account: e.account, Password: e.secrets["postgres"], PasswordRole: passwordRole(o),
	})
	if err := s.Start(ctx); err != nil {
		return err
	}
	e.postgres = s
	e.endpoints.Postgres = s.DSN(postgres.Name)
	return e.openDoor(ctx, o)
}

// passwordRole is the role that others come in as, if they may.
func passwordRole(o Options) string {
	if o.PostgresAddr == "" {
		return ""
	}
	return pgdoor.User
}

// openDoor lets others read Postgres where that is configured.
func (e *Engines) openDoor(ctx context.Context, o Options) (err error) {
	if o.PostgresAddr == "" {
		return nil
	}
	dsn, password := e.endpoints.Postgres, e.secrets[secretPostgresReader]
	if e.door, err = pgdoor.Open(ctx, pgdoor.Options{
		Addr: o.PostgresAddr, Socket: filepath.Join(e.run, "pg", ".s.PGSQL.5432"), DSN: dsn, Database: postgres.Name, Role: o.PostgresRole,
		Prepare:  func(ctx context.Context) error { return o.PreparePostgresRole(ctx, dsn) },
		Password: password, Logger: o.Logger,
	}); err != nil {
		return err
	}
	at := e.door.Addr()
	e.endpoints.PostgresListener = &Listener{Address: at, Mechanism: broker.Mechanism, Database: postgres.Name, Users: map[string]string{pgdoor.User: password}}
	o.Logger.Info("the embedded Postgres can be read by who logs in as reader, whose password is in engines.json", "address", at)
	return nil
}

// choosePostgres returns the programs to run a cluster with: only the version
// that made it can.
func choosePostgres(data string, found install.Found) (bin string, err error) {
	if len(found.Postgres) == 0 {
		return "", fmt.Errorf("Postgres %d or newer is not installed: run tributary engines fetch (or make engines), "+
			"or install it with the system's packages; looked in %v besides", install.MinPostgres, found.Searched)
	}
	made, err := postgres.Version(data)
	if err != nil {
		return "", err
	}
	if made == "" {
		return found.Postgres[0].BinDir, nil
	}
	var have []int
	for _, pg := range found.Postgres {
		if fmt.Sprint(pg.Major) == made {
			return pg.BinDir, nil
		}
		have = append(have, pg.Major)
	}
	return "", fmt.Errorf("%s was made by Postgres %s, and only %v is installed: install Postgres %s again, "+
		"or upgrade the directory with pg_upgrade", data, made, have, made)
}

func (e *Engines) startClickHouse(ctx context.Context, o Options, found install.Found) error {
	if found.ChDB == "" {
		return fmt.Errorf("ClickHouse's engine is not installed: run tributary engines fetch (or make engines); looked in %v", found.Searched)
	}
	if len(o.ClickHouseCommand) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("which program to run ClickHouse's engine with: %w", err)
		}
		o.ClickHouseCommand = []string{self, ChildCommand}
	}
	socket := filepath.Join(e.run, "ch", "s")
	if err := secureDir(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	s := chdb.New(chdb.Options{
		Library: found.ChDB, DataDir: filepath.Join(o.DataDir, "clickhouse"), Socket: socket,
		MaxMemory: o.ClickHouseMaxMemory, Command: o.ClickHouseCommand, Logger: o.Logger,
	})
	if err := s.Start(ctx); err != nil {
		return err
	}
	e.clickhouse = s
	e.endpoints.ClickHouse = s.Endpoint()
	return nil
}

// Endpoints are the addresses of the engines; they stay the same when one is
// restarted.
func (e *Engines) Endpoints() Endpoints { return e.endpoints }

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

// OpenClickHouse returns a client for the embedded engine ("unix:" and a path)
// or for a real server (an address as clickhouse-go writes it, for example
// clickhouse://user:password@host:9000/database). A database that is not empty
// replaces the address's. Nothing is sent yet.
func OpenClickHouse(endpoint, database string) (driver.Conn, error) {
	return chdb.Dial(endpoint, database)
}

// RunClickHouseChild is the body of the hidden subcommand [ChildCommand]. It
// serves until ctx ends, a signal asks it to stop, or its standard input ends.
func RunClickHouseChild(ctx context.Context, args []string) error {
	return chdb.RunChild(ctx, args)
}
