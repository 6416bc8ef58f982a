package doctor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine"
)

func configSecret(s string) config.Secret { return config.Secret(s) }

// brokenHere are cases of what is on the machine itself.
func brokenHere() []broken {
	year := 365 * 24 * time.Hour
	return []broken{
		{"a variable that is not there", func(_ *testing.T, w *world) { w.cfg.Traces.Authorization = "env:TRIBUTARY_NOT_THERE" },
			[]string{"secret_unresolved traces.authorization"}, "traces.authorization"},
		{"a secret's file that is not there", func(_ *testing.T, w *world) { w.cfg.Registry.Password = "file:/not/there" },
			[]string{"secret_unresolved schema_registry.password"}, "put the secret where it says"},
		{"a secret's file that is empty", func(_ *testing.T, w *world) {
			w.cfg.Web.OIDC.ClientSecret = configSecret("file:" + w.secret("empty", "\n"))
		}, []string{"secret_unresolved web.oidc.client_secret"}, "web.oidc.client_secret"},
		{"a secret that is written plainly", func(_ *testing.T, w *world) { w.cfg.Kafka.SASL.Password = hidden },
			[]string{"secret_unresolved kafka.sasl.password"}, "kafka.sasl.password"},
		{"a source's secret that is not there", func(_ *testing.T, w *world) {
			w.cfg.Sources = []config.Source{{ID: "a", Centre: "H", URL: "sftp://u@h/", Password: "env:TRIBUTARY_NOT_THERE"}}
		}, []string{"secret_unresolved sources[0].password"}, "sources[0].password"},
		{"a secret that all can read", func(_ *testing.T, w *world) {
			w.cfg.Registry.Password = configSecret("file:" + w.file("open", hidden, 0o644))
		}, []string{"secret_open schema_registry.password"}, "chmod 600"},
		{"a private key that its group can read", func(_ *testing.T, w *world) {
			cert, key := w.certificate(time.Now().Add(year))
			if err := os.Chmod(key, 0o640); err != nil {
				w.t.Fatal(err)
			}
			w.cfg.Web.CertFile, w.cfg.Web.KeyFile = cert, key
		}, []string{"secret_open web.key_file"}, "chmod 600"},
		{"a file that is not there", func(_ *testing.T, w *world) { w.cfg.Registry.CAFile = "/not/there" },
			[]string{"file_unreadable schema_registry.ca_file"}, "schema_registry.ca_file"},
		{"authorities that are none", func(_ *testing.T, w *world) { w.cfg.Registry.CAFile = w.secret("ca", "hello") },
			[]string{"certificate_invalid schema_registry.ca_file"}, "PEM"},
		{"a certificate and another's key", func(_ *testing.T, w *world) {
			w.cfg.Web.CertFile, _ = w.certificate(time.Now().Add(year))
			_, w.cfg.Web.KeyFile = w.certificate(time.Now().Add(year))
		}, []string{"certificate_invalid web.cert_file"}, "belong together"},
		{"a certificate that is over", func(_ *testing.T, w *world) {
			w.cfg.Web.CertFile, w.cfg.Web.KeyFile = w.certificate(time.Now().Add(-time.Hour))
		}, []string{"certificate_invalid web.cert_file"}, "get a new one"},
		{"a certificate that ends soon", func(_ *testing.T, w *world) {
			w.cfg.Web.CertFile, w.cfg.Web.KeyFile = w.certificate(time.Now().Add(24 * time.Hour))
		}, []string{"certificate_ends web.cert_file"}, "get a new one"},
		{"more local directories than are watched", func(_ *testing.T, w *world) {
			root := w.t.TempDir()
			for i := range 1001 {
				id := fmt.Sprint("local", i)
				if err := os.Mkdir(filepath.Join(root, id), 0o700); err != nil {
					w.t.Fatal(err)
				}
				w.cfg.Sources = append(w.cfg.Sources, config.Source{ID: id, Centre: "H", URL: "file://" + filepath.Join(root, id)})
			}
		}, []string{"watches_exhausted local directories"}, "max_user_watches"},
		{"pages for all without TLS", func(_ *testing.T, w *world) { w.cfg.Web.Listen, w.cfg.Web.Insecure = "0.0.0.0:0", true },
			[]string{"web_without_tls web.insecure"}, "web.cert_file"},
		{"no data yet", func(_ *testing.T, w *world) { w.cfg.DataDir = filepath.Join(w.cfg.DataDir, "not", "there") },
			[]string{"directory_missing data_dir"}, "tributary up"},
		{"data in a file", func(_ *testing.T, w *world) { w.cfg.DataDir = w.secret("data", "") },
			[]string{"directory_unusable data_dir"}, "correct data_dir"},
		{"blobs where nobody can write", func(_ *testing.T, w *world) { w.cfg.Blobs.Dir = "/proc/self/fdinfo" },
			[]string{"directory_unusable blobs.dir"}, "right to write"},
		{"data that all can see", func(_ *testing.T, w *world) {
			if err := os.Chmod(w.cfg.DataDir, 0o755); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"directory_open data_dir"}, "chmod 700"},
		{"data of another account", func(t *testing.T, w *world) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			if err := os.Chown(w.cfg.DataDir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}, []string{"directory_foreign data_dir"}, "chown"},
		{"a disk for blobs that isn't mounted", func(_ *testing.T, w *world) {
			w.exec("SET session_replication_role = replica; INSERT INTO control.acquisition (run, file, domain, source, look, size, state, sha256) VALUES (gen_random_uuid(), gen_random_uuid(), 'H', 'a', 1, 1, 'ended', '" + strings.Repeat("ab", 32) + "')")
			if err := os.Remove(filepath.Join(w.cfg.Blobs.Dir, blob.Mark)); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"blobs_not_marked blobs.dir"}, "mount its disk"},
		{"disks without room", func(_ *testing.T, w *world) { w.cfg.Blobs.MinFree, w.cfg.Blobs.MinFreeShare = 1<<60, 1 },
			[]string{"disk_low data_dir", "disk_low blobs.dir", "disk_low disk default"}, "free some room"},
		{"an embedded broker's log that is large", func(_ *testing.T, w *world) {
			w.embedBroker()
			if err := os.MkdirAll(filepath.Join(w.cfg.DataDir, "kafka"), 0o700); err != nil {
				w.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.cfg.DataDir, "kafka", "segment"), make([]byte, 1<<16), 0o600); err != nil {
				w.t.Fatal(err)
			}
			w.cfg.Kafka.LogAlarmShare = 1e-9
		}, []string{"log_large kafka.log_alarm_share"}, "move to Apache Kafka"},
		{"no engines run", func(_ *testing.T, w *world) {
			w.cfg.Postgres.URL = ""
			w.attach = func(ctx context.Context) (engine.Endpoints, error) {
				s, err := engine.Share(ctx, engine.Options{DataDir: w.cfg.DataDir, Postgres: true}, engine.AttachOnly, 0)
				if err != nil {
					return engine.Endpoints{}, err
				}
				return s.Endpoints, s.Close()
			}
		}, []string{"engines_stopped data_dir"}, "tributary up"},
		{"engines run without one", func(_ *testing.T, w *world) {
			w.cfg.ClickHouse.URL = ""
			w.attach = func(context.Context) (engine.Endpoints, error) { return engine.Endpoints{}, nil }
		}, []string{"engines_stopped data_dir"}, "tributary up"},
		{"health where another program listens", func(_ *testing.T, w *world) { w.cfg.HTTP.Listen = w.stranger() },
			[]string{"port_taken http.listen"}, "ss -ltnp"},
		{"pages where another program listens", func(_ *testing.T, w *world) { w.cfg.Web.Listen = w.stranger() },
			[]string{"port_taken web.listen"}, "ss -ltnp"},
		{"a password where an address should be", func(_ *testing.T, w *world) {
			w.cfg.Registry.Password, w.cfg.HTTP.Listen = configSecret("file:"+w.secret("password", hidden)), hidden+".invalid:8080"
		}, []string{"port_unusable http.listen"}, "correct http.listen"},
		{"an address of another machine", func(_ *testing.T, w *world) { w.cfg.HTTP.Listen = "192.0.2.1:8080" },
			[]string{"port_unusable http.listen"}, "ip address"},
	}
}

// embedBroker has the installation take its broker for the embedded one.
func (w *world) embedBroker() {
	addrs := w.cfg.Kafka.BootstrapServers
	w.cfg.Kafka.BootstrapServers = nil
	w.attach = func(context.Context) (engine.Endpoints, error) { return engine.Endpoints{Kafka: addrs}, nil }
}

// stranger is the address of a program that is not Tributary.
func (w *world) stranger() string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("welcome")) }))
	w.t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
