package traces

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/collector"
	"tributary/test/members"
)

// start runs a member until the test ends, or until the returned function is called.
func start(t *testing.T, b *members.Bench, at *collector.Collector) (traces *Traces, stop func()) {
	t.Helper()
	traces, err := New(config.Traces{Endpoint: at.URL}, Deps{Connect: b.Factory(), Codec: b.Codec, Prefix: members.Prefix, Version: "1",
		Log: members.Logger(t), Now: time.Now, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry.Unregister(traces.spans) // the one of the member before
	b.Registry.MustRegister(traces.spans)
	applier := traces.Applier(b.Metrics)
	return traces, members.Running(t, func(ctx context.Context) error { return traces.Run(ctx, applier) })
}

// produce writes messages to one partition, as written at a moment.
func produce(t *testing.T, b *members.Bench, written time.Time, log ...schemas.Message) {
	t.Helper()
	for _, m := range log {
		r, err := b.Codec.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		rec := kafka.ToKgo(members.Prefix, r)
		rec.Timestamp = written
		b.ProduceRaw(rec)
	}
}

// names are the spans of a collector, each once, as storyDrawn has them.
func names(at *collector.Collector) []string {
	all := map[[8]byte]span{}
	for _, s := range at.Spans() {
		all[hexID(s.ID)] = span{parent: hexID(s.Parent), name: s.Name, start: s.Start, end: s.End, failed: s.Failed, message: s.Message}
	}
	return drawn(all)
}

func hexID(text string) (id [8]byte) {
	if b, err := hex.DecodeString(text); err == nil {
		copy(id[:], b)
	}
	return id
}

// has tells whether a span came, as storyDrawn has it.
func has(at *collector.Collector, line string) func() bool {
	return func() bool { return slices.Contains(names(at), line) }
}

const lastOfStory = "xml_name > overview 43-44"

// A member that goes on where another was stopped makes the spans that the one
// before would have made, those between an event of the one and one of the other
// included.
func TestAnotherMemberGoesOn(t *testing.T) {
	b, at := members.New(t, 1), collector.New(t)
	log := story()
	before, stop := start(t, b, at)
	produce(t, b, time.Now(), log[:8]...)
	// Stopped earlier, it would not know that the collector has them.
	members.Eventually(t, "the download is exported", func() bool { return before.Exported([]kafka.Span{{To: 8}}) })
	if !has(at, "file > download 09-11")() {
		t.Error("the collector lacks the download")
	}
	stop()
	produce(t, b, time.Now(), log[8:]...)
	traces, _ := start(t, b, at)
	members.Eventually(t, "the end is exported", has(at, lastOfStory))
	if diff := cmp.Diff(storyDrawn(), names(at)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(at.Spans()); n != len(storyDrawn()) {
		t.Errorf("%d spans came, want %d: what was exported before the stop came again", n, len(storyDrawn()))
	}
	ends := []kafka.Span{{Partition: 0, To: int64(len(log))}}
	members.Eventually(t, "the member knows that all is exported", func() bool { return traces.Exported(ends) })
	ends[0].To++
	if traces.Exported(ends) {
		t.Error("the member takes for exported what was not written yet")
	}
}

// A group without offsets begins an hour before its first start, and knows what
// came before, without exporting it.
func TestFirstStartReachesBack(t *testing.T) {
	b, at := members.New(t, 1), collector.New(t)
	log := story()
	produce(t, b, time.Now().Add(-2*firstReach), log[:3]...)
	produce(t, b, time.Now(), log[3:]...)
	start(t, b, at)
	members.Eventually(t, "the end is exported", has(at, lastOfStory))
	var want []string
	for _, line := range storyDrawn()[1:] { // without the root, of before
		want = append(want, strings.TrimPrefix(line, "file"))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, names(at)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What the collector has not taken waits for it, and nothing of it is lost.
func TestCollectorIsAway(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"busy": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"redirect": elsewhere,
		"hang up":  hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			b, at := members.New(t, 1), collector.New(t)
			at.Answer(answer)
			start(t, b, at)
			produce(t, b, time.Now(), story()...)
			members.Eventually(t, "it is tried again", func() bool { return len(at.Headers()) > 1 })
			if n := b.Labelled("tributary_traces_spans_total", "result", "refused"); n > 0 {
				t.Errorf("%v spans were dropped", n)
			}
			at.Answer(nil)
			members.Eventually(t, "the end is exported", has(at, lastOfStory))
			if diff := cmp.Diff(storyDrawn(), names(at)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A collector that never answers keeps no member from stopping.
func TestSilentCollector(t *testing.T) {
	b, at := members.New(t, 1), collector.New(t)
	asked := make(chan struct{}, 100)
	at.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices that the client is gone only then
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	})
	traces, stop := start(t, b, at)
	produce(t, b, time.Now(), story()...)
	<-asked
	if traces.Exported([]kafka.Span{{To: 1}}) {
		t.Error("what the collector has not taken counts as exported")
	}
	stop()
}

// What the collector refuses for good is dropped and counted; what comes after it
// is exported.
func TestCollectorRefuses(t *testing.T) {
	b, at := members.New(t, 1), collector.New(t)
	at.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	start(t, b, at)
	log := story()
	produce(t, b, time.Now(), log[:3]...)
	members.Eventually(t, "the root is dropped", func() bool { return b.Labelled("tributary_traces_spans_total", "result", "refused") == 1 })
	at.Answer(nil)
	produce(t, b, time.Now(), log[3:]...)
	members.Eventually(t, "the end is exported", has(at, lastOfStory))
	// The member counts what the collector has just taken a little later.
	members.Eventually(t, "the rest counts as exported", func() bool {
		return b.Labelled("tributary_traces_spans_total", "result", "exported") == float64(len(storyDrawn())-1)
	})
}

// A record that is no event stops nobody, and one of a newer version waits for an
// upgrade.
func TestRecordsThatAreNoEvents(t *testing.T) {
	b, at := members.New(t, 1), collector.New(t)
	topic := kafka.TopicName(members.Prefix, schemas.StatusChangedTopic)
	start(t, b, at)
	b.ProduceRaw(&kgo.Record{Topic: topic, Value: []byte("no event")})
	produce(t, b, time.Now(), story()...)
	members.Eventually(t, "the end is exported", has(at, lastOfStory))
	b.ProduceRaw(&kgo.Record{Topic: topic, Value: []byte{0, 0, 0, 0xff, 0xff, 1}})
	members.Eventually(t, "the member stands still", func() bool { return b.Metric("tributary_stage_blocked") == 1 })
}
