package members

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Protocols of a group.
const (
	Classic  = "classic"  // cooperative-sticky
	Consumer = "consumer" // KIP-848
	Static   = "static"   // classic, with static membership
)

// protocolOf gives the options of each further client of a test, for the
// protocol that the test's name chooses.
func protocolOf(t testing.TB) func() []kgo.Opt {
	switch {
	case strings.HasPrefix(t.Name(), "TestProtocols/"+Consumer+"/"):
		return func() []kgo.Opt { return []kgo.Opt{kgo.ServerSideBalancer()} }
	case strings.HasPrefix(t.Name(), "TestProtocols/"+Static+"/"):
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
	return []kgo.Opt{kgo.InstanceID(fmt.Sprint("instance-", n)), kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(200 * time.Millisecond),
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
