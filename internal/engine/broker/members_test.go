package broker

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/test/wait"
)

// join sends a join of a member, which is known already where id is given.
func join(ctx context.Context, client *kgo.Client, group, id string, rebalance time.Duration) (*kmsg.JoinGroupResponse, error) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, int32(rebalance.Milliseconds())
	meta := kmsg.NewConsumerMemberMetadata()
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", meta.AppendTo(nil)
	req.Protocols = append(req.Protocols, protocol)
	return req.RequestWith(ctx, client)
}

// A member whose connection is gone when its join is answered has no session
// that could end: it must be removed all the same.
func TestAMemberThatDiesInItsJoinIsRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for time-outs: skipped with -short")
	}
	b := open(t, Options{DataDir: t.TempDir()})
	ctx := t.Context()
	living, dying := client(t, b.Addrs()[0]), client(t, b.Addrs()[0])

	// The living one is the group, and heard of at every step below; others wait for it for
	// as long as it takes.
	first, err := join(ctx, living, "g", "", wait.Patience())
	if err != nil {
		t.Fatal(err)
	}
	me := first.MemberID
	if _, err = join(ctx, living, "g", me, wait.Patience()); err != nil {
		t.Fatal(err)
	}
	// The dying one joins, which waits for the living one to join again, and
	// its connection ends while it waits.
	second, err := join(ctx, dying, "g", "", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(ctx)
	joining := make(chan struct{})
	go func() {
		defer close(joining)
		_, _ = join(cut, dying, "g", second.MemberID, time.Second)
	}()
	waitMembers(t, b, "g", func(n int) bool { return n == 2 })
	cancel()
	dying.Close()
	<-joining
	joined, err := join(ctx, living, "g", me, wait.Patience())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(wait.Patience()); ; {
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.MemberID, sync.Generation = "g", me, joined.Generation
		if _, err := sync.RequestWith(ctx, living); err != nil {
			t.Fatal(err)
		}
		info := b.cluster.GroupInfo("g")
		if len(info.Members) == 1 && info.Members[0].MemberID == me {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the group still has %d members", len(info.Members))
		}
		// Going on as a member does: a heartbeat, and a join when told to.
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.MemberID, beat.Generation = "g", me, joined.Generation
		resp, err := beat.RequestWith(ctx, living)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ErrorCode != 0 {
			if joined, err = join(ctx, living, "g", me, wait.Patience()); err != nil {
				t.Fatal(err)
			}
		}
		tick(t)
	}
}

// waitMembers waits until a group has as many members as wanted.
func waitMembers(t *testing.T, b *Broker, group string, wanted func(int) bool) {
	t.Helper()
	for deadline := time.Now().Add(wait.Patience()); ; {
		if info := b.cluster.GroupInfo(group); info != nil && wanted(len(info.Members)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the group has not got its members")
		}
		tick(t)
	}
}

// tick is the pause between two looks.
func tick(t *testing.T) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// What is heard of a member counts from the last sign of it, and a silent one
// is named once.
func TestSilentMembers(t *testing.T) {
	m := &members{heard: map[member]*sign{}}
	start := time.Unix(0, 0)
	m.note(&kmsg.JoinGroupRequest{Group: "g", MemberID: "", SessionTimeoutMillis: 1}, start)
	m.note(&kmsg.JoinGroupRequest{Group: "g", MemberID: "a", SessionTimeoutMillis: 5000, RebalanceTimeoutMillis: 5000}, start)
	m.note(&kmsg.JoinGroupRequest{Group: "g", MemberID: "b", SessionTimeoutMillis: 5000, RebalanceTimeoutMillis: 5000}, start)
	m.note(&kmsg.JoinGroupRequest{Group: "g", MemberID: "patient", SessionTimeoutMillis: 5000, RebalanceTimeoutMillis: math.MaxInt32}, start)
	m.note(&kmsg.HeartbeatRequest{Group: "g", MemberID: "b"}, start.Add(15*time.Second))
	m.note(&kmsg.HeartbeatRequest{Group: "g", MemberID: "stranger"}, start)
	if got := m.silent(start.Add(20 * time.Second)); len(got) != 0 {
		t.Errorf("silent at the limit: %v", got)
	}
	if got := m.silent(start.Add(21 * time.Second)); len(got) != 1 || got[0] != (member{"g", "a"}) {
		t.Errorf("silent beyond the limit: %v", got)
	}
	if got := m.silent(start.Add(22 * time.Second)); len(got) != 0 {
		t.Errorf("named again: %v", got)
	}
	if got := m.silent(start.Add(36 * time.Second)); len(got) != 1 || got[0] != (member{"g", "b"}) {
		t.Errorf("silent after its last heartbeat: %v", got)
	}
}
