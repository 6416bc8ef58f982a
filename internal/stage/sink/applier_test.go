package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/test/members"
)

// store is a Store in memory. It keeps offsets as the databases do: only who
// knows the stored one may move it.
type store struct {
	mu        sync.Mutex
	positions map[string]int64
	ids       []string // applied, in order
	batches   []int    // their sizes
	moved     int
	fail      func() error // before anything is stored
}

func at(topic string, partition int32) string { return fmt.Sprint(topic, "/", partition) }

func (s *store) Position(_ context.Context, topic string, partition int32) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.positions[at(topic, partition)], nil
}

func (s *store) Apply(_ context.Context, batch []Range) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return err
		}
	}
	for _, r := range batch {
		if s.positions[at(r.Topic, r.Partition)] != r.From {
			s.moved++
			return fmt.Errorf("store: %w", pg.ErrMoved)
		}
	}
	if s.positions == nil {
		s.positions = map[string]int64{}
	}
	n := 0
	for _, r := range batch {
		s.positions[at(r.Topic, r.Partition)] = r.To
		for _, rec := range r.Records {
			s.ids = append(s.ids, members.Header(rec, "ce_id"))
		}
		n += len(r.Records)
	}
	s.batches = append(s.batches, n)
	return nil
}

func (s *store) has(n int) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.ids) >= n
	}
}

// apply runs an Applier until the returned function is called.
func (b *bench) apply(s Store, change func(*Config), opts ...kgo.Opt) (stop func()) {
	cfg := Config{Name: "sink", Prefix: prefix, Topics: []string{inTopic}, MaxWait: 10 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	return members.Running(b.T, New(cfg, b.Factory(opts...), s, members.Logger(b.T), b.Metrics).Run)
}

// ids of keys*each messages, each once.
func (s *store) wantOnce(t *testing.T, keys, each int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]int{}
	for _, id := range s.ids {
		var k, n int
		if _, err := fmt.Sscanf(id, "key%d-%d", &k, &n); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("key", k)
		if n != next[key] {
			t.Fatalf("%s came where %s-%d should", id, key, next[key])
		}
		next[key]++
	}
	if len(next) != keys || len(s.ids) != keys*each {
		t.Errorf("%d records of %d keys, want %d of %d", len(s.ids), len(next), keys*each, keys)
	}
}

func TestApplierStartsFromTheStore(t *testing.T) {
	b := newBench(t, 3)
	b.ProduceKeys(5, 0, 20)
	var s store
	stop := b.apply(&s, nil)
	members.Eventually(t, "all is applied", s.has(100))
	stop()
	b.ProduceKeys(5, 20, 30)
	// The group's offsets are of no interest, wherever they are.
	wrong := kadm.Offsets{}
	for p := range int32(3) {
		wrong.AddOffset(kafka.TopicName(prefix, inTopic), p, 1, -1)
	}
	if err := kadm.NewClient(b.Client).CommitAllOffsets(t.Context(), "test.sink", wrong); err != nil {
		t.Fatal(err)
	}
	b.apply(&s, nil)
	members.Eventually(t, "the rest is applied", s.has(150))
	s.wantOnce(t, 5, 30)
	if s.moved != 0 {
		t.Errorf("%d batches did not start where the store was", s.moved)
	}
}

func TestApplierGathersBatches(t *testing.T) {
	b := newBench(t, 3)
	b.ProduceKeys(5, 0, 20)
	var s store
	b.apply(&s, func(c *Config) { c.MaxRecords, c.MaxWait = 30, time.Minute })
	members.Eventually(t, "full batches are applied", s.has(90))
	for _, n := range s.batches {
		if n != 30 {
			t.Errorf("batches of %v records, want 30 each", s.batches)
			break
		}
	}
	if s.has(91)() {
		t.Error("a batch was applied that was neither full nor old enough")
	}
}

// Whoever is told to hurry while it waits for more applies what it has.
func TestAHurriedApplierWaitsForNoMore(t *testing.T) {
	b := newBench(t, 3)
	b.ProduceKeys(5, 0, 20)
	var s store
	a := New(Config{Name: "sink", Prefix: prefix, Topics: []string{inTopic}, MaxRecords: 30, MaxWait: time.Hour, Lull: time.Hour}, b.Factory(), &s, members.Logger(t), b.Metrics)
	members.Running(t, a.Run)
	members.Eventually(t, "full batches are applied", s.has(90))
	a.Hurry()
	members.Eventually(t, "the rest is applied", s.has(100))
	b.ProduceKeys(5, 20, 22)
	members.Eventually(t, "what comes later is", s.has(110))
	s.wantOnce(t, 5, 22)
}

func TestApplierTriesTheSameBatchAgain(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(2, 0, 10)
	attempts := 0
	s := store{fail: func() error {
		if attempts++; attempts <= 3 {
			return errors.New("the database is away")
		}
		return nil
	}}
	b.apply(&s, nil)
	members.Eventually(t, "all is applied", s.has(20))
	s.wantOnce(t, 2, 10)
	if s.moved != 0 {
		t.Errorf("%d batches did not start where the store was", s.moved)
	}
}

func TestApplierFollowsAMovedPosition(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(1, 0, 10)
	var s store
	b.apply(&s, func(c *Config) { c.MaxRecords = 10 })
	members.Eventually(t, "the first are applied", s.has(10))
	// Another member, or a person, moves it on, and back.
	for _, to := range []int64{13, 5} {
		s.mu.Lock()
		s.positions[at(inTopic, 0)] = to
		had, moved := len(s.ids), s.moved
		s.mu.Unlock()
		first := 10
		if to == 5 {
			first = 20
		}
		b.ProduceKeys(1, first, first+10)
		end := int64(first + 10)
		members.Eventually(t, "the rest is applied", s.has(had+int(end-to)))
		s.mu.Lock()
		if got, want := s.ids[had], fmt.Sprint("key0-", to); got != want {
			t.Errorf("after the position was moved to %d, %s was applied, want %s", to, got, want)
		}
		if s.moved == moved {
			t.Error("the store was never asked to refuse: the test shows nothing")
		}
		s.mu.Unlock()
	}
}

// Members come, go and die: every record is applied once, in order.
func TestAppliersShareTheWork(t *testing.T) {
	b := newBench(t, 4)
	const keys, each = 8, 60
	var s store
	b.apply(&s, nil)
	var leave func()
	var l members.Line
	for n := range each {
		b.ProduceKeys(keys, n, n+1)
		switch n {
		case 10:
			leave = b.apply(&s, nil)
		case 20:
			b.apply(&s, nil, l.Opts()...)
		case 30:
			leave()
		case 40:
			l.Cut()
		}
		members.Eventually(t, "members keep up", s.has(keys*(n-5)))
	}
	members.Eventually(t, "all is applied", s.has(keys*each))
	s.wantOnce(t, keys, each)
}

// A position beyond the log's end means that the log was reset: its offsets
// are not those that were applied.
func TestApplierStopsAtAResetLog(t *testing.T) {
	b := newBench(t, 2)
	b.ProduceKeys(6, 0, 5)
	in := kafka.TopicName(prefix, inTopic)
	end := b.End(in, 0)
	s := store{positions: map[string]int64{at(inTopic, 0): end + 100}}
	b.apply(&s, nil)
	members.Eventually(t, "the partition is reported", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
	other := b.End(in, 1)
	members.Eventually(t, "the other partition is applied", s.has(int(other)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) != int(other) || s.positions[at(inTopic, 0)] != end+100 {
		t.Errorf("the log that was reset was read: %d records applied, want %d", len(s.ids), other)
	}
}

// Records that expired before they were read are reported, and what is left
// is applied from the stored position on.
func TestApplierReportsExpiredRecords(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(1, 0, 20)
	before := kadm.Offsets{}
	before.AddOffset(kafka.TopicName(prefix, inTopic), 0, 15, -1)
	if _, err := kadm.NewClient(b.Client).DeleteRecords(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	s := store{positions: map[string]int64{at(inTopic, 0): 10}}
	b.apply(&s, nil)
	members.Eventually(t, "what is left is applied", s.has(5))
	if got := b.Metric("tributary_stage_expired_records_total"); got != 5 {
		t.Errorf("expired_records_total = %v, want 5", got)
	}
	if s.moved != 0 || s.positions[at(inTopic, 0)] != 20 {
		t.Errorf("stored position %d, want 20", s.positions[at(inTopic, 0)])
	}
}

// A record of a newer version is named in the log and in the metric, for as
// long as it holds the member up.
func TestApplierNamesTheRecordOfANewerVersion(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(1, 0, 3)
	var upgraded atomic.Bool
	s := store{fail: func() error {
		if upgraded.Load() {
			return nil
		}
		return fmt.Errorf("sink: %w", &RecordError{Topic: inTopic, Partition: 0, Offset: 2, Err: schemas.ErrUnknownSchema})
	}}
	var logged bytes.Buffer
	cfg := Config{Name: "sink", Prefix: prefix, Topics: []string{inTopic}, MaxWait: 10 * time.Millisecond}
	stop := members.Running(t, New(cfg, b.Factory(), &s, slog.New(slog.NewTextHandler(&logged, nil)), b.Metrics).Run)
	members.Eventually(t, "the partition is reported", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
	members.Eventually(t, "the record's partition and the reason are reported", func() bool {
		families, err := b.Registry.Gather()
		if err != nil {
			t.Error(err)
		}
		var labels []string
		for _, f := range families {
			if f.GetName() == "tributary_stage_blocked" && len(f.GetMetric()) == 1 {
				for _, l := range f.GetMetric()[0].GetLabel() { // sorted by name
					labels = append(labels, l.GetValue())
				}
			}
		}
		return slices.Equal(labels, []string{"0", "unknown_schema", "sink", "test.file.discovered.v1"})
	})
	upgraded.Store(true)
	members.Eventually(t, "all is applied", s.has(3))
	members.Eventually(t, "it is reported no longer", func() bool { return b.Metric("tributary_stage_blocked") == 0 })
	stop()
	if want := "topic=test.file.discovered.v1 partition=0 offset=2"; !strings.Contains(logged.String(), want) {
		t.Errorf("the log does not name the record as %s:\n%s", want, &logged)
	}
}

// A store that is away keeps nobody from stopping.
func TestApplierStopsWithoutAStore(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(1, 0, 1)
	tried := make(chan struct{}, 1000)
	s := store{fail: func() error { tried <- struct{}{}; return errors.New("the database is away") }}
	stop := b.apply(&s, nil)
	<-tried
	stop()
}

// The group's offsets follow, so that tools can show the lag.
func TestApplierTellsTheGroup(t *testing.T) {
	b := newBench(t, 1)
	b.ProduceKeys(1, 0, 7)
	var s store
	stop := b.apply(&s, nil)
	members.Eventually(t, "all is applied", s.has(7))
	stop()
	if o, _ := b.Committed("test.sink", 0); o.At != 7 {
		t.Errorf("the group is at %d, want 7", o.At)
	}
}
