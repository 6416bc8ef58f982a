package stage

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
)

// fill produces n records of a thousand keys.
func (b *bench) fill(n int) {
	records := make([]*kgo.Record, n)
	for i := range records {
		rec, err := b.codec.Encode(message(fmt.Sprint("key", i%1000), i))
		if err != nil {
			b.t.Fatal(err)
		}
		records[i] = kafka.ToKgo(prefix, rec)
	}
	b.produceRaw(records...)
}

// BenchmarkRunner carries records that cost nothing, one output each: what is
// measured is the runtime and the broker in memory.
func BenchmarkRunner(b *testing.B) {
	bench := newBench(b, 6)
	bench.fill(b.N)
	done := make(chan struct{}, b.N)
	r := NewRunner(Config{Name: "work", Prefix: prefix, Topic: inTopic}, bench.factory(), bench.codec,
		funcs{work: func(ctx context.Context, in Input) error {
			defer func() { done <- struct{}{} }()
			return in.Emit(ctx, echo(in.Message))
		}}, slog.New(slog.DiscardHandler), bench.metrics)
	b.ResetTimer()
	running(b, r.Run)
	for range b.N {
		<-done
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkApplier gathers batches for a store that costs nothing.
func BenchmarkApplier(b *testing.B) {
	bench := newBench(b, 6)
	bench.fill(b.N)
	s := &counter{left: b.N, done: make(chan struct{})}
	a := NewApplier(ApplierConfig{Name: "sink", Prefix: prefix, Topics: []string{inTopic}}, bench.factory(), s,
		slog.New(slog.DiscardHandler), bench.metrics)
	b.ResetTimer()
	running(b, a.Run)
	<-s.done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// counter is a Sink that only counts.
type counter struct {
	left int
	done chan struct{}
}

func (c *counter) Position(context.Context, string, int32) (int64, error) { return 0, nil }

func (c *counter) Apply(_ context.Context, batch []Range) error {
	for _, r := range batch {
		c.left -= len(r.Records)
	}
	if c.left == 0 {
		close(c.done)
	}
	return nil
}
