//go:build synctests && !wasip1

package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	controldb "tributary/sql/control"
	"tributary/test/wait"
)

// drainLimit is the time in which all must be done on real databases (L8). It takes
// some 15 s; the rest is for a machine that does other things too.
func (in *installation) drainLimit() time.Duration { return wait.Patience() }

// schedule does nothing: a role does.
func (in *installation) schedule() {}

// pending is what is not done yet. Sessions are opened all the time, so polls
// are never done before that ends: once all else has come to the end that it
// should, the members that open them are stopped in good order.
func (in *installation) pending() (out []string) {
	s := in.s
	out = append(s.toCome(), in.unlisted()...)
	out = append(out, in.wrongEnds()...)
	if len(out) > 0 {
		return out
	}
	if !in.closing {
		in.closing = true
		s.tracef("sim", "everything has its end: no more sessions")
		in.retire("schedule")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	u, err := controldb.Pending(ctx, in.pool)
	switch {
	case err != nil:
		return []string{err.Error()}
	case u.Any():
		return []string{u.String()}
	}
	if out = in.unapplied(); len(out) > 0 {
		return out
	}
	return in.behind()
}

// unlisted are the sources that were not listed completely twice since faults
// stopped and files changed, so that it is known what is gone.
func (in *installation) unlisted() []string {
	out, err := in.ask(`SELECT s.id || ' was not listed completely twice since the last change' FROM control.source s
		LEFT JOIN control.poll p ON p.source = s.id AND p.state = 'complete' AND p.started_at > $1
		GROUP BY s.id HAVING count(p.id) < 2 ORDER BY 1`, in.s.settledAt())
	if err != nil {
		return []string{err.Error()}
	}
	return out
}

// unapplied says what insert has not done or told yet.
func (in *installation) unapplied() []string {
	out, err := in.ask(`SELECT format('position %s of %s is not applied', s.next_position, p.next - 1) FROM warehouse.state s, control.position p WHERE s.next_position < p.next
		UNION ALL SELECT format('the batch end %s is due', position) FROM warehouse.batch_end
		UNION ALL SELECT format('%s events in the warehouse''s outbox', events) FROM warehouse.outbox
		UNION ALL SELECT format('%s events in control''s outbox', events) FROM control.outbox`)
	if err != nil {
		return []string{err.Error()}
	}
	return out
}

// behind says where the tracker has not reached the log's end.
func (in *installation) behind() (out []string) {
	for id, end := range in.ends(schemas.StatusChangedTopic) {
		at, err := in.ask(`SELECT next_offset::text FROM tracker.consumed WHERE topic = $1 AND partition = $2`, schemas.StatusChangedTopic, id)
		if err != nil {
			return []string{err.Error()}
		}
		if want := fmt.Sprint(end); end > 0 && !slices.Equal(at, []string{want}) {
			out = append(out, fmt.Sprintf("tracker is at %v of %s of %s/%d", at, want, schemas.StatusChangedTopic, id))
		}
	}
	slices.Sort(out)
	return out
}

// ends are the ends of a topic's partitions.
func (in *installation) ends(topic string) map[int32]int64 {
	out := map[int32]int64{}
	for id := range in.s.partitionsOf(topic) {
		if info := in.s.cluster.PartitionInfo(kafka.TopicName(prefix, topic), id); info != nil {
			out[id] = info.HighWatermark
		}
	}
	return out
}

// retire ends all members of some roles, in good order.
func (in *installation) retire(roles ...string) {
	var leaving sync.WaitGroup
	for _, m := range in.s.all() {
		if slices.Contains(roles, m.role) {
			leaving.Go(m.retire)
		}
	}
	leaving.Wait()
}

// settle ends all members but those who bring the log to its end, waits for
// that, and reads the log.
func (in *installation) settle() {
	in.retire("schedule", "poll", "plan", "download", "unzip", "validate", "sequence", "insert")
	limit := time.NewTimer(wait.Patience())
	defer limit.Stop()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for left := []string{"not looked yet"}; len(left) > 0; {
		select {
		case <-look.C:
			if left = in.unapplied(); len(left) == 0 {
				left = in.behind()
			}
		case <-limit.C:
			in.s.violate("L8", "the log does not come to its end: %s", strings.Join(left, "; "))
			left = nil
		}
	}
	in.read()
}

// read reads the whole log.
func (in *installation) read() {
	s := in.s
	left := map[string]map[int32]int64{}
	from := map[string]map[int32]kgo.Offset{}
	for _, topic := range topicsOf() {
		name := kafka.TopicName(prefix, topic)
		left[name], from[name] = map[int32]int64{}, map[int32]kgo.Offset{}
		for id, end := range in.ends(topic) {
			if end > 0 {
				left[name][id], from[name][id] = end, kgo.NewOffset().At(0)
			}
		}
	}
	missing := func() (n int) {
		for _, ids := range left {
			n += len(ids)
		}
		return n
	}
	s.observe(func(ctx context.Context, client *kgo.Client) {
		for missing() > 0 && ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				m, err := s.shared.codec.Decode(kafka.FromKgo(r))
				if err != nil {
					s.violate("sim", "%s/%d at %d: %v", r.Topic, r.Partition, r.Offset, err)
					return
				}
				in.log = append(in.log, logged{m.Topic, m, r})
				if r.Offset+1 >= left[r.Topic][r.Partition] {
					delete(left[r.Topic], r.Partition)
				}
			})
		}
	}, kgo.ConsumePartitions(from))
	if n := missing(); n > 0 {
		s.violate("sim", "%d partitions of the log cannot be read to their end", n)
	}
}
