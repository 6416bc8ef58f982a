//go:build synctests

package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a fault does to the process that it strikes.
type deed string

const (
	doKill  deed = "kill"
	doPause deed = "stop"
	doLose  deed = "lose the answer"
	doFail  deed = "fail"
)

// fault strikes the n-th time that a role comes to a step.
type fault struct {
	role, label string
	nth         int
	do          deed
	length      time.Duration // of a stop
}

func (f *fault) String() string {
	if f.do == doPause {
		return fmt.Sprintf("%s %s for %v at %s no. %d", f.do, f.role, f.length, f.label, f.nth)
	}
	return fmt.Sprintf("%s %s at %s no. %d", f.do, f.role, f.label, f.nth)
}

// event is a fault that strikes at a time.
type event struct {
	at   time.Duration
	what string
	run  func(*sim)
}

// faults are all that will go wrong.
type faults struct {
	mu      sync.Mutex
	over    bool
	counts  map[string]int
	planned map[string][]*fault
	steps   []*fault
	events  []event
	broker  []*kfake.FaultHandle
	struck  int
}

// hit returns the fault that strikes a role at a step, if one does.
func (f *faults) hit(role, label string) *fault {
	key := role + "/" + label
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return nil
	}
	f.counts[key]++
	for _, x := range f.planned[key] {
		if x.nth == f.counts[key] {
			f.struck++
			return x
		}
	}
	return nil
}

// strike counts a fault that strikes at a time.
func (f *faults) strike() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck++
}

// watches tells whether a fault may strike there.
func (f *faults) watches(role, label string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.over && len(f.planned[role+"/"+label]) > 0
}

func (f *faults) stop() {
	f.mu.Lock()
	f.over = true
	handles := f.broker
	f.mu.Unlock()
	for _, h := range handles {
		h.Remove()
	}
}

func (f *faults) plan(x *fault) {
	f.steps = append(f.steps, x)
	f.planned[x.role+"/"+x.label] = append(f.planned[x.role+"/"+x.label], x)
}

// steps of roles, with about how often a run comes there.
type place struct {
	label string
	often int
	lose  bool // an answer can be lost there
}

func places(role string) []place {
	kafka := []place{
		{"fetch.send", 20, false}, {"fetch.answer", 20, true}, {"commit.send", 8, false}, {"commit.answer", 8, true},
		{"join.send", 4, false}, {"join.answer", 4, true}, {"sync.send", 4, false}, {"sync.answer", 4, true}, {"heartbeat.answer", 20, true}, {"offsets.answer", 2, true},
	}
	produce := []place{{"produce.send", 12, false}, {"produce.send", 12, false}, {"produce.answer", 12, true}}
	switch role {
	case "download":
		return append(append(kafka, produce...), place{"hold", 6, true}, place{"ask", 6, true}, place{"dial", 6, true}, place{"stat", 10, true}, place{"open", 10, true}, place{"read", 20, true},
			place{"close", 6, false}, place{"blob.create", 10, true}, place{"blob.write", 20, true}, place{"blob.commit", 8, true}, place{"blob.committed", 8, true})
	case "unzip", "validate":
		return append(append(kafka, produce...), place{"blob.open", 10, true}, place{"blob.read", 20, true})
	case "poll":
		return []place{{"dial", 8, true}, {"list", 16, true}, {"close", 8, false}, {"tx.begin", 8, true}, {"tx.commit", 8, true}}
	case "publish":
		return append(produce, place{"tx.begin", 20, true}, place{"tx.commit", 20, true})
	case "insert":
		return append(kafka, place{"tx.begin", 10, true}, place{"tx.commit", 10, true}, place{"blob.open", 10, true}, place{"blob.read", 10, true}, place{"position", 2, true})
	}
	return append(kafka, place{"tx.begin", 10, true}, place{"tx.commit", 10, true}, place{"position", 2, true}) // what applies
}

// roles lists the roles, those more often hit first in the draw.
func roles() []string {
	return []string{"download", "download", "download", "unzip", "unzip", "validate", "validate", "poll", "publish", "publish", "plan", "plan", "sequence", "insert", "tracker", "history"}
}

// faultPhase is how long faults may strike.
const faultPhase = 30 * time.Second

// drawFaults plans what will go wrong.
func drawFaults(rng *rand.Rand, many int) *faults {
	f := &faults{counts: map[string]int{}, planned: map[string][]*fault{}}
	for range many {
		switch n := rng.IntN(12); {
		case n < 8:
			f.plan(drawStep(rng))
		case n < 10:
			f.events = append(f.events, drawEvent(rng))
		default:
			f.events = append(f.events, drawBroker(rng))
		}
	}
	return f
}

func drawStep(rng *rand.Rand) *fault {
	all := roles()
	role := all[rng.IntN(len(all))]
	where := places(role)
	p := where[rng.IntN(len(where))]
	x := &fault{role: role, label: p.label, nth: 1 + min(rng.IntN(p.often), rng.IntN(p.often))}
	deeds := []deed{doKill, doKill, doPause}
	if p.lose {
		deeds = append(deeds, doLose, doFail)
	}
	x.do, x.length = deeds[rng.IntN(len(deeds))], drawPause(rng)
	return x
}

// drawPause is shorter than a session, a little longer, or much.
func drawPause(rng *rand.Rand) time.Duration {
	switch rng.IntN(3) {
	case 0:
		return time.Duration(200+rng.IntN(3000)) * time.Millisecond
	case 1:
		return sessionTimeout + time.Duration(rng.IntN(3000))*time.Millisecond
	default:
		return 2*sessionTimeout + time.Duration(rng.IntN(10000))*time.Millisecond
	}
}

func drawEvent(rng *rand.Rand) event {
	at := time.Duration(rng.Int64N(int64(faultPhase)))
	all := roles()
	role, pick := all[rng.IntN(len(all))], rng.IntN(100)
	switch rng.IntN(4) {
	case 0:
		return event{at, "kill a " + role, func(s *sim) { s.strike(role, pick, func(p *proc) { p.kill() }) }}
	case 1:
		d := drawPause(rng)
		return event{at, fmt.Sprintf("stop a %s for %v", role, d), func(s *sim) { s.strike(role, pick, func(p *proc) { p.pause(d) }) }}
	case 2:
		return event{at, "restart a " + role + " in good order", func(s *sim) { s.restart(role, pick) }}
	default:
		return event{at, "one more " + role, func(s *sim) { s.more(role) }}
	}
}

// drawBroker is an error of the broker: some before the request was worked
// on, some after.
func drawBroker(rng *rand.Rand) event {
	at := time.Duration(rng.Int64N(int64(faultPhase)))
	type kind struct {
		key  kmsg.Key
		errs []*kerr.Error
	}
	kinds := []kind{
		{kmsg.Produce, []*kerr.Error{kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.KafkaStorageError}},
		{kmsg.Fetch, []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownServerError, kerr.KafkaStorageError}},
		{kmsg.OffsetCommit, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.RequestTimedOut, kerr.NotCoordinator, kerr.RebalanceInProgress}},
		{kmsg.Heartbeat, []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.UnknownMemberID}},
		{kmsg.JoinGroup, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator}},
		{kmsg.OffsetFetch, []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator}},
	}
	k := kinds[rng.IntN(len(kinds))]
	e := k.errs[rng.IntN(len(k.errs))]
	count := 1 + rng.IntN(4)
	return event{at, fmt.Sprintf("the broker answers %d %s requests with %s", count, k.key.Name(), e.Message), func(s *sim) {
		h := s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{k.key}, Err: e, Count: count})
		s.faults.mu.Lock()
		s.faults.broker = append(s.faults.broker, h)
		s.faults.mu.Unlock()
	}}
}
