package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/wait"
)

// forgetful is what work topics lose: control asks again after seconds, of which a busy
// machine needs some for what is on its way.
const forgetful = `  silence_budget: 8s
`

// deletions is how often records are deleted while all roles run.
const deletions = 30

// The records of the work topics are deleted while files go through, before
// anybody has read them and at random moments: control requests again what is
// outstanding, and in the end the warehouse holds what it holds undisturbed. So
// nobody waits for offsets whose records are gone either.
func TestWorkThatIsDeletedIsRequestedAgain(t *testing.T) {
	t.Parallel()
	from := seed(t)
	s := setUp(t, corpus.Options{Seed: from, Shape: corpus.Demo}, rig.Options{Local: true, Extra: withPlan(forgetful)})
	one := undisturbedHash(t, corpus.Demo)
	rng := rand.New(rand.NewPCG(from, 0x73696c656e74))
	s.engines(func(at engine.Endpoints) {
		w := newWorkTopics(t, at)
		// Who reads jobs is not there yet: all are lost.
		deciding := s.start("run", "schedule", "poll", "plan", "publish")
		lost := int64(0)
		eventually(t, wait.Patience(), func() string {
			if lost += w.delete(); lost == 0 {
				return "no job was requested yet"
			}
			return ""
		})
		working := s.start("run", "download", "unzip", "validate", "sequence", "insert", "tracker", "history")
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for n := deletions; n > 0; {
			<-tick.C
			if rng.IntN(4) > 0 {
				continue
			}
			lost += w.delete()
			n--
		}
		t.Logf("seed %d: %d records were deleted", from, lost)
		s.settled(deciding, working)
		if hash := s.hash(); hash != one {
			t.Errorf("warehouse hash %s with work deleted, %s undisturbed", hash, one)
		}
		if !deciding.said("requesting again what has gone silent") {
			t.Error("nothing has gone silent")
		}
		working.stop()
		deciding.stop()
		// What nobody will ever read is no reason to wait.
		w.unreadable()
	})
	s.once()
	if got := s.expect(false); got.Hash != one {
		t.Errorf("warehouse hash %s after a last round, %s undisturbed", got.Hash, one)
	}
}

// withPlan is the lively configuration with more settings of plan.
func withPlan(more string) string {
	const section = "plan:\n"
	at := len(section)
	for lively[at-len(section):at] != section {
		at++
	}
	return lively[:at] + more + lively[at:]
}

// workTopics are the topics from download.requested to document.validated.
type workTopics struct {
	t      testing.TB
	client *kgo.Client
	admin  *kadm.Client
	topics []string
}

func newWorkTopics(t testing.TB, at engine.Endpoints) *workTopics {
	t.Helper()
	client, err := kgo.NewClient(kafka.Bootstrap(at.Kafka)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w := &workTopics{t: t, client: client, admin: kadm.NewClient(client)}
	for _, name := range []string{schemas.DownloadRequestedTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic, schemas.DocumentExtractedTopic, schemas.DocumentValidatedTopic} {
		w.topics = append(w.topics, kafka.TopicName("tributary", name))
	}
	return w
}

// unreadable writes records that are deleted before anybody reads them.
func (w *workTopics) unreadable() {
	w.t.Helper()
	for _, topic := range w.topics {
		if err := w.client.ProduceSync(w.t.Context(), &kgo.Record{Topic: topic, Value: []byte("lost")}).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
	}
	w.delete()
}

// delete deletes all records of the topics and returns how many there were.
func (w *workTopics) delete() (n int64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), wait.Patience())
	defer cancel()
	starts, err := w.admin.ListStartOffsets(ctx, w.topics...)
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := w.admin.ListEndOffsets(ctx, w.topics...)
	if err != nil {
		w.t.Fatal(err)
	}
	ends.Each(func(end kadm.ListedOffset) {
		if start, ok := starts.Lookup(end.Topic, end.Partition); ok && start.Err == nil && end.Err == nil {
			n += end.Offset - start.Offset
		}
	})
	if n == 0 {
		return 0 // or the topics are not there yet
	}
	deleted, err := w.admin.DeleteRecords(ctx, ends.Offsets())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := deleted.Error(); err != nil {
		w.t.Fatal(fmt.Errorf("delete records: %w", err))
	}
	return n
}
