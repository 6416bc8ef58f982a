package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// needKafka skips a test that makes no sense without Apache Kafka.
func needKafka(t testing.TB) {
	t.Helper()
	if enginetest.KafkaAddrs() == nil {
		t.Skip("needs Apache Kafka: make test-kafka runs it")
	}
}

// orderedRow is what is compared of a position: all but its number, which
// depends on how the domains' batches fell out, and what is made of ids.
type orderedRow struct {
	Domain, What, Action, Result, Phase string
	File                                string `json:"file_name"`
	Entry                               string
	Number                              int64
	Documents                           int32
}

// ordered is document.ordered by domain.
func (s *system) ordered() map[string][]orderedRow {
	s.t.Helper()
	out := map[string][]orderedRow{}
	type event struct{ Body orderedRow }
	for _, e := range list[event](s, "topics", "tail", "document.ordered", "--from", "start") {
		out[e.Body.Domain] = append(out[e.Body.Domain], e.Body)
	}
	return out
}

// The same corpus gives the same warehouse on the embedded broker and on Apache Kafka,
// with one member in each group and with eight, with both group protocols and with
// static members. Where batches are released whole each gives the same order per domain;
// in parts, the same positions in the same batches, in the order that expect checks.
func TestKafkaGivesTheSameWarehouse(t *testing.T) {
	needKafka(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.fromNothing = true // with as many partitions as it is told
	s.releaseWhole()
	type outcome struct {
		hash    string
		ordered map[string][]orderedRow
	}
	var want *outcome
	for _, tt := range []struct {
		name     string
		embedded bool
		members  int
		more     []string
		parts    bool // the profile releases early, as it does by default
		long     bool // left out with -short
	}{
		{name: "embedded broker, 1 member", embedded: true, members: 1},
		{name: "embedded broker, 8 members", embedded: true, members: 8, long: true},
		{name: "Apache Kafka, 1 member", members: 1},
		{name: "Apache Kafka, 8 members", members: 8},
		{name: "Apache Kafka, 8 members, consumer protocol", members: 8, more: []string{"TRIBUTARY_CFG_KAFKA_GROUP_PROTOCOL=consumer"}},
		{name: "Apache Kafka, 8 static members", members: 8, more: []string{"TRIBUTARY_CFG_KAFKA_INSTANCE_ID=member-%d"}, long: true},
		{name: "embedded broker, 1 member, in parts", embedded: true, members: 1, parts: true, long: true},
		{name: "Apache Kafka, 8 members, in parts", members: 8, parts: true},
	} {
		if testing.Short() && tt.long {
			continue
		}
		ok := t.Run(tt.name, func(t *testing.T) {
			defer func(whole testing.TB) { s.t, s.on = whole, nil }(s.t)
			s.t, s.embedded = t, tt.embedded
			if tt.parts && s.whole {
				s.configure("impc", "")
				s.whole = false
			}
			s.forget()
			s.onceWith(tt.members, tt.more)
			var got outcome
			s.engines(func(engine.Endpoints) { got.ordered = s.ordered() })
			got.hash = s.expect(true).Hash
			if want == nil {
				want = &got
				return
			}
			if got.hash != want.hash {
				t.Errorf("warehouse hash %s, want %s", got.hash, want.hash)
			}
			if tt.parts {
				want.ordered, got.ordered = sortedRows(want.ordered), sortedRows(got.ordered)
			}
			if diff := gocmp.Diff(want.ordered, got.ordered); diff != "" {
				t.Errorf("document.ordered by domain (-first +this):\n%s", diff)
			}
		})
		if !ok {
			return
		}
	}
}

// sortedRows are positions without their order.
func sortedRows(ordered map[string][]orderedRow) map[string][]orderedRow {
	out := map[string][]orderedRow{}
	for domain, rows := range ordered {
		out[domain] = sorted(rows)
	}
	return out
}

// onceWith runs up --once beside further members of every group; the
// environment's %d is the member's number.
func (s *system) onceWith(members int, more []string) {
	s.t.Helper()
	defer func() { s.more = nil }()
	as := func(n int) {
		s.more = []string{"TRIBUTARY_CFG_KAFKA_PARTITIONS=8"}
		for _, e := range more {
			if strings.Contains(e, "%d") {
				e = fmt.Sprintf(e, n)
			}
			s.more = append(s.more, e)
		}
	}
	as(0)
	if members == 1 {
		s.once()
		return
	}
	// The engines are served apart, so that all members are there before there
	// is work.
	s.engines(func(at engine.Endpoints) {
		var others []*process
		for n := range members - 1 {
			as(n + 1)
			others = append(others, s.start(strings.Fields("run plan publish download unzip validate sequence insert tracker history")...))
		}
		for _, o := range others {
			eventually(s.t, onceWithin, func() string { return says(o, `"msg":"running"`) })
		}
		as(0)
		s.more = append(s.more, s.addresses(at)...)
		s.once()
		s.more = nil
		for _, o := range others {
			o.stop()
		}
	})
}

// addresses let up use engines that are served: as an installation does that
// has its own.
func (s *system) addresses(at engine.Endpoints) []string {
	s.t.Helper()
	secret := func(name, text string) string {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			s.t.Fatal(err)
		}
		return "file:" + path
	}
	return []string{
		"TRIBUTARY_CFG_KAFKA_BOOTSTRAP_SERVERS=" + strings.Join(s.bootstrap(at), ","),
		"TRIBUTARY_CFG_KAFKA_REPLICATION_FACTOR=1",
		"TRIBUTARY_CFG_POSTGRES_URL=" + secret("postgres.url", at.Postgres),
		"TRIBUTARY_CFG_CLICKHOUSE_URL=" + secret("clickhouse.url", at.ClickHouse),
	}
}
