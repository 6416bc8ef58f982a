package doctor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas/registry"
	"tributary/schemas/schemastest"
	"tributary/sql/history"
)

// brokenElsewhere are cases of ClickHouse and of what is asked beside the stores.
func brokenElsewhere(endpoint string) []broken {
	const url = "clickhouse.url"
	return []broken{
		{"ClickHouse is away", func(_ *testing.T, w *world) {
			w.cfg.ClickHouse.URL = configSecret("file:" + w.secret("url", "clickhouse://u:"+hidden+"@"+w.away()))
		}, []string{"server_unreachable " + url}, "see that the server runs"},
		{"an address of ClickHouse that is none", func(_ *testing.T, w *world) {
			w.cfg.ClickHouse.URL = configSecret("file:" + w.secret("url", "clickhouse://u:"+hidden+"@h:port/d"))
		}, []string{"check_failed " + url}, "clickhouse://user@host:9000/database"},
		{"a ClickHouse that is too old", func(_ *testing.T, w *world) {
			w.cfg.ClickHouse.URL = configSecret(w.refusing("Code: 115, e.displayText() = DB::Exception: Unknown setting client_protocol_version, e.what() = DB::Exception"))
		}, []string{"server_too_old " + url}, "upgrade it"},
		{"a ClickHouse that refuses the password", func(_ *testing.T, w *world) {
			w.cfg.ClickHouse.URL = configSecret(w.refusing("Code: 516. DB::Exception: default: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)"))
		}, []string{"login_refused " + url}, "correct user and password"},
		{"a database that is not there", func(_ *testing.T, w *world) { w.cfg.ClickHouse.Database = "not_there" },
			[]string{"database_missing clickhouse.database"}, "role history"},
		{"a database that nothing has made", func(t *testing.T, w *world) { w.cfg.ClickHouse.Database = clickhouse(t, endpoint) },
			[]string{"migrations_behind database HISTORY"}, "start a member"},
		{"a database of a newer program", func(t *testing.T, w *world) {
			has, err := history.Statements()
			if err != nil {
				t.Fatal(err)
			}
			w.cfg.ClickHouse.Database = clickhouse(t, endpoint, "CREATE TABLE schema_version (version UInt32) ENGINE = MergeTree ORDER BY version",
				fmt.Sprintf("INSERT INTO schema_version SELECT number + 1 FROM numbers(%d) UNION ALL SELECT 999", len(has)))
		}, []string{"migrations_ahead database HISTORY"}, "upgrade this program"},
		{"the registry is away", func(_ *testing.T, w *world) { w.cfg.Registry.URL = "http://" + w.away() },
			[]string{"server_unreachable schema_registry.url"}, "see that the registry runs"},
		{"the registry refuses the password", func(t *testing.T, w *world) {
			w.cfg.Registry.URL = fakeRegistry(t, srfake.WithAuth("Basic other")).URL()
			w.cfg.Registry.Username, w.cfg.Registry.Password = "u", configSecret("file:"+w.secret("password", hidden))
		}, []string{"login_refused schema_registry.url"}, "schema_registry.username"},
		{"the registry lacks a schema", func(t *testing.T, w *world) { w.cfg.Registry.URL = fakeRegistry(t).URL() },
			[]string{"schemas_missing schema_registry.url"}, "tributary schemas register"},
		{"the registry has another schema under an id", func(t *testing.T, w *world) {
			f, items := fakeRegistry(t), allSchemas(t)
			f.SeedSchema("another", 1, items[0].ID, sr.Schema{Schema: `"string"`, Type: sr.TypeAvro})
			w.cfg.Registry.URL = f.URL()
		}, []string{"schema_conflict schema_registry.url"}, "another registry"},
		{"the collector is away", func(_ *testing.T, w *world) { w.cfg.Traces.Endpoint = "http://" + w.away() },
			[]string{"server_unreachable traces.endpoint"}, "correct traces.endpoint"},
		{"the provider is away", func(_ *testing.T, w *world) { w.cfg.Web.OIDC.Issuer = "http://" + w.away() },
			[]string{"server_unreachable web.oidc.issuer"}, "correct web.oidc.issuer"},
		{"what stands for the provider is none", func(_ *testing.T, w *world) { w.cfg.Web.OIDC.Issuer = "http://" + w.stranger() },
			[]string{"server_unreachable web.oidc.issuer"}, "openid-configuration"},
		{"the provider has another name", func(t *testing.T, w *world) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"issuer":"https://other"}`) }))
			t.Cleanup(s.Close)
			w.cfg.Web.OIDC.Issuer = s.URL
		}, []string{"issuer_differs web.oidc.issuer"}, "exactly"},
		{"a source that is not there", func(_ *testing.T, w *world) {
			w.cfg.Sources = []config.Source{{ID: "good", Centre: "H", URL: "file://" + w.cfg.DataDir}, {ID: "a", Centre: "H", URL: "file:///not/there"}}
		}, []string{"source_unreachable source a"}, "url"},
		{"a source whose server is away", func(_ *testing.T, w *world) {
			w.cfg.Sources = []config.Source{{ID: "a", Centre: "H", URL: "ftp://u@" + w.away() + "/", Password: configSecret("file:" + w.secret("password", hidden))}}
		}, []string{"source_unreachable source a"}, "host and port"},
	}
}

// refusing is the address of an HTTP server that refuses all with the same words.
func (w *world) refusing(text string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintln(w, text)
	}))
	w.t.Cleanup(s.Close)
	return s.URL
}

func allSchemas(t *testing.T) []registry.Item {
	t.Helper()
	codec := schemastest.Codec(t)
	return registry.Items(codec.Versions(), func(name string) string { return kafka.TopicName("tributary", name) })
}

func fakeRegistry(t *testing.T, opts ...srfake.Option) *srfake.Registry {
	t.Helper()
	f := srfake.New(opts...)
	t.Cleanup(f.Close)
	return f
}
