package sink

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/kafka"
	"tributary/internal/stage/member"
)

// groupCommitInterval is how often the group's offsets follow the stored
// positions. Nothing depends on them but tools that show lag.
const groupCommitInterval = 5 * time.Second

// start replaces the group's offsets of partitions just assigned by the
// stored positions. It waits for the store, until the group moves on.
func (a *Applier) start(ctx context.Context, which map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	<-a.started
	defer a.beginning.Over()
	anew, err := a.anew(ctx, which)
	if err != nil {
		return nil, err
	}
	out := map[string]map[int32]kgo.Offset{}
	var feeds []*feed
	for topic, ids := range which {
		out[topic] = map[int32]kgo.Offset{}
		for id := range ids {
			position, err := a.position(ctx, topicPartition{topic, id})
			if err != nil {
				return nil, err
			}
			out[topic][id] = kgo.NewOffset().At(position).WithEpoch(-1)
			feeds = append(feeds, &feed{topicPartition: topicPartition{topic, id}, position: position, committed: -1, end: -1})
		}
	}
	// Looked up after the positions were read, an end is not below them.
	ends := a.ends(ctx, which)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range feeds {
		a.feeds[f.topicPartition] = f
		end, ok := ends.Lookup(f.topic, f.id)
		if ok = ok && end.Err == nil; ok {
			f.end = end.Offset
		}
		if anew[f.topic] {
			a.block(f, "topic_anew")
		} else if ok && f.position > end.Offset {
			a.reset(f, "the stored position is beyond the log's end", "position", f.position, "end", end.Offset)
		}
	}
	return out, nil
}

// ends looks up where logs end, as well as it can: a reset that is not seen
// here is seen when records come.
func (a *Applier) ends(ctx context.Context, which map[string]map[int32]kgo.Offset) kadm.ListedOffsets {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	topics := make([]string, 0, len(which))
	for t := range which {
		topics = append(topics, t)
	}
	ends, err := kadm.NewClient(a.client).ListEndOffsets(ctx, topics...)
	if err != nil {
		a.warn("cannot look up where the log ends", err)
	}
	return ends
}

// position reads a stored position, trying again until ctx ends.
func (a *Applier) position(ctx context.Context, tp topicPartition) (int64, error) {
	for n := 1; ; n++ {
		position, err := a.store.Position(ctx, a.logical[tp.topic], tp.id)
		if err == nil {
			return position, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		a.beginning.Is(err)
		a.warn("cannot read a stored position; trying again", err, "topic", tp.topic, "partition", tp.id)
		a.pause(ctx, n)
	}
}

// revoked and lost give partitions up.
func (a *Applier) revoked(ctx context.Context, client *kgo.Client, which map[string][]int32) {
	a.metrics.Rebalanced(a.cfg.Name, "revoked", which)
	a.drop(ctx, client, which)
}

func (a *Applier) lost(ctx context.Context, client *kgo.Client, which map[string][]int32) {
	a.metrics.Rebalanced(a.cfg.Name, "lost", which)
	a.drop(ctx, client, which)
}

// drop forgets partitions that are given up. A batch being applied goes on:
// the store refuses it if the next owner was faster.
func (a *Applier) drop(_ context.Context, client *kgo.Client, which map[string][]int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for topic, ids := range which {
		for _, id := range ids {
			if f := a.feeds[topicPartition{topic, id}]; f != nil {
				a.metrics.Unblock(a.cfg.Name, topic, id, f.blocked)
				delete(a.feeds, f.topicPartition)
			}
		}
	}
	client.ResumeFetchPartitions(which)
}

// buffer keeps polled records and returns how many are kept in all, and their
// size in bytes.
func (a *Applier) buffer(fetches kgo.Fetches) (records, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if f := a.feeds[topicPartition{p.Topic, p.Partition}]; f != nil && len(p.Records) > 0 {
			a.add(f, p)
		}
	})
	for _, f := range a.feeds {
		records += len(f.records)
		size += f.size
	}
	return records, size
}

// add appends what was fetched of one partition, once it is sure that it
// continues what was read before.
func (a *Applier) add(f *feed, p kgo.FetchTopicPartition) {
	if f.blocked {
		return
	}
	next := f.position
	if n := len(f.records); n > 0 {
		next = f.records[n-1].Offset + 1
	}
	first := p.Records[0].Offset
	if first < next {
		a.reset(f, "the log goes on before the stored position", "next", next, "offset", first)
		return
	}
	if p.LogStartOffset > next {
		a.metrics.Lost.WithLabelValues(a.cfg.Name, a.logical[f.topic]).Add(float64(p.LogStartOffset - next))
		a.log.Error("records expired before they were read: retention is shorter than this consumer was away; "+
			"what is lost must be restored from a backup, or its results rebuilt",
			"topic", f.topic, "partition", f.id, "from", next, "to", p.LogStartOffset-1)
	}
	if f.end = p.HighWatermark; len(f.records)+f.applying == 0 {
		f.since = a.cfg.Now()
	}
	f.records = append(f.records, p.Records...)
	for _, r := range p.Records {
		f.size += len(r.Key) + len(r.Value)
	}
}

// block stops a partition whose log is not the one that was read before.
func (a *Applier) block(f *feed, reason string) {
	f.blocked, f.records, f.size = true, nil, 0
	a.client.PauseFetchPartitions(map[string][]int32{f.topic: {f.id}})
	a.metrics.Blocked.WithLabelValues(a.cfg.Name, f.topic, strconv.Itoa(int(f.id)), reason).Set(1)
}

// reset stops a partition whose offsets show that its log is another one.
func (a *Applier) reset(f *feed, why string, args ...any) {
	a.block(f, "offset_reset")
	a.log.Error("offsets were reset: "+why+". The partition stands still; restore the topic, or rebuild this projection",
		append([]any{"topic", f.topic, "partition", f.id}, args...)...)
}

// batch cuts what is buffered into ranges, sorted by topic and partition, and
// names the feed of each.
func (a *Applier) batch() ([]Range, []*feed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var feeds []*feed
	for _, f := range a.feeds {
		if len(f.records) > 0 {
			feeds = append(feeds, f)
		}
	}
	slices.SortFunc(feeds, func(x, y *feed) int {
		return cmp.Or(cmp.Compare(x.topic, y.topic), cmp.Compare(x.id, y.id))
	})
	batch := make([]Range, len(feeds))
	for i, f := range feeds {
		batch[i] = Range{Topic: a.logical[f.topic], Partition: f.id,
			From: f.position, To: f.records[len(f.records)-1].Offset + 1, Records: f.records}
		f.applying = len(f.records)
		f.records, f.size = nil, 0
	}
	return batch, feeds
}

// applied moves the positions past a stored batch. A partition that was given
// up meanwhile, even if it came back, has another feed.
func (a *Applier) applied(batch []Range, feeds []*feed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for i, b := range batch {
		feeds[i].position, feeds[i].applying = b.To, 0
		n += len(b.Records)
	}
	a.metrics.Records.WithLabelValues(a.cfg.Name, "applied").Add(float64(n))
	a.metrics.LastProgress.WithLabelValues(a.cfg.Name).Set(float64(a.cfg.Now().UnixMilli()) / 1000)
}

func (a *Applier) of(b Range) topicPartition {
	return topicPartition{kafka.TopicName(a.cfg.Prefix, b.Topic), b.Partition}
}

// reload reads the positions of a batch's partitions again and fetches from
// there.
func (a *Applier) reload(ctx context.Context, batch []Range) {
	a.pause(ctx, 1)
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for _, b := range batch {
		tp := a.of(b)
		position, err := a.position(ctx, tp)
		if err != nil {
			return
		}
		if offsets[tp.topic] == nil {
			offsets[tp.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.topic][tp.id] = kgo.EpochOffset{Epoch: -1, Offset: position}
	}
	// A poll that is over at once keeps rebalances out until AllowRebalance.
	over, cancel := context.WithCancel(ctx)
	cancel()
	a.client.PollRecords(over, 1)
	defer a.client.AllowRebalance()
	a.mu.Lock()
	for topic, ids := range offsets {
		for id, o := range ids {
			f := a.feeds[topicPartition{topic, id}]
			if f == nil {
				delete(ids, id)
				continue
			}
			f.position, f.records, f.size, f.applying = o.Offset, nil, 0, 0
		}
	}
	a.mu.Unlock()
	a.client.SetOffsets(offsets)
}

// commitToGroup lets the group's offsets follow where positions have moved, as well as it
// can.
func (a *Applier) commitToGroup(ctx context.Context) {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	moved := map[*feed]int64{}
	a.mu.Lock()
	for tp, f := range a.feeds {
		if f.position == f.committed {
			continue
		}
		if offsets[tp.topic] == nil {
			offsets[tp.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.topic][tp.id] = kgo.EpochOffset{Epoch: -1, Offset: f.position}
		moved[f] = f.position
	}
	a.mu.Unlock()
	if len(moved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var failed error
	a.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = member.CommitError(resp, err)
	})
	if failed != nil {
		a.log.Debug("group offsets not committed", "error", failed)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for f, position := range moved {
		f.committed = position
	}
}
