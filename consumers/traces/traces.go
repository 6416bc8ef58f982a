// Package traces tells a collector what becomes of each file, as one trace by OTLP
// over HTTP.
//
// It is a projection of status.changed like the tracker and the history: a consumer
// group of its own, so that no stage knows of it, waits for it or has its failures.
// What the collector has not taken yet waits in the log. Ids and times of spans
// follow from events alone, and what is sent again, after a crash or a reset of the
// group's offsets, are the same spans.
package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// Name of the role and of its consumer group, without the prefix.
const Name = "traces"

const (
	// firstReach is how far before its first start a group begins: a member that
	// is killed before its first commit finds what it had begun.
	firstReach = time.Hour
	// batchRecords and batchWait bound what is turned into requests at once.
	batchRecords = 1000
	batchWait    = time.Second
)

// Deps are what Traces work with.
type Deps struct {
	Connect kafka.Factory
	Codec   *schemas.Codec
	Prefix  string // of topics and groups
	Version string // of this program, for the collector
	Log     *slog.Logger
	Now     func() time.Time
	Metrics prometheus.Registerer
}

// Traces exports spans of what the event log says. It is a sink.Store whose
// positions are the group's own offsets, and is safe for concurrent use.
type Traces struct {
	deps     Deps
	exporter *exporter
	spans    *prometheus.CounterVec
	quiet    *kafka.Quiet

	batch []sink.Range // that is being sent; Apply's alone, which is called once at a time
	left  []request    // of it

	mu       sync.Mutex // held for a moment, never while something is sent
	memories map[int32]*memory
	exported map[int32]int64 // the position up to which this member has exported
}

// New makes Traces for a configured endpoint, which send nothing until Run. It fails if the authorization or the authorities can't be read.
func New(cfg config.Traces, d Deps) (*Traces, error) {
	c, err := newExporter(cfg)
	if err != nil {
		return nil, err
	}
	t := &Traces{deps: d, exporter: c, quiet: kafka.NewQuiet(d.Now), memories: map[int32]*memory{}, exported: map[int32]int64{},
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_traces_spans_total",
			Help: "Spans by what became of them at the collector: exported, or refused, which are dropped."}, []string{"result"})}
	d.Metrics.MustRegister(t.spans)
	return t, nil
}

// Applier returns what feeds Traces from Kafka.
func (t *Traces) Applier(metrics *member.Metrics) *sink.Applier {
	return sink.New(sink.Config{Name: Name, Prefix: t.deps.Prefix, Topics: []string{schemas.StatusChangedTopic}, MaxRecords: batchRecords, MaxWait: batchWait},
		t.deps.Connect, t, t.deps.Log, metrics)
}

// Run is the role, by what Applier returned. Any number of members may run: Kafka
// shares the partitions out.
func (t *Traces) Run(ctx context.Context, a *sink.Applier) error {
	defer t.exporter.client.CloseIdleConnections()
	return a.Run(ctx)
}

// Position is the group's offset or, where it has none, the first record of the
// last hour. It reads again what the memory of the partition knew there.
func (t *Traces) Position(ctx context.Context, topic string, partition int32) (int64, error) {
	position, span, err := t.position(ctx, kafka.TopicName(t.deps.Prefix, topic), partition)
	if err != nil {
		return 0, err
	}
	m := newMemory(position)
	m.number = max(0, m.number-1) // reading begins a stretch before
	span.From, span.To = max(span.From, from(position)), position
	reader := kafka.Reader{Connect: t.deps.Connect, SkipDeleted: true}
	if err := reader.Read(ctx, []kafka.Span{span}, func(c kafka.Chunk) error {
		for _, r := range c.Records {
			if _, err := t.read(m, r); err != nil {
				return nil //nolint:nilerr // it is told of when it comes to be exported, or was
			}
		}
		return nil
	}); err != nil {
		return 0, fmt.Errorf("read again what was before offset %d: %w", position, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memories[partition], t.exported[partition] = m, position
	return position, nil
}

func (t *Traces) position(ctx context.Context, topic string, partition int32) (int64, kafka.Span, error) {
	client, err := t.deps.Connect()
	if err != nil {
		return 0, kafka.Span{}, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	bounds, err := kafka.Bounds(ctx, admin, topic)
	if err != nil {
		return 0, kafka.Span{}, err
	}
	at := slices.IndexFunc(bounds, func(s kafka.Span) bool { return s.Partition == partition })
	if at < 0 {
		return 0, kafka.Span{}, fmt.Errorf("the broker shows no partition %d of %s", partition, topic)
	}
	span := bounds[at]
	group := kafka.GroupName(t.deps.Prefix, Name)
	offsets, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return 0, kafka.Span{}, fmt.Errorf("read the offsets of the group %s: %w", group, err)
	}
	if o, ok := offsets.Lookup(topic, partition); ok && o.Err == nil && o.At >= 0 {
		if o.At > span.To {
			return span.From, span, nil // the topic was made anew
		}
		return max(o.At, span.From), span, nil
	}
	first := []kafka.Span{span}
	if err := kafka.Since(ctx, admin, first, t.deps.Now().Add(-firstReach)); err != nil {
		return 0, kafka.Span{}, err
	}
	return first[0].From, span, nil
}

// Apply sends the spans that follow from a batch. It returns an error as long as
// the collector doesn't take them; then the same batch comes again, and what was
// taken of it is not sent again. What the collector refuses for good is counted and
// dropped. A record of a newer version is a *sink.RecordError.
func (t *Traces) Apply(ctx context.Context, batch []sink.Range) error {
	if !slices.EqualFunc(t.batch, batch, samePlace) {
		left, err := t.requests(batch)
		if err != nil {
			return err
		}
		t.batch, t.left = batch, left
	}
	for len(t.left) > 0 {
		taken, err := t.exporter.send(ctx, t.left[0])
		var refused *refusal
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		t.spans.WithLabelValues("exported").Add(float64(taken))
		if lost := t.left[0].spans - taken; lost > 0 {
			t.dropped(lost, err)
		}
		t.left = t.left[1:]
	}
	t.batch, t.left = nil, nil
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range batch {
		t.exported[r.Partition] = r.To
	}
	return nil
}

func samePlace(a, b sink.Range) bool {
	return a.Partition == b.Partition && a.From == b.From && a.To == b.To
}

// requests are what is to be sent of a batch.
func (t *Traces) requests(batch []sink.Range) ([]request, error) {
	var all []span
	for _, r := range batch {
		m := t.memory(r)
		for _, rec := range r.Records {
			spans, err := t.read(m, rec)
			if errors.Is(err, schemas.ErrUnknownSchema) {
				return nil, &sink.RecordError{Topic: r.Topic, Partition: r.Partition, Offset: rec.Offset, Err: err}
			}
			all = append(all, spans...) // a record that is no event has none
		}
	}
	return requests(t.deps.Version, all)
}

// memory is that of a batch's partition.
func (t *Traces) memory(r sink.Range) *memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.memories[r.Partition]
	if m == nil {
		m = newMemory(r.From)
		t.memories[r.Partition] = m
	}
	return m
}

// read makes the spans of a record, and remembers what later ones need of it.
func (t *Traces) read(m *memory, r *kgo.Record) ([]span, error) {
	m.at(r.Offset)
	decoded, err := t.deps.Codec.Decode(kafka.FromKgo(r))
	if err != nil {
		return nil, err
	}
	e, ok := decoded.Body.(*schemas.StatusChanged)
	if !ok {
		return nil, nil
	}
	return m.spans(decoded.ID, read(decoded, e)), nil
}

// dropped counts spans that the collector won't have, and says so.
func (t *Traces) dropped(n int, cause error) {
	t.spans.WithLabelValues("refused").Add(float64(n))
	const msg = "the collector refused spans, which are dropped"
	if missed, ok := t.quiet.Due(msg); ok {
		args := []any{"spans", n, "not_logged", missed}
		if cause != nil {
			args = append(args, "reason", cause)
		}
		t.deps.Log.Warn(msg, args...)
	}
}

// Exported tells whether all that stands before the ends of the given partitions
// was exported by this member.
func (t *Traces) Exported(ends []kafka.Span) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(ends, func(s kafka.Span) bool { return s.To > 0 && t.exported[s.Partition] < s.To })
}
