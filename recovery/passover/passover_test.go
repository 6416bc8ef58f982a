package passover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/test/wait"
)

// scene is a broker with a list of what was decided.
type scene struct {
	*List
	t      *testing.T
	client *kgo.Client
	logged *logged
}

// logged is what was logged; it is written to from many goroutines.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newScene(t *testing.T, topics ...string) *scene {
	t.Helper()
	connect := kafka.NewFactory(config.Default().Kafka, enginetest.Broker(t), slog.New(slog.DiscardHandler))
	s := &scene{t: t, logged: &logged{}}
	s.List = &List{Connect: connect, Codec: schemastest.Codec(t), Prefix: "t", Log: slog.New(slog.NewTextHandler(s.logged, nil))}
	var err error
	if s.client, err = connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	for _, topic := range topics {
		s.create(topic)
	}
	return s
}

func (s *scene) create(topic string) {
	s.t.Helper()
	if _, err := kadm.NewClient(s.client).CreateTopic(s.t.Context(), 1, 1, nil, kafka.TopicName("t", topic)); err != nil {
		s.t.Fatal(err)
	}
}

// put writes a value, and returns its offset.
func (s *scene) put(topic string, value []byte) int64 {
	s.t.Helper()
	r, err := s.client.ProduceSync(s.t.Context(), &kgo.Record{Topic: kafka.TopicName("t", topic), Value: value}).First()
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Offset
}

func (s *scene) decide(d schemas.RecordPassedOver) {
	s.t.Helper()
	record, err := s.Codec.Encode(schemas.Message{ID: "id", Topic: schemas.RecordPassedOverTopic, Key: "k", Stage: "topics", Time: time.Now().UTC(), Body: &d})
	if err == nil {
		err = s.client.ProduceSync(s.t.Context(), kafka.ToKgo("t", record)).FirstErr()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) load() {
	s.t.Helper()
	if err := s.Load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// about is a decision about a value.
func about(value string, by string) schemas.RecordPassedOver {
	return schemas.RecordPassedOver{SHA256: chain.Of([]byte(value)).String(), Size: int64(len(value)), By: by, Reason: "noise"}
}

func TestDecisionsAreFoundByTheirBytes(t *testing.T) {
	s := newScene(t, schemas.RecordPassedOverTopic)
	s.decide(about("garbage", "ann"))
	missing := about("missing", "ann")
	missing.Missing, missing.GoesOn = true, missing.SHA256
	s.decide(missing)
	s.put(schemas.RecordPassedOverTopic, []byte("no event"))
	s.decide(schemas.RecordPassedOver{SHA256: "abc", By: "nobody"})
	wrong := about("rubbish", "bob")
	wrong.GoesOn = "x"
	s.decide(wrong)
	if err := s.Covers([]byte("garbage")); err != nil {
		t.Errorf("it is covered before anything was read: %v", err)
	}
	s.load()
	for value, want := range map[string]string{
		"garbage": "passed over by ann: noise",
		"garbagf": "", // of the same size
		"missing": "", // it counts
		"rubbish": "",
	} {
		err := s.Covers([]byte(value))
		if got := fmt.Sprint(err); (err != nil || want != "") && (got != want || !errors.Is(err, schemas.ErrPassedOver)) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
	if d, ok := s.Chain(chain.Of([]byte("missing"))); !ok || !d.Missing || d.GoesOn != chain.Of([]byte("missing")) {
		t.Errorf("the chain is told %+v, %v", d, ok)
	}
	if _, ok := s.Chain(chain.Of([]byte("other"))); ok {
		t.Error("something was decided about another record")
	}
	if n := strings.Count(s.logged.String(), "decides nothing"); n != 3 {
		t.Errorf("%d records decide nothing, want 3:\n%s", n, s.logged)
	}
	// What comes later counts, and what was read stays.
	s.decide(about("garbage", "bob"))
	s.load()
	if err := s.Covers([]byte("garbage")); err == nil || !strings.Contains(err.Error(), "by bob") {
		t.Errorf("after a second decision: %v", err)
	}
	var who []string
	for _, d := range s.All() {
		who = append(who, d.By)
	}
	if d := cmp.Diff([]string{"ann", "bob"}, who); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

// Older programs left no topic: then nothing was decided.
func TestWithoutTheTopicNothingIsDecided(t *testing.T) {
	s := newScene(t)
	s.load()
	s.create(schemas.RecordPassedOverTopic)
	s.decide(about("garbage", "ann"))
	s.load()
	if s.Covers([]byte("garbage")) == nil {
		t.Error("what was decided since is not known")
	}
}

// Processes that run hear of decisions.
func TestDecisionsAreFollowed(t *testing.T) {
	s := newScene(t, schemas.RecordPassedOverTopic)
	s.decide(about("garbage", "ann"))
	s.load()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.decide(about("more", "ann"))
	deadline := time.NewTimer(wait.Patience())
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.Covers([]byte("more")) == nil {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("the second decision was not heard of")
		}
	}
	cancel()
	if err := <-done; err != nil || s.Covers([]byte("garbage")) == nil {
		t.Errorf("Run: %v; the first decision: %v", err, s.Covers([]byte("garbage")))
	}
}

// No more than Max are kept in mind, whoever writes them; those that are known can
// still be replaced.
func TestDecisionsAreBounded(t *testing.T) {
	s := &List{Codec: schemastest.Codec(t), Log: slog.New(slog.DiscardHandler)}
	all := s.copied()
	take := func(value, by string) {
		d := about(value, by)
		r, err := s.Codec.Encode(schemas.Message{ID: "id", Topic: schemas.RecordPassedOverTopic, Key: "k", Stage: "topics", Time: time.Now(), Body: &d})
		if err != nil {
			t.Fatal(err)
		}
		s.addDecision(&all, kafka.ToKgo("t", r))
	}
	for i := range Max + 5 {
		take(fmt.Sprint(i), "ann")
	}
	take("7", "bob")
	s.known.Store(&all)
	if n := len(s.All()); n != Max {
		t.Errorf("%d decisions are kept", n)
	}
	if err := s.Covers([]byte("7")); err == nil || !strings.Contains(err.Error(), "bob") {
		t.Errorf("the replaced one: %v", err)
	}
}
