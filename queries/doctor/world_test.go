package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/queries/doctor"
	"tributary/sql/control"
	"tributary/sql/history"
	"tributary/sql/tracker"
	"tributary/sql/warehouse"
	"tributary/topics"
)

// world is an installation, of which a case breaks a part.
type world struct {
	t       *testing.T
	cfg     config.Config
	pool    *pgxpool.Pool
	now     func() time.Time
	timeout time.Duration
	attach  func(context.Context) (engine.Endpoints, error)
	// lent says that the database and the brokers are another's, which has them until a
	// case changes something there.
	lent struct{ database, brokers bool }
}

// newWorld makes an installation that is well. Its database and its broker are its
// own; clickhouse is the address and the database of a history, which is shared.
func newWorld(t *testing.T, clickhouse, database string) *world {
	t.Helper()
	w := &world{t: t, cfg: config.Default(), now: time.Now, timeout: 30 * time.Second}
	w.place()
	w.ownDatabase()
	w.cfg.Kafka.Partitions, w.cfg.Kafka.ReplicationFactor = 3, 1
	w.brokers(kfake.NumBrokers(1))
	w.cfg.ClickHouse.URL, w.cfg.ClickHouse.Database = config.Secret("file:"+w.secret("clickhouse", clickhouse)), database
	return w
}

// beside makes another installation that is well. It reads w's database and brokers
// until it changes something there: then it gets its own.
func (w *world) beside(t *testing.T) *world {
	t.Helper()
	n := &world{t: t, cfg: w.cfg, pool: w.pool, now: w.now, timeout: w.timeout}
	n.lent.database, n.lent.brokers = true, true
	n.place()
	return n
}

// place gives the installation directories of its own.
func (w *world) place() {
	w.t.Helper()
	dir := enginetest.Dir(w.t)
	if err := os.Chmod(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.cfg.Path, w.cfg.DataDir, w.cfg.Blobs.Dir = filepath.Join(dir, "tributary.yaml"), dir, filepath.Join(dir, "blobs")
	w.cfg.Blobs.MinFree = 0
	store, err := blob.NewDir(w.cfg.Blobs.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(store.Begin(), store.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// ownDatabase gives the installation a database of its own.
func (w *world) ownDatabase() {
	w.t.Helper()
	w.lent.database = false
	dsn := enginetest.Filled(w.t, "migrated", func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(control.Migrate(ctx, pool), tracker.Migrate(ctx, pool), warehouse.Migrate(ctx, pool))
	})
	pool, err := pgxpool.New(w.t.Context(), dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	w.pool = pool
	w.exec("ALTER DATABASE " + w.database() + " SET synchronous_commit = on") // the tests' server has it off
	w.cfg.Postgres.URL = config.Secret("file:" + w.secret("postgres", dsn))
}

// brokers starts other brokers, with all topics.
func (w *world) brokers(opts ...kfake.Opt) *kfake.Cluster {
	w.t.Helper()
	c := w.bare(opts...)
	w.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := topics.Ensure(ctx, admin, w.cfg.Kafka)
		return err
	})
	return c
}

// bare starts brokers without topics.
func (w *world) bare(opts ...kfake.Opt) *kfake.Cluster {
	w.t.Helper()
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	w.cfg.Kafka.BootstrapServers, w.lent.brokers = c.ListenAddrs(), false
	return c
}

// admin changes something of the brokers as they are configured.
func (w *world) admin(do func(context.Context, *kadm.Client) error) {
	w.t.Helper()
	if w.lent.brokers {
		w.brokers(kfake.NumBrokers(1))
	}
	client, err := kafka.NewClient(w.cfg.Kafka, w.cfg.Kafka.BootstrapServers, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if err := do(w.t.Context(), kadm.NewClient(client)); err != nil {
		w.t.Fatal(err)
	}
}

// exec changes the database.
func (w *world) exec(statements ...string) {
	w.t.Helper()
	if w.lent.database {
		w.ownDatabase()
	}
	for _, s := range statements {
		if _, err := w.pool.Exec(w.t.Context(), s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
}

// database is the name of the installation's database, which is to be changed.
func (w *world) database() string {
	w.t.Helper()
	if w.lent.database {
		w.ownDatabase()
	}
	return w.pool.Config().ConnConfig.Database
}

// as has the installation use its Postgres as another user.
func (w *world) as(user string) {
	c := w.pool.Config().ConnConfig
	w.cfg.Postgres.URL = config.Secret("file:" + w.secret("other", "host="+c.Host+" user="+user+" dbname="+c.Database))
}

// secret writes a file that is its owner's alone.
func (w *world) secret(name, text string) string { return w.file(name, text, 0o600) }

func (w *world) file(name, text string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// certificate makes a certificate that ends at some time, and its key.
func (w *world) certificate(ends time.Time) (cert, key string) {
	w.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: ends.Add(-365 * 24 * time.Hour), NotAfter: ends, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		w.t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.secret("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		w.secret("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs})))
}

// away is an address at which nobody listens.
func (w *world) away() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// mute is an address at which somebody listens who never says anything.
func (w *world) mute() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
	}()
	return l.Addr().String()
}

func (w *world) examine() []doctor.Line {
	attach := w.attach
	if attach == nil {
		attach = func(context.Context) (engine.Endpoints, error) {
			return engine.Endpoints{}, errors.New("nothing is embedded here")
		}
	}
	return doctor.Examine(w.t.Context(), doctor.Deps{Config: w.cfg, Attach: attach, Timeout: w.timeout, Now: w.now, Log: slog.New(slog.DiscardHandler)})
}

// newHistory makes a history as a member makes it, and returns its database.
func newHistory(t *testing.T, endpoint string) string {
	t.Helper()
	database := enginetest.Database(t, endpoint)
	open := func(name string) (driver.Conn, error) { return engine.OpenClickHouse(endpoint, name) }
	if err := history.Migrate(t.Context(), open, database); err != nil {
		t.Fatal(err)
	}
	return database
}

// clickhouse executes statements in a new database.
func clickhouse(t *testing.T, endpoint string, statements ...string) string {
	t.Helper()
	database := enginetest.Database(t, endpoint)
	conn, err := engine.OpenClickHouse(endpoint, database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return database
}
