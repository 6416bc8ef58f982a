package sink

import (
	"context"
	"log/slog"
	"testing"

	"tributary/test/members"
)

// BenchmarkApplier gathers batches for a store that costs nothing.
func BenchmarkApplier(b *testing.B) {
	bench := newBench(b, 6)
	bench.Fill(b.N)
	s := &counter{left: b.N, done: make(chan struct{})}
	a := New(Config{Name: "sink", Prefix: prefix, Topics: []string{inTopic}}, bench.Factory(), s,
		slog.New(slog.DiscardHandler), bench.Metrics)
	b.ResetTimer()
	members.Running(b, a.Run)
	<-s.done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// counter is a Store that only counts.
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
