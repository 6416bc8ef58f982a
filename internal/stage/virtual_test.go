package stage

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/test/members"
)

// inVirtualTime runs a test in a bubble, whose clock goes on when all wait, on
// a broker in it.
func inVirtualTime(t *testing.T, partitions int32, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(9092), kfake.ListenFn(network.Listen),
			kfake.SeedTopics(partitions, kafka.TopicName(prefix, inTopic), kafka.TopicName(prefix, outT)), kfake.SeedTopics(1, kafka.DLQName(prefix, inTopic, "work")))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		codec, err := schemas.NewCodec()
		if err != nil {
			t.Fatal(err)
		}
		reg := prometheus.NewRegistry()
		b := &bench{&members.Bench{T: t, Addrs: cluster.ListenAddrs(), Cluster: cluster, Codec: codec, Registry: reg, Metrics: member.NewMetrics(reg),
			Base: func() []kgo.Opt { return []kgo.Opt{kgo.Dialer(network.DialContext)} }}}
		b.Client = b.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		test(t, b)
	})
}

// put produces a record to a partition.
func (b *bench) put(partition int32, m schemas.Message) {
	b.T.Helper()
	rec, err := b.Codec.Encode(m)
	if err != nil {
		b.T.Fatal(err)
	}
	r := kafka.ToKgo(prefix, rec)
	r.Partition = partition
	b.ProduceRaw(r)
}

// ends notes when records were done, by id.
type ends struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (e *ends) note(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.at = map[string]time.Time{}
	}
	if _, again := e.at[id]; !again {
		e.at[id] = time.Now()
	}
}

func (e *ends) get(id string) (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.at[id]
	return at, ok
}

// A download of half an hour, while members join and leave every five minutes:
// it is finished; it is begun again only where its partition moves to another
// member; and no other record waits for it, but those of its own partition
// that are beyond the window. (With the classic protocol a commit waits for a
// rebalance in a lock, for which a bubble's clock stands still: see
// TestASlowRecordDelaysNobodyInRebalances.)
func TestAHalfHourDownloadDelaysNobody(t *testing.T) {
	const (
		partitions = 4
		window     = 16
		slowFor    = 30 * time.Minute
		soon       = time.Minute // within which any other record is done, a rebalance included
	)
	inVirtualTime(t, partitions, func(t *testing.T, b *bench) {
		var done ends
		var mu sync.Mutex
		begun := 0
		work := funcs{work: func(ctx context.Context, in Input) error {
			if in.Message.Key == "slow" {
				mu.Lock()
				begun++
				mu.Unlock()
				tick := time.NewTicker(10 * time.Second)
				defer tick.Stop()
				for end := time.Now().Add(slowFor); time.Now().Before(end); in.Progress() {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-tick.C:
					}
				}
			}
			done.note(in.Message.ID)
			return in.Emit(ctx, members.Echo(in.Message))
		}}
		member := func() (stop func()) {
			return b.start(work, func(c *Config) { c.Window, c.Stall, c.CommitInterval = window, 5*time.Minute, time.Second }, kgo.ServerSideBalancer())
		}
		started := time.Now()
		member()
		b.put(0, members.Message("slow", 0))
		// The partition of the slow record has more than its window holds.
		const beyond = 2*window + 10
		for n := 1; n < beyond; n++ {
			b.put(0, members.Message(fmt.Sprint("behind", n), n))
		}
		time.Sleep(soon)
		for n := 1; n < window; n++ {
			if _, ok := done.get(fmt.Sprintf("behind%d-%d", n, n)); !ok {
				t.Errorf("record %d within the window has waited for the slow one", n)
			}
		}
		if _, ok := done.get(fmt.Sprintf("behind%d-%d", beyond-1, beyond-1)); ok {
			t.Error("a record beyond the window was done: more than a window would be repeated after a crash")
		}

		// Every five minutes somebody joins or leaves, and the other partitions
		// get records.
		var leave func()
		for round := range 5 {
			time.Sleep(5 * time.Minute)
			if leave == nil {
				leave = member()
			} else {
				leave()
				leave = nil
			}
			for p := int32(1); p < partitions; p++ {
				b.put(p, members.Message(fmt.Sprintf("other%d-%d", round, p), 0))
			}
			time.Sleep(soon)
			for p := int32(1); p < partitions; p++ {
				if _, ok := done.get(fmt.Sprintf("other%d-%d-0", round, p)); !ok {
					t.Errorf("round %d: a record of partition %d has waited for the slow one", round, p)
				}
			}
		}
		if leave != nil {
			leave()
		}
		time.Sleep(2 * slowFor)
		at, ok := done.get("slow-0")
		if !ok {
			t.Fatal("the slow record was never done")
		}
		t.Logf("the slow record was begun %d times and done after %v", begun, at.Sub(started))
		// One member joins at a time, and partitions stick: it moves at most
		// once with each that joins, and once with each that leaves.
		if begun > 5 {
			t.Errorf("the slow record was begun %d times in five rebalances", begun)
		}
		if _, ok := done.get(fmt.Sprintf("behind%d-%d", beyond-1, beyond-1)); !ok {
			t.Error("what was beyond the window was never done")
		}
		if at, _ := b.committed("test.work", 0); at != beyond {
			t.Errorf("committed %d, want %d", at, beyond)
		}
	})
}

// Work on partitions that are lost, because the group has given them to
// others, is cancelled within a second of the group's saying so.
func TestLostWorkIsCancelledWithinASecond(t *testing.T) {
	for name, tc := range map[string]struct {
		opts  []kgo.Opt
		fault kfake.Fault
	}{
		members.Classic:  {nil, kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID}},
		members.Consumer: {[]kgo.Opt{kgo.ServerSideBalancer()}, kfake.Fault{Keys: []kmsg.Key{kmsg.ConsumerGroupHeartbeat}, Err: kerr.FencedMemberEpoch, TopLevel: true}},
		members.Static:   {[]kgo.Opt{kgo.InstanceID("one")}, kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.FencedInstanceID}},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, 1, func(t *testing.T, b *bench) {
				b.put(0, members.Message("key", 1))
				began, cancelled := make(chan struct{}, 10), make(chan time.Time, 10)
				b.start(funcs{work: func(ctx context.Context, _ Input) error {
					began <- struct{}{}
					<-ctx.Done()
					cancelled <- time.Now()
					return ctx.Err()
				}}, nil, tc.opts...)
				<-began
				var mu sync.Mutex
				var said time.Time
				fault := tc.fault
				fault.When = func(kmsg.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					said = time.Now()
					return true
				}
				b.Cluster.Fault(fault)
				at := <-cancelled
				mu.Lock()
				defer mu.Unlock()
				if late := at.Sub(said); said.IsZero() || late > time.Second {
					t.Errorf("work was cancelled %v after the partition was lost", late)
				}
			})
		})
	}
}

// Work that does not end within the grace period of a stop is cancelled, and
// its record is left to the next member.
func TestStopCancelsAfterTheGracePeriod(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		b.put(0, members.Message("quick", 1))
		b.put(0, members.Message("endless", 2))
		began, cancelled := make(chan struct{}), make(chan time.Time, 1)
		stop := b.start(funcs{work: func(ctx context.Context, in Input) error {
			if in.Message.Key == "quick" {
				return nil
			}
			close(began)
			<-ctx.Done()
			cancelled <- time.Now()
			return ctx.Err()
		}}, func(c *Config) { c.Grace = 7 * time.Second })
		<-began
		asked := time.Now()
		stop()
		if after := (<-cancelled).Sub(asked); after != 7*time.Second {
			t.Errorf("work was cancelled %v after the stop, want the grace period of 7s", after)
		}
		if at, _ := b.committed("test.work", 0); at != 1 {
			t.Errorf("committed %d, want 1: the record whose work was cancelled is not done", at)
		}
	})
}

// A stalled record is told from one that goes on, also after hours.
func TestTheWatchdogBarksAtStallsOnly(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, b *bench) {
		const stall = 5 * time.Minute
		b.put(0, members.Message("stalls", 1))
		b.put(0, members.Message("goes on", 2))
		var done ends
		var mu sync.Mutex
		attempts := map[string]int{}
		b.start(funcs{work: func(ctx context.Context, in Input) error {
			mu.Lock()
			attempts[in.Message.Key]++
			mu.Unlock()
			if in.Message.Key == "stalls" {
				<-ctx.Done()
				return ctx.Err()
			}
			for range 25 { // two hours of steps that are just short enough
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(stall - time.Second):
				}
				in.Progress()
			}
			done.note(in.Message.ID)
			return nil
		}}, func(c *Config) { c.Stall, c.Window, c.CommitInterval = stall, 4, time.Second })
		time.Sleep(4 * stall)
		if n := b.Labelled("tributary_stage_errors_total", "kind", member.KindStalled); n != 3 {
			t.Errorf("%v stalls after %v, want the three that make a record poison", n, 4*stall)
		}
		time.Sleep(2 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if _, ok := done.get("goes on-2"); !ok || attempts["goes on"] != 1 || attempts["stalls"] != 3 {
			t.Errorf("attempts %v, done %v", attempts, ok)
		}
		if at, _ := b.committed("test.work", 0); at != 2 {
			t.Errorf("committed %d, want 2", at)
		}
	})
}
