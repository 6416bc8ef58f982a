package restore

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/consumers/stage"
	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
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
	if err := control.Migrate(t.Context(), s.Pool); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	p := plan.New(config.Default().Plan, time.Minute, false, s.Pool, pg.Outbox{Schema: control.Schema, Codec: s.Codec}, pg.Offsets{Schema: control.Schema, Group: "t.plan"}, log)
	applier := stage.NewApplier(stage.ApplierConfig{Name: "plan", Prefix: "t", Topics: plan.Topics()}, s.Connect, p, log, stage.NewMetrics(prometheus.NewRegistry()))
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
	if _, err := s.Run(t.Context()); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("beside a member that has read the topics: %v", err)
	}
	s.Force, s.Reason = true, "a test"
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tell(schemas.DownloadFinishedTopic, "download", &schemas.DownloadFinished{FileRef: schemas.FileRef{File: schemas.ID("another")}, Attempt: 1, Result: schemas.Fetched})
	s.until("the member has read it again, and accepts it", "SELECT state FROM control.acquisition WHERE file = '"+file+"' AND state = 'received'")
}

// until waits for a row.
func (s *scene) until(what, query string) {
	s.t.Helper()
	deadline := time.NewTimer(time.Minute)
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
