package broker

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The operator sets the offsets of groups without members, and deletes groups,
// the pipeline's too; it takes part in none of those.
func TestTheOperatorLooksAfterGroups(t *testing.T) {
	b := withTCP(t)
	c := user(t, b, Operator, "operates")
	a := kadm.NewClient(c)
	const group = "tributary.download"
	commit(t, b.Addrs()[0], group, "kept", 3)
	var to kadm.Offsets
	to.AddOffset("kept", 0, 1, -1)
	out, err := a.CommitOffsets(t.Context(), group, to)
	if err = errors.Join(err, out.Error()); err != nil || committed(t, b.Addrs()[0], group, "kept") != 1 {
		t.Errorf("offsets are not set: %v", err)
	}
	joined, err := join(t.Context(), c, group, "", time.Second)
	if err != nil || joined.ErrorCode != kerr.GroupAuthorizationFailed.Code {
		t.Errorf("join: %v, %v", joined, err)
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis, beat.SubscribedTopicNames = group, "m", 1000, []string{"kept"}
	beaten, err := beat.RequestWith(t.Context(), c)
	if err != nil || beaten.ErrorCode != kerr.GroupAuthorizationFailed.Code {
		t.Errorf("join by the newer protocol: %v, %v", beaten, err)
	}
	member := kmsg.NewPtrOffsetCommitRequest()
	member.Group, member.Generation, member.MemberID = group, 1, "m"
	asMember, err := member.RequestWith(t.Context(), c)
	if err != nil || len(asMember.Topics) > 0 {
		t.Errorf("commit as a member: %v, %v", asMember, err)
	}
	if deleted, err := a.DeleteGroup(t.Context(), group); err != nil || deleted.Err != nil {
		t.Errorf("delete: %v, %v", deleted, err)
	}
	configs, err := a.DescribeTopicConfigs(t.Context(), "kept")
	if err != nil || configs[0].Err != nil || len(configs[0].Configs) == 0 {
		t.Errorf("configs: %v, %v", configs, err)
	}
	sizes, err := a.DescribeAllLogDirs(t.Context(), nil)
	bytes := int64(0)
	sizes.Each(func(d kadm.DescribedLogDir) { bytes += d.Size() })
	if err != nil || bytes == 0 {
		t.Errorf("sizes: %v, %v", sizes, err)
	}
	acls, err := kmsg.NewPtrDescribeACLsRequest().RequestWith(t.Context(), c)
	if err != nil || acls.ErrorCode != kerr.SecurityDisabled.Code {
		t.Errorf("ACLs: %v, %v", acls, err)
	}
}

// Users have groups of the newer protocol too.
func TestTheReaderReadsByBothProtocols(t *testing.T) {
	b := withTCP(t)
	c := user(t, b, Reader, "reads", kgo.ServerSideBalancer(), kgo.ConsumerGroup("newer"), kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for n := 0; n < 3; {
		fetches := c.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Error(err)
	}
	a := kadm.NewClient(user(t, b, Operator, "operates"))
	for _, kind := range []string{"consumer", "Consumer"} { // as Kafka's own tools write it
		groups, err := a.ListGroupsByType(t.Context(), []string{kind})
		if err != nil || len(groups) != 1 {
			t.Errorf("listed by %s: %v, %v", kind, groups, err)
		}
	}
}
