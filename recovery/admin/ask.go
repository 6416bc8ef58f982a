package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// pause is how often an answer is looked for.
const pause = 100 * time.Millisecond

// States of a member, as control knows them.
const (
	Running = "running"
	Gone    = "gone"    // it has said nothing for a while, and not that it stops
	Stopped = "stopped" // in order
)

// Chosen says which members are meant; nothing: all.
type Chosen struct {
	Role   string // that they run
	Member string // id, or its beginning
}

// Reply is what one member has answered.
type Reply struct {
	Member  control.Member
	State   string
	Rows    []Row
	Refused string // why there are no rows; empty: there are, or the member is not asked
}

// Asker asks members.
type Asker struct {
	Querier pg.Querier // control
	Timeout time.Duration
	By      string
	Reason  string
}

// Members are those that are meant.
func (a Asker) Members(ctx context.Context, c Chosen) ([]control.Member, error) {
	all, err := control.Members(ctx, a.Querier)
	return slices.DeleteFunc(all, func(m control.Member) bool {
		return c.Role != "" && !slices.Contains(m.Roles, c.Role) || !strings.HasPrefix(m.ID, c.Member)
	}), err
}

// StateOf is how a member stands.
func StateOf(m control.Member) string {
	switch {
	case m.StoppedAt != nil:
		return Stopped
	case m.Gone:
		return Gone
	}
	return Running
}

// Ask asks the members that run, all at once, and waits for their answers, for
// Timeout at most. Those that are gone or have stopped are told with their state.
func (a Asker) Ask(ctx context.Context, members []control.Member, verb, key, value string) ([]Reply, error) {
	replies := make([]Reply, len(members))
	numbers := make([]int64, len(members))
	for i, m := range members {
		replies[i] = Reply{Member: m, State: StateOf(m)}
		if replies[i].State != Running {
			continue
		}
		n, err := control.AskMember(ctx, a.Querier, control.MemberRequest{Member: m.ID, Verb: verb, Key: key, Value: value, By: a.By, Reason: a.Reason, WaitsFor: a.Timeout})
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	over := time.NewTimer(a.Timeout)
	defer over.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		open, err := a.collect(ctx, numbers, replies)
		if err != nil || !open {
			return replies, err
		}
		select {
		case <-ctx.Done():
			return replies, ctx.Err()
		case <-tick.C:
		case <-over.C:
			for i, n := range numbers {
				if n != 0 {
					replies[i].Refused = fmt.Sprintf("no answer within %s: it may just have died, or can't reach control", a.Timeout)
				}
			}
			return replies, nil
		}
	}
}

// collect reads the answers that are there; the number of what is answered becomes 0.
func (a Asker) collect(ctx context.Context, numbers []int64, replies []Reply) (open bool, err error) {
	for i, n := range numbers {
		if n == 0 {
			continue
		}
		r, err := control.ReadRequest(ctx, a.Querier, n)
		if err != nil {
			return false, err
		}
		if !r.Answered {
			open = true
			continue
		}
		numbers[i], replies[i].Refused = 0, r.Refused
		if r.Answer != nil {
			if err := json.Unmarshal(r.Answer, &replies[i].Rows); err != nil {
				return false, fmt.Errorf("the answer of %s: %w", replies[i].Member.ID, err)
			}
		}
	}
	return open, nil
}

// Stop stops members in order, in the reverse of the order of the stages: each when
// those behind it have stopped, so that none is left with work that nobody takes.
// order tells the place of a role. Those that have not stopped within Timeout are told
// as refusing, and the others are stopped all the same.
func (a Asker) Stop(ctx context.Context, members []control.Member, order func(role string) int) ([]Reply, error) {
	last := func(m control.Member) (at int) {
		for _, r := range m.Roles {
			at = max(at, order(r))
		}
		return at
	}
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(x, y control.Member) int { return last(y) - last(x) })
	var out []Reply
	for _, m := range members {
		replies, err := a.Ask(ctx, []control.Member{m}, Stop, "", "")
		if err != nil {
			return out, err
		}
		r := replies[0]
		if r.State == Running && r.Refused == "" {
			if r.State, err = a.ended(ctx, m.ID); err != nil {
				return out, err
			}
			if r.State == Running {
				r.Refused = fmt.Sprintf("it has not stopped within %s: it still ends what is under way", a.Timeout)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// ended waits until a member runs no more, and returns its state then, or Running.
func (a Asker) ended(ctx context.Context, id string) (string, error) {
	over := time.NewTimer(a.Timeout)
	defer over.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		all, err := control.Members(ctx, a.Querier)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all, func(m control.Member) bool { return m.ID == id })
		if i < 0 {
			return Gone, nil
		}
		if state := StateOf(all[i]); state != Running {
			return state, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-over.C:
			return Running, nil
		case <-tick.C:
		}
	}
}
