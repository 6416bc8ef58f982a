package broker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A member of a group that dies while it waits for the answer to its join is
// never missed by kfake: the answer can't be delivered, and only its delivery
// starts the clock of the member's session. The dead member then keeps the
// partitions that it is given. members removes such a one after the time in
// which kfake should have.
type members struct {
	cluster *kfake.Cluster
	log     *slog.Logger
	client  []kgo.Opt // how to reach the cluster, where its addresses don't say

	mu    sync.Mutex
	heard map[member]*sign
}

type member struct{ group, id string }

// sign is the last that was heard of a member.
type sign struct {
	at    time.Time
	limit time.Duration // how long it may be silent
}

const (
	membersEvery = time.Second      // between looks at who is silent
	membersGrace = 10 * time.Second // beyond a member's own time-outs
)

// RemoveDeadMembers watches the members of all groups of a cluster, and removes
// the dead ones that kfake misses, until ctx ends. It starts to listen before it
// returns; wait returns when it has ended. opts are for the client with which it
// speaks to the cluster.
func RemoveDeadMembers(ctx context.Context, cluster *kfake.Cluster, log *slog.Logger, opts ...kgo.Opt) (wait func()) {
	m := &members{cluster: cluster, log: log, client: opts, heard: map[member]*sign{}}
	m.observe()
	var searching sync.WaitGroup
	searching.Go(func() { m.run(ctx) })
	return searching.Wait
}

// observe notes every sign of life of every member.
func (m *members) observe() {
	for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat} {
		m.cluster.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			m.cluster.KeepControl()
			m.note(req, time.Now())
			return nil, nil, false
		})
	}
}

func (m *members) note(req kmsg.Request, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var who member
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		if req.MemberID == "" {
			return // it is given a name, and comes again
		}
		// Summed as durations: clients that never want to be left out send the
		// largest number that there is.
		limit := (time.Duration(req.SessionTimeoutMillis)+time.Duration(req.RebalanceTimeoutMillis))*time.Millisecond + membersGrace
		m.heard[member{req.Group, req.MemberID}] = &sign{now, limit}
		return
	case *kmsg.SyncGroupRequest:
		who = member{req.Group, req.MemberID}
	case *kmsg.HeartbeatRequest:
		who = member{req.Group, req.MemberID}
	}
	if s := m.heard[who]; s != nil {
		s.at = now
	}
}

// silent returns those that have not been heard of for too long, and forgets
// them.
func (m *members) silent(now time.Time) []member {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []member
	for who, s := range m.heard {
		if now.Sub(s.at) > s.limit {
			out = append(out, who)
			delete(m.heard, who)
		}
	}
	return out
}

// run removes silent members until ctx ends.
func (m *members) run(ctx context.Context) {
	tick := time.NewTicker(membersEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, who := range m.silent(now) {
				if err := m.remove(ctx, who); err != nil && ctx.Err() == nil {
					m.log.Warn("a dead member of a group cannot be removed; its partitions may wait until the broker starts again", "group", who.group, "member", who.id, "error", err)
				}
			}
		}
	}
}

// remove takes a member out of its group, if it still is in it.
func (m *members) remove(ctx context.Context, who member) error {
	info := m.cluster.GroupInfo(who.group)
	if info == nil || !slices.ContainsFunc(info.Members, func(g kfake.GroupMember) bool { return g.MemberID == who.id }) {
		return nil
	}
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(m.cluster.ListenAddrs()...)}, m.client...)...)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = who.group
	leaving := kmsg.NewLeaveGroupRequestMember()
	leaving.MemberID = who.id
	req.Members = append(req.Members, leaving)
	if _, err := req.RequestWith(ctx, client); err != nil {
		return fmt.Errorf("leave the group: %w", err)
	}
	m.log.Info("removed a dead member from its group", "group", who.group, "member", who.id)
	return nil
}
