package stage

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The group protocols that the runtime promises to work with. Tests run with
// the first unless TestProtocols runs them.
const (
	classic  = "classic"  // cooperative-sticky
	consumer = "consumer" // KIP-848
	static   = "static"   // classic, with static membership
)

// TestProtocols runs what the runtime promises about members with every
// protocol. Each name's test ran with the classic one before.
func TestProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: skipped with -short")
	}
	for _, protocol := range []string{consumer, static} {
		for name, test := range map[string]func(*testing.T){
			"order":     TestRunnerKeepsOrderPerKey,
			"window":    TestFullWindowPausesThePartition,
			"revoked":   TestRevokedWorkIsCancelled,
			"crash":     TestCrashRepeatsABoundedWindow,
			"killer":    TestKillerIsFoundAmongItsNeighbours,
			"cleanstop": TestCleanStopClearsTheMark,
			"poison":    TestPoisonIsAcknowledgedFirst,
			"stop":      TestStopLetsWorkEnd,
			"slow":      TestASlowRecordDelaysNobodyInRebalances,
			"share":     TestAppliersShareTheWork,
			"moved":     TestApplierFollowsAMovedPosition,
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				t.Parallel() // they wait for sessions to end, mostly
				test(t)
			})
		}
	}
}

// protocolOf gives the options of each further client of a test, for the
// protocol that the test's name chooses.
func protocolOf(t testing.TB) func() []kgo.Opt {
	switch {
	case strings.HasPrefix(t.Name(), "TestProtocols/"+consumer+"/"):
		return func() []kgo.Opt { return []kgo.Opt{kgo.ServerSideBalancer()} }
	case strings.HasPrefix(t.Name(), "TestProtocols/"+static+"/"):
		ids := &identities{taken: map[int]bool{}}
		return ids.next
	}
	return func() []kgo.Opt { return nil }
}

// identities gives instances names as a deployment does: who takes the place of
// one that has ended has its name.
type identities struct {
	mu    sync.Mutex
	taken map[int]bool
}

// next returns the options of an instance, with a session that ends soon after
// a death.
func (i *identities) next() []kgo.Opt {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := 0
	for i.taken[n] {
		n++
	}
	i.taken[n] = true
	return []kgo.Opt{kgo.InstanceID(fmt.Sprint("instance-", n)), kgo.SessionTimeout(2 * time.Second), kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.WithHooks(&identity{i, n})}
}

// identity gives a name back when its client is closed.
type identity struct {
	of *identities
	n  int
}

func (i *identity) OnClientClosed(*kgo.Client) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	delete(i.of.taken, i.n)
}
