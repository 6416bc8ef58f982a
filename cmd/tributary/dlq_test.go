package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
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

// The story of a letter shows what others wrote, but not as control sequences.
func TestLetterStory(t *testing.T) {
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := &letter{state: control.LetterDropped, deaths: 2, decided: control.DeadLetter{Attempt: 3, Forced: true,
		Retry: control.Decision{By: "ann@host", Reason: "mended", At: at}, Drop: control.Decision{By: "bob@host", At: at}}}
	l.Letter = &deadletter.Letter{ID: "validate:1:2", Stage: "validate", Topic: schemas.DocumentExtractedTopic, Class: "panic", Error: "bad \x1b[31m", Stack: "goroutine 1\nmain.go:7",
		Action: "add", FileName: "a.zip", Entry: "x\n.xml", OriginOffset: 9, Time: at, Problem: "no event", Record: &kgo.Record{Value: []byte(strings.Repeat("\x00", 1000)),
			Headers: []kgo.RecordHeader{{Key: "ce_id", Value: []byte("7\x1b")}, {Key: kafka.HeaderStack, Value: []byte("once is enough")}}}}
	var out strings.Builder
	if err := newLetterStory(l, codec).writeText(&out); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"panic: bad", "offset 9", "ann@host as attempt 3: mended", "bob@host: no reason was given", "2 retries died", "ce_id: 7", "goroutine 1\n", "main.go:7\n",
		"unreadable: no event", strings.Repeat("00", maxBytesShown) + "\n", "tributary show add/a.zip"} {
		if !strings.Contains(got, want) {
			t.Errorf("the story lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "once is enough") {
		t.Errorf("the story has what it should not:\n%q", got)
	}
}
