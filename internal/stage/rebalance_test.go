package stage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/test/members"
	"tributary/test/wait"
)

// Members come, go and die while there is work: every record is worked on, and
// per key each for the first time in order.
func TestMembersComeAndGo(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{
		"classic":  nil,
		"consumer": {kgo.ServerSideBalancer()},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 4)
			const keys, each = 12, 40
			work := func(ctx context.Context, in Input) error { return in.Emit(ctx, members.Echo(in.Message)) }
			member := func(more ...kgo.Opt) (stop func()) {
				return b.start(funcs{work: work}, func(c *Config) { c.Window = 8 }, append(more, opts...)...)
			}
			ends := func() (n int64) {
				for p := range int32(4) {
					n += b.End(kafka.TopicName(prefix, outT), p)
				}
				return n
			}
			member()
			var leave func()
			var l members.Line
			for n := range each {
				for k := range keys {
					b.Produce(members.Message(fmt.Sprint("key", k), n))
				}
				switch n {
				case 5:
					leave = member()
				case 15:
					if name == "classic" {
						member(l.Opts()...)
					}
				case 20:
					leave()
				case 30:
					l.Cut()
				}
				want := int64(keys * (n - 3)) // members stay a little behind
				members.Eventually(t, "members keep up", func() bool { return ends() >= want })
			}
			members.Eventually(t, "all is committed", func() bool {
				var sum int64
				for p := range int32(4) {
					at, _ := b.committed("test.work", p)
					sum += max(at, 0)
				}
				return sum == keys*each
			})
			next := map[string]int{} // per key, of the output
			for _, r := range b.Read(kafka.TopicName(prefix, outT), int(ends())) {
				var n int
				id := members.Header(r, "ce_id")
				if _, err := fmt.Sscanf(id[len(r.Key):], "-%d", &n); err != nil {
					t.Fatal(err)
				}
				switch key := string(r.Key); {
				case n == next[key]:
					next[key]++
				case n > next[key]:
					t.Fatalf("%s came before %s-%d", id, key, next[key])
				}
			}
			for k := range keys {
				if got := next[fmt.Sprint("key", k)]; got != each {
					t.Errorf("key%d: %d records, want %d", k, got, each)
				}
			}
		})
	}
}

// Work on a partition that is given up is cancelled, and what is finished is
// committed first.
func TestRevokedWorkIsCancelled(t *testing.T) {
	b := newBench(t, 2)
	for p := range int32(2) {
		rec, err := b.Codec.Encode(members.Message("key", 1))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := kafka.ToKgo(prefix, rec)
			r.Partition, r.Key = p, []byte(fmt.Sprint(p))
			if err := b.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner())).ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	began, cancelled := make(chan int32, 10), make(chan int32, 10)
	b.start(funcs{work: func(ctx context.Context, in Input) error {
		if in.Record.Offset == 0 {
			return nil
		}
		began <- in.Record.Partition
		<-ctx.Done()
		cancelled <- in.Record.Partition
		return ctx.Err()
	}}, func(c *Config) { c.CommitInterval = time.Hour })
	<-began
	<-began
	b.start(funcs{work: func(_ context.Context, in Input) error {
		if in.Record.Offset == 0 {
			t.Error("what the first member finished came again")
		}
		return nil
	}}, nil)
	var p int32
	select {
	case p = <-cancelled:
	case <-time.After(wait.Patience()):
		t.Fatal("the work on a partition that was given up goes on")
	}
	members.Eventually(t, "the second member has done the rest", func() bool { at, _ := b.committed("test.work", p); return at == 2 })
	select {
	case other := <-cancelled:
		t.Errorf("work on partition %d was cancelled though it stays", other)
	default:
	}
}
