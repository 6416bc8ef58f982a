package restore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/test/wait"
)

// A member of the role plan that was started too early has read the topics into
// an empty control, and passed over all that it did not know. Restore refuses
// then; by force it makes control anew beside it, and with its next record the
// member begins from the start, and reads what the restored files wait for.
func TestAMemberThatWasStartedTooEarly(t *testing.T) {
	s := newScene(t)
	file, _ := s.fetched()
	if _, err := kadm.NewClient(s.client).CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName("t", schemas.UnzipFinishedTopic)); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	p := plan.New(config.Default().Plan, plan.Deps{Pool: s.Pool, Outbox: outbox.Outbox{Schema: control.Schema, Codec: s.Codec}, Offsets: pg.Offsets{Schema: control.Schema, Group: "t.plan"},
		Cutoff: time.Minute, Log: log, Now: func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }})
	applier := sink.New(sink.Config{Name: "plan", Prefix: "t", Topics: plan.Topics()}, s.Connect, p, log, member.NewMetrics(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx, applier) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	s.until("the member has read the outcome", "SELECT 'read' FROM control.consumed WHERE topic = '"+schemas.DownloadFinishedTopic+"' AND next_offset > 0")
	if _, err := s.Run(t.Context()); !errors.Is(err, ErrMembers) || !strings.Contains(err.Error(), "group t.plan") {
		t.Fatalf("beside a member that has read the topics: %v", err)
	}
	s.Force, s.Reason = true, "a test"
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tell(schemas.DownloadFinishedTopic, "download", &schemas.DownloadFinished{FileRef: schemas.FileRef{File: schemas.ID("another")}, Attempt: 1, Result: schemas.Fetched})
	s.until("the member has read it again, and accepts it", "SELECT state FROM control.acquisition WHERE file = '"+file+"' AND state = 'received'")
}

// Where control was dropped whole, leases and all, members that run are known by
// their sessions and their groups. Nothing is made anew then, which they would
// take for theirs.
func TestMembersAreSeenWithoutControl(t *testing.T) {
	s := sceneOn(t, enginetest.Postgres(t))
	s.fetched()
	s.Members = []string{"tributary up", "tributary run"}
	refused := func(named string) {
		t.Helper()
		if _, err := s.Run(t.Context()); !errors.Is(err, ErrMembers) || !strings.Contains(err.Error(), named) {
			t.Errorf("%v; want that %s is named", err, named)
		}
		if made := s.ask("SELECT coalesce(to_regnamespace('control')::text, '')"); len(made) != 1 || made[0] != "" {
			t.Errorf("the schema is there: %q", made)
		}
	}
	member, err := pg.Open(t.Context(), s.Pool.Config().ConnString(), "tributary run", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if err := member.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused("tributary run")
	member.Close()
	s.until("the session has ended", "SELECT 'ended' WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'tributary run' AND datname = current_database())")

	for name, stays := range map[string]bool{"t.download": true, "t.sequence": true, "another.download": false, "t.ksql": false} {
		client, err := s.Connect(kgo.ConsumerGroup(name), kgo.ConsumeTopics(kafka.TopicName("t", schemas.DownloadFinishedTopic)))
		if err != nil {
			t.Fatal(err)
		}
		s.joined(name)
		if stays {
			refused("group " + name)
		} else if seen, err := s.groups(t.Context()); err != nil || len(seen) > 0 {
			t.Errorf("%s is taken for a stage: %q, %v", name, seen, err)
		}
		client.Close()
	}
	s.Force, s.Reason = true, "they are known to be gone"
	if _, err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// joined waits until a group has a member.
func (s *scene) joined(group string) {
	s.t.Helper()
	deadline := time.NewTimer(wait.Patience())
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		listed, err := kadm.NewClient(s.client).ListGroups(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if listed[group].State == "Stable" {
			return
		}
		select {
		case <-deadline.C:
			s.t.Fatalf("nobody joins %s", group)
		case <-tick.C:
		}
	}
}

// until waits for a row.
func (s *scene) until(what, query string) {
	s.t.Helper()
	deadline := time.NewTimer(wait.Patience())
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(s.ask(query)) == 0 {
		select {
		case <-deadline.C:
			s.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}
