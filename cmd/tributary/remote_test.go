//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/queries/report/reporttest"
	"tributary/recovery/shadow/shadowtest"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/warehouse"
	"tributary/topics"
	"tributary/web"
	"tributary/web/access"
	"tributary/web/live"
)

// world is a system with the small story, a dead letter, a replay and a source in
// control, and its pages over TLS.
type world struct {
	config          string // for commands that ask the stores
	server          *httptest.Server
	pool            *pgxpool.Pool // of all schemas
	token, ca, made string        // files; made has the token
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, nil)
}

// newWorldOf is newWorld with a history; nil: none is reached.
func newWorldOf(t *testing.T, history driver.Conn) *world {
	t.Helper()
	pool, brokers := reporttest.Filled(t), enginetest.Broker(t)
	reporttest.Findings(t, pool)
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"UPDATE warehouse.document SET state = 'failed', phase = 'upload', exception = 'quarantined', attempt = 3 WHERE position = 5",
		`INSERT INTO control.replay (id, number, paced_at, phase, predicate, requested_at, requested_by, reason, state, changed_at, changed_by)
			VALUES ('00000000-0000-4000-8000-000000000007', 1, '2026-11-21T09:00:00Z', 'xsd', 'centre = ''H''', '2026-11-21T09:00:00Z', 'ada', 'new <schema>', 'stopped', '2026-11-21T09:30:00Z', 'bob')`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	cfg, dir := config.Default(), t.TempDir()
	cfg.DataDir, cfg.Kafka.ReplicationFactor, cfg.Kafka.Partitions = dir, 1, 1
	log := slog.New(slog.DiscardHandler)
	newClient := kafka.NewFactory(cfg.Kafka, brokers, log)
	client, err := newClient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := topics.Ensure(t.Context(), kadm.NewClient(client), cfg.Kafka); err != nil {
		t.Fatal(err)
	}
	a := &app{cfg: cfg, log: log, stores: &stores{Control: pool, Tracker: pool, Warehouse: pool, ClickHouse: history, Kafka: newClient, cfg: cfg}}
	if a.profile, err = loadProfile(cfg); err != nil {
		t.Fatal(err)
	}
	if a.mapping, err = loadMapping(a.profile); err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Apply(t.Context(), pool, a.profile.FS(), a.mapping); err != nil {
		t.Fatal(err)
	}
	blobs, err := openBlobs(t.Context(), cfg, pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	a.blobs = blobs
	deps, err := a.serves(live.New(live.Config{}, live.Deps{Position: a.stands(), Log: log}))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{pool: pool, ca: filepath.Join(dir, "ca.pem"), made: filepath.Join(dir, "token"),
		config: fmt.Sprintf("data_dir: %s\nkafka: {bootstrap_servers: ['%s'], replication_factor: 1}\npostgres: {url: '%s'}\n", dir, strings.Join(brokers, "', '"), pool.Config().ConnString())}
	w.server = httptest.NewTLSServer(web.New(web.Config{Prefix: "/t"}, deps).Handler())
	t.Cleanup(w.server.Close)
	w.token, err = access.Accounts{Pool: pool, Now: now}.AddToken(t.Context(), access.Person{Name: "monitor", Role: access.Reader}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{w.made: []byte(w.token + "\n"), w.ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(dir, "sources.yaml")
	if err := os.WriteFile(source, []byte("sources:\n  - {id: harwell, centre: H, url: 'sftp://u@h/<in>', password: 'env:NONE', host_key: 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU', interval: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := tributary(t, w.config, "sources", "apply", "-f", source, "--reason", "new"); code != exitOK {
		t.Fatalf("sources apply: %d %s%s", code, out, errs)
	}
	if _, err := pool.Exec(t.Context(), "UPDATE control.source SET next_due = '2100-01-01T10:00:00Z'"); err != nil { // the next times are the same a moment later
		t.Fatal(err)
	}
	return w
}

// remotely runs a command line that has no configuration.
func remotely(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), newCLI(strings.NewReader(""), &out, &errs, env), args)
	return code, out.String(), errs.String()
}

// Commands print the same, whether they ask the stores or a server.
func TestServerAnswersTheSame(t *testing.T) {
	w := newWorld(t)
	if code, _, errs := tributary(t, w.config, "blobs", "begin"); code != exitOK { // rows are compared with what is in it
		t.Fatal(errs)
	}
	shadowed := shadowtest.New(t, w.pool)
	shadowed.File("requested", shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Refused(2)}), shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Valid()}))
	shadowed.File("waiting", shadowtest.End{}, shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Valid()}))
	for _, line := range []string{
		"status", "status -o json", "status --oldest 0",
		"files", "files -o json", "files -o csv", "files --limit 1", "files --sort newest --centre h", "files --source harwell --status done", "files " + reporttest.GoodZip, "files " + reporttest.GoodZip[:3] + "*",
		"files --q " + reporttest.GoodZip[:3] + " --waiting", "files --since 2026-11-21 --until 2026-11-22", "files --centre nobody", "files --status gone", "files --session 1", "files nothing.zip",
		"documents", "documents -o json", "documents --exception xsd_invalid", "documents --centre nobody -o json",
		"show " + reporttest.GoodZip, "show -o json add/" + reporttest.GoodZip, "show nothing.zip", "show --action steal " + reporttest.GoodZip,
		"sources", "sources -o json", "sources show harwell", "sources show harwell -o json", "sources show nowhere", "sources history harwell", "sources history nowhere",
		"centres", "centres -o json",
		"replay list", "replay list -o json", "replay show 1", "replay show 1 -o json", "replay show 99",
		"replay compare try", "replay compare 2 --by centre -o json", "replay compare 1", "replay compare nobody", "replay compare try --by colour", "replay compare try --documents", "replay compare 2 --documents -o json", "replay compare 1 --documents", "replay promote try",
		"dlq list", "dlq list -o json", "dlq list --where centre=J --where state=open", "dlq list --where centre=none -o csv", "dlq list --where colour=red", "dlq list --topic none", "dlq list --all --group insert",
		"dlq show warehouse:0:5", "dlq show x", "sources find har", "sources find h nowhere -o json", "sources errors", "sources errors harwell -o json", "sources errors nowhere",
		"why " + reporttest.GoodZip, "why harwell add/" + reporttest.GoodZip + " -o json", "why nowhere a.zip", "why 00000000-0000-4000-8000-000000000000",
		"lineage 3/1", "lineage specimen H nobody", "lineage --file " + reporttest.GoodZip, "lineage --file add/" + reporttest.GoodZip + " -o json",
	} {
		code, out, errs := tributary(t, w.config, strings.Fields(line)...)
		rcode, rout, rerrs := remotely(t, nil, append(strings.Fields(line), "--server", w.server.URL+"/t/", "--token-file", w.made, "--ca-file", w.ca)...)
		if d := cmp.Diff([]any{code, out, errs}, []any{rcode, rout, rerrs}); d != "" {
			t.Errorf("tributary %s (-stores +server):\n%s", line, d)
		}
	}
}

// Who ordered what is told by a server as where the stores are, all of it to operators.
func TestServerTellsWhoOrderedWhat(t *testing.T) {
	w := newWorld(t)
	tokens := map[access.Role]string{}
	for _, role := range []access.Role{access.Wrangler, access.Operator} {
		var err error
		if tokens[role], err = (access.Accounts{Pool: w.pool, Now: now}).AddToken(t.Context(), access.Person{Name: role.String(), Role: role}, time.Hour, access.Order{By: "test", Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	for who, what := range map[string]string{"ann": "resumed", "ben": "put into maintenance"} {
		reporttest.Add(t, w.pool, schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Message: what + " by " + who + ": <so>",
			Attributes: map[string]string{"by": who, "reason": "<so>", "state": "available"}})
	}
	ask := func(role access.Role, line string) (int, string, string) {
		return remotely(t, []string{envToken + "=" + tokens[role]}, append(strings.Fields(line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
	}
	for _, line := range []string{"audit", "audit -o json", "audit -o csv --by ann", "audit --kind account --q operator", "audit --kind wish", "audit --limit 1", "audit --since 2026-11-21 --until 2026-11-22", "audit --since 2026-11-22 --until 2026-11-21"} {
		code, out, errs := tributary(t, w.config, strings.Fields(line)...)
		rcode, rout, rerrs := ask(access.Operator, line)
		if d := cmp.Diff([]any{code, out, errs}, []any{rcode, rout, rerrs}); d != "" {
			t.Errorf("%s (-stores +server):\n%s", line, d)
		}
	}
	code, out, _ := ask(access.Operator, "audit -o csv --limit 0")
	if code != exitOK || !strings.Contains(out, ",ann,source,harwell,resumed,<so>,\n") || !strings.Contains(out, ",test,account,token:operator,") {
		t.Errorf("an operator reads: %d %s", code, out)
	}
	if code, out, _ := ask(access.Wrangler, "audit"); code != exitOK || strings.Contains(out, "token:") || !strings.Contains(out, "resumed") {
		t.Errorf("a wrangler reads: %d %s", code, out)
	}
	if code, out, errs := remotely(t, []string{envToken + "=" + w.token}, "audit", "--server", w.server.URL+"/t/", "--ca-file", w.ca); code != exitFailed || !strings.Contains(errs, "a reader") {
		t.Errorf("a reader reads: %d %s%s", code, out, errs)
	}
	if code, _, errs := tributary(t, w.config, "audit", "--limit", "-1"); code != exitUsage || !strings.Contains(errs, "--limit must be 0 or more") {
		t.Errorf("less than nothing: %d %s", code, errs)
	}
}

// Replays are asked for, stopped and resumed, and shadows promoted, by a server as where
// the stores are; who may not is told so.
func TestServerOrdersReplays(t *testing.T) {
	w := newWorld(t)
	wrangler, err := access.Accounts{Pool: w.pool, Now: now}.AddToken(t.Context(), access.Person{Name: "desk", Role: access.Wrangler}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := shadowtest.New(t, w.pool)
	r.File("requested", shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Refused(2)}), shadowtest.Judged(shadowtest.Documents{"a": shadowtest.Valid()}))
	for _, c := range []struct {
		token, line string
		code        int
		says        string
	}{
		{w.token, "replay stop 2 --reason r", exitFailed, "you are token:monitor, a reader"},
		{wrangler, "replay stop 2 --reason r", exitOK, "replay 2: it requests nothing more"},
		{wrangler, "replay stop 2", exitFailed, "it is stopped"},
		{wrangler, "replay resume try", exitOK, "replay try: it goes on"},
		{wrangler, "replay promote try", exitUsage, "--reason is missing"},
		{wrangler, "replay promote try --reason r --rate 1", exitUsage, "--rate goes without --server"},
		{wrangler, "replay promote 1 --reason r", exitFailed, "it is no shadow"},
		{wrangler, "replay promote try --reason r", exitFailed, "the shadow is not done"},
		{wrangler, "replay --from xsd --where true --dry-run", exitOK, "would be replayed: 3 files"},
		{wrangler, "replay --from xsd --where true --dry-run -o json", exitOK, `{"files":3,"documents":2,`},
		{wrangler, "replay --from xsd --where file='none'", exitFailed, "nothing is chosen"},
		{wrangler, "replay --from xsd --where true --shadow beside --reason r", exitOK, "replay 3 (run "},
		{wrangler, "replay --stale --from download", exitUsage, "nothing is stale in download"},
		{wrangler, "replay --stale --shadow stale", exitOK, "replay 4 (run "},
		{wrangler, "replay --stale --rate 1", exitUsage, "--offsets and --rate go without --server"},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + c.token}, append(strings.Fields(c.line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
		if said := out + errs; code != c.code || !strings.Contains(strings.ToLower(said), strings.ToLower(c.says)) {
			t.Errorf("%s: %d %s, want %d and %q", c.line, code, said, c.code, c.says)
		}
	}
	runs, err := control.ReplayRuns(t.Context(), w.pool, 1)
	if err != nil || len(runs) != 1 || runs[0].By != "token:desk" || runs[0].Reason != "stale in unzip" || runs[0].Shadow != "stale" {
		t.Errorf("asked for: %+v, %v", runs, err)
	}
}

// What a source defines as done_with is ordered by a server with the words that are said
// where the stores are.
func TestServerOrdersToActAtSources(t *testing.T) {
	w := newWorld(t)
	operator, err := access.Accounts{Pool: w.pool, Now: now}.AddToken(t.Context(), access.Person{Name: "desk", Role: access.Operator}, time.Hour, access.Order{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := tributary(t, w.config, "sources", "edit", "harwell", "done_with=move done", "--reason", "r"); code != exitOK {
		t.Fatal(code, out, errs)
	}
	for _, c := range []struct {
		token, line string
		code        int
		says        string // empty: the same as where the stores are
	}{
		{w.token, "sources act harwell --reason r", exitFailed, "You are token:monitor, a reader"},
		{operator, "sources act harwell", exitUsage, "say why"},
		{operator, "sources act harwell nowhere --reason r -o json", exitOK, `"done":true,"source":"harwell"}`},
		{operator, "sources act harwell nowhere --reason r", exitOK, ""},
		{w.token, "sources show harwell", exitOK, ""},
		{operator, "sources act harwell --stop --reason r -o csv", exitOK, "harwell,true,"},
		{operator, "sources act harwell --stop --reason r -o csv", exitOK, ""},
	} {
		code, out, errs := remotely(t, []string{envToken + "=" + c.token}, append(strings.Fields(c.line), "--server", w.server.URL+"/t/", "--ca-file", w.ca)...)
		if said := out + errs; code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d and %q", c.line, code, said, c.code, c.says)
		}
		if c.says != "" {
			continue
		}
		lcode, lout, lerrs := tributary(t, w.config, strings.Fields(c.line)...)
		// The next polls of a source that was not polled yet are told from the moment of asking.
		times := regexp.MustCompile(`\d\d:\d\d:\d\dZ`)
		lout, out = times.ReplaceAllString(lout, "TIME"), times.ReplaceAllString(out, "TIME")
		if d := cmp.Diff([]any{lcode, lout, lerrs}, []any{code, out, errs}); d != "" {
			t.Errorf("%s (-stores +server):\n%s", c.line, d)
		}
	}
	var said string
	if err := w.pool.QueryRow(t.Context(), "SELECT acts || '|' || acts_said FROM control.source WHERE id = 'harwell'").Scan(&said); err != nil || said != "|ordered by token:desk: r" {
		t.Errorf("ordered: %q, %v", said, err)
	}
}

// Whatever keeps a server from answering is said in plain words, with what to do.
func TestServerRefusals(t *testing.T) {
	w := newWorld(t)
	url, ca := w.server.URL+"/t", []string{"--ca-file", w.ca}
	token, wrong := []string{envToken + "=" + w.token}, []string{envToken + "=" + strings.Repeat("a", len(w.token))}
	other := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/gone"):
			http.Redirect(out, r, "https://elsewhere.example/", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/old") && strings.HasSuffix(r.URL.Path, "/openapi.json"):
			out.Header().Set("Content-Type", "application/json")
			fmt.Fprint(out, `{"info":{"title":"Tributary","version":"v0.1"}}`)
		case strings.HasPrefix(r.URL.Path, "/bad"):
			http.Error(out, "<html>", http.StatusBadGateway)
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(other.Close)
	for _, c := range []struct {
		env  []string
		args []string
		code int
		says string
	}{
		{nil, append([]string{"--server", url}, ca...), exitUsage, "--server needs a token"},
		{nil, append([]string{"--server", url, "--token-file", w.made + "x"}, ca...), exitUsage, "no such file"},
		{token, append([]string{"--server", url}, ca...), exitOK, ""},
		{wrong, append([]string{"--server", url}, ca...), exitFailed, "does not know the token"},
		{token, []string{"--server", url}, exitFailed, "name it with --ca-file"},
		{token, []string{"--server", url, "--ca-file", w.made}, exitUsage, "has no certificate"},
		{token, append([]string{"--server", w.server.URL}, ca...), exitFailed, "there is no Tributary"},
		{token, []string{"--server", other.URL}, exitFailed, "there is no Tributary"},
		{token, []string{"--server", other.URL + "/old"}, exitFailed, "runs version v0.1 of Tributary"},
		{token, []string{"--server", other.URL + "/gone"}, exitFailed, "sends to another address"},
		{token, []string{"--server", other.URL + "/bad"}, exitFailed, "502 Bad Gateway"},
		{token, []string{"--server", strings.Replace(other.URL, "http:", "https:", 1)}, exitFailed, "without TLS"},
		{token, []string{"--server", "http://tracker.example.org"}, exitUsage, "would be read on the way"},
		{token, []string{"--server", "https://127.0.0.1:1"}, exitFailed, "can't be reached"},
		{token, []string{"--server", "tracker.example.org"}, exitUsage, "is no address"},
		{token, append([]string{"--server", url, "--as-of", "1h", "--max-events", "1"}, ca...), exitUsage, "--max-events goes without --server"},
		{token, append([]string{"--server", url, "--as-of", "1h"}, ca...), exitFailed, "doesn't reach the history"},
		{token, []string{"--ca-file", w.ca}, exitUsage, "go with --server"},
		{[]string{envToken + "=a b"}, []string{"--server", url}, exitUsage, "characters that none has"},
	} {
		code, out, errs := remotely(t, c.env, append([]string{"status"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(errs, w.token) || (code != exitOK) == (errs == "") {
			t.Errorf("status %v: %d %s%s, want %d and %q", c.args, code, out, errs, c.code, c.says)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var errs bytes.Buffer
	if code := run(ctx, newCLI(nil, &errs, &errs, token), []string{"status", "--server", other.URL}); code != exitFailed {
		t.Errorf("stopped: %d %s", code, &errs)
	}
}
