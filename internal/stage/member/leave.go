package member

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveTimeout bounds the last commit and leaving the group.
const LeaveTimeout = 5 * time.Second

// hangUpTimeout bounds what is told to the group when leaving it in order has
// taken too long.
const hangUpTimeout = time.Second

// LeaveGroup leaves the group within the time that ctx gives; hangUp cancels
// the client's own context. A client that is joining cannot leave: it waits for
// the broker, and the broker for every other member, a dead one for as long as
// its session lasts. Then the broker is told directly, so that the group does
// not wait for this member in its turn, and hangUp lets the client be closed.
func LeaveGroup(ctx context.Context, client *kgo.Client, hangUp context.CancelFunc) error {
	err := client.LeaveGroupContext(ctx)
	if err == nil {
		return nil
	}
	defer hangUp()
	member, _ := client.GroupMetadata()
	if member == "" || expectedBack(client) {
		return err
	}
	group, _ := client.OptValue(kgo.ConsumerGroup).(string)
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = group, member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = member
	req.Members = append(req.Members, m)
	within, done := context.WithTimeout(context.WithoutCancel(ctx), hangUpTimeout)
	defer done()
	// Its outcome changes nothing: the client is hung up next.
	_, _ = req.RequestWith(within, client)
	return err
}

// expectedBack tells whether the client is a static member, whose partitions
// wait for it.
func expectedBack(client *kgo.Client) bool {
	instance, _ := client.OptValue(kgo.InstanceID).(string)
	return instance != ""
}

// CloseClient closes a client that has left its group. Closing polls once more
// for what is buffered, as if somebody would allow rebalances afterwards, and a
// goroutine of a second leave waits for that for ever.
func CloseClient(client *kgo.Client) {
	client.CloseAllowingRebalance()
	client.AllowRebalance()
}

// CommitError is what went wrong with a commit, of the request or of any
// partition.
func CommitError(resp *kmsg.OffsetCommitResponse, err error) error {
	if err != nil || resp == nil {
		return err
	}
	var all []error
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			all = append(all, kerr.ErrorForCode(p.ErrorCode))
		}
	}
	return errors.Join(all...)
}
