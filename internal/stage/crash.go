package stage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/backoff"
)

// mark counts deaths of the process at one offset. It travels as the metadata
// of the committed offset: the member that begins there raises it before it
// works, progress and a clean stop clear it. So what a member finds raised is
// the number of members that died there.
//
// A record that kills the process must not be tried for ever, nor may it be
// taken for its neighbours. From the second death on a partition is careful:
// its records run by themselves and in order, after growing pauses, until
// what was in hand at the time has passed. Deaths of a record that ran alone
// are its own.
type mark struct {
	Starts int   `json:"starts,omitempty"` // members that began here
	Alone  int   `json:"alone,omitempty"`  // of them, those that ran the record alone
	Until  int64 `json:"until,omitempty"`  // the partition is careful below this offset
}

// carefulAfter is the number of deaths from which on records run alone.
const carefulAfter = 2

// markTimeout bounds how long work waits for the commit of a mark.
const markTimeout = 2 * time.Second

// parseMark reads metadata; what others wrote there is no mark.
func parseMark(metadata *string) (m mark) {
	if metadata == nil {
		return mark{}
	}
	text, err := base64.StdEncoding.DecodeString(*metadata)
	if err != nil || json.Unmarshal(text, &m) != nil {
		return mark{}
	}
	return m
}

// fetched notes the marks found beside the group's offsets.
func (r *Runner) fetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics { // only one topic is read
			for _, o := range t.Partitions {
				p := r.partitions[o.Partition]
				if p == nil || o.Offset < 0 {
					continue
				}
				p.begin = o.Offset
				p.found, p.of = parseMark(o.Metadata), topicBeside(o.Metadata)
				p.mark, p.storedMark = p.found, p.found
				p.careful = p.found.Starts >= carefulAfter || p.found.Until > o.Offset
			}
		}
	}
	return nil
}

// begin waits until a record may run, and marks that this member begins at its
// partition's offset. It returns false if the partition was given up meanwhile;
// else the record's leave is to be called when the attempt is over. What is
// detached is not isolated, and is no longer of its partition.
func (r *Runner) begin(it *item) bool {
	p := it.p
	r.mu.Lock()
	alone, detached := p.careful, it.detached
	r.mu.Unlock()
	if detached {
		return true
	}
	p.hesitated.do(p.ctx, func() {
		if deaths := p.found.Alone; deaths > 0 && deaths < r.cfg.MaxDeaths {
			_ = backoff.Sleep(p.ctx, r.cfg.pauses().Jittered(deaths))
		}
	})
	leave, err := r.cfg.Isolation.enter(p.ctx, alone)
	if err != nil {
		return false
	}
	it.leave = sync.OnceFunc(leave)
	p.raised.do(p.ctx, func() { r.raise(p) })
	return true
}

// raise marks that this member begins at the partition's offset, and commits
// the mark.
func (r *Runner) raise(p *partition) {
	r.mu.Lock()
	p.mark = p.found
	p.mark.Starts++
	if p.careful {
		p.mark.Alone++
		p.mark.Until = max(p.found.Until, p.next+2*int64(r.cfg.Window))
		p.until = p.mark.Until
	}
	at := p.next
	r.mu.Unlock()
	if p.found.Starts >= carefulAfter {
		r.log.Warn("the process died here before: records run one at a time",
			"topic", p.topic, "partition", p.id, "offset", at, "deaths", p.found.Starts)
	}
	r.commitMark(p)
}

// commitMark commits a partition's offset and mark before work goes on. A
// rebalance may hold it up for longer than is worth waiting for; the next
// regular commit has it too.
func (r *Runner) commitMark(p *partition) {
	ctx, cancel := context.WithTimeout(p.ctx, markTimeout)
	defer cancel()
	r.commit(ctx, []*partition{p})
}

// crashed returns why a record counts as a killer, or nil.
func (r *Runner) crashed(it *item) error {
	if it.first && it.p.found.Alone >= r.cfg.MaxDeaths {
		return errors.New("the process died each time while this record ran alone")
	}
	return nil
}

// lower takes a raised mark back when the partition is given up alive: a
// clean stop clears it, a rebalance leaves it as it was found.
func (p *partition) lower(cleanStop bool) {
	switch {
	case cleanStop:
		p.mark = mark{}
	case p.mark.Starts > 0:
		p.mark = p.found
	}
}
