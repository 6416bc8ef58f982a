package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/backoff"
	"tributary/internal/kafka"
	"tributary/schemas"
)

// lookAgain is the pause before what a broker didn't answer is asked again.
const lookAgain = 5 * time.Second

// begin has a new target begin with what happens from now on: the log of years is no
// news. It waits for the broker.
func (n *Notify) begin(ctx context.Context, target string) error {
	return n.untilDone(ctx, "a target's position can't be read; trying again", func() error {
		client, err := n.deps.Connect()
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = positions(ctx, kadm.NewClient(client), n.deps.Prefix, target, atOnce)
		return err
	})
}

// untilDone tries until something succeeds or ctx ends.
func (n *Notify) untilDone(ctx context.Context, msg string, do func() error) error {
	for ctx.Err() == nil {
		err := do()
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // an end that was asked for is no error
		}
		n.deps.Log.Warn(msg, "error", schemas.Clean(err.Error()))
		_ = backoff.Sleep(ctx, lookAgain)
	}
	return nil
}

// place is what of the log a target was not told yet, of one partition.
type place struct {
	kafka.Span
	metadata string // beside the group's offset
}

// What stands beside the position that a new target is given.
const (
	nowhere = "" // it is given none
	atOnce  = "begins here"
)

// positions are what of the log a target was not told yet, by partition. Where the
// target has no position, that is nothing, and it is given one, with that text beside it.
func positions(ctx context.Context, admin *kadm.Client, prefix, target, beside string) ([]place, error) {
	group := Group(prefix, target)
	spans, err := kafka.Bounds(ctx, admin, kafka.TopicName(prefix, schemas.StatusChangedTopic))
	if err != nil {
		return nil, err
	}
	offsets, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("read the offsets of the group %s: %w", group, err)
	}
	var out []place
	var fresh kadm.Offsets
	for _, s := range spans {
		p := place{Span: s}
		if o, ok := offsets.Lookup(s.Topic, s.Partition); ok && o.Err == nil && o.At >= 0 {
			p.metadata = o.Metadata
			if o.At <= s.To { // else the topic was made anew
				p.From = max(o.At, s.From)
			}
		} else {
			p.From = s.To
			fresh.Add(kadm.Offset{Topic: s.Topic, Partition: s.Partition, At: s.To, LeaderEpoch: -1, Metadata: beside})
			p.metadata = beside
		}
		out = append(out, p)
	}
	if beside != nowhere && len(fresh) > 0 {
		// Where other members are at work already they have begun by themselves, and the
		// broker refuses this.
		answer, err := admin.CommitOffsets(ctx, group, fresh)
		if err = errors.Join(err, answer.Error()); err != nil && !errors.Is(err, kerr.UnknownMemberID) {
			return nil, fmt.Errorf("begin the group %s: %w", group, err)
		}
	}
	return out, nil
}

// Behind is how many records of the log a target has not read yet.
func Behind(ctx context.Context, admin *kadm.Client, prefix, target string) (int64, error) {
	all, err := positions(ctx, admin, prefix, target, nowhere)
	var n int64
	for _, p := range all {
		n += p.To - p.From
	}
	return n, err
}
