package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
)

func TestDLQUsage(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"dlq retry", "which dead letters?"},
		{"dlq replay", "use tributary dlq retry"},
		{"dlq drop --reason x", "which dead letters?"},
		{"dlq drop validate:0:1", "--reason"},
		{"dlq retry validate:0:1 --where state=open", "not both"},
		{"dlq list --limit -1", "--limit"},
		{"dlq list --where colour=red", "colour"},
		{"dlq list --where since=yesterday", "2h"},
		{"dlq list -o xml", "xml"},
		{"dlq lisd", "list"},
	} {
		var out, errs strings.Builder
		if code := run(t.Context(), newCLI(nil, &out, &errs, nil), strings.Fields(tt.args)); code != exitUsage || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("tributary %s: exit code %d, %q; want %d and something about %q", tt.args, code, errs.String(), exitUsage, tt.says)
		}
	}
}

// Deciding about dead letters prepares nothing: schemas, tables and topics stay
// as those who run the system have them.
func TestDLQMigratesNothing(t *testing.T) {
	url, brokers := enginetest.Postgres(t), enginetest.Broker(t)
	text := fmt.Sprintf("data_dir: %s\nkafka: {bootstrap_servers: ['%s']}\npostgres: {url: '%s'}\n", t.TempDir(), strings.Join(brokers, "', '"), url)
	for _, args := range [][]string{{"dlq", "retry", "--dry-run", "--where", "state=open"}, {"dlq", "drop", "--where", "state=open", "--reason", "none"}} {
		if code, stdout, stderr := tributary(t, text, args...); code != exitFailed {
			t.Errorf("%v where nothing is: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	pool, err := pg.Open(t.Context(), url, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var made int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname IN ('control', 'tracker', 'warehouse')").Scan(&made); err != nil || made != 0 {
		t.Errorf("%d schemas were made: %v", made, err)
	}
	client, err := kafka.NewFactory(config.Default().Kafka, brokers, slog.New(slog.DiscardHandler))()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if topics, err := kadm.NewClient(client).ListTopics(t.Context()); err != nil || len(topics) != 0 {
		t.Errorf("topics were made: %v, %v", topics.Names(), err)
	}
}
