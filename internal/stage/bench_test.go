package stage

import (
	"context"
	"log/slog"
	"testing"

	"tributary/test/members"
)

// BenchmarkRunner carries records that cost nothing, one output each: what is
// measured is the runtime and the broker in memory.
func BenchmarkRunner(b *testing.B) {
	bench := newBench(b, 6)
	bench.Fill(b.N)
	done := make(chan struct{}, b.N)
	r := NewRunner(Config{Name: "work", Prefix: prefix, Topic: inTopic}, bench.Factory(), bench.Codec,
		funcs{work: func(ctx context.Context, in Input) error {
			defer func() { done <- struct{}{} }()
			return in.Emit(ctx, members.Echo(in.Message))
		}}, slog.New(slog.DiscardHandler), bench.Metrics)
	b.ResetTimer()
	members.Running(b, r.Run)
	for range b.N {
		<-done
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
