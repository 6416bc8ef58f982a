package kafka

import (
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Anew lets a client write to topics that were deleted and made anew, which it
// would refuse for ever: the new topic is another one to it. Many records may
// fail for that, and the first of them purges the topic from the client. The
// others must not: by then the new topic may have been written to, and a topic
// that is purged is written to from sequence 0 again, by the same producer. The
// broker could take that for a batch that it has, and acknowledge it without
// writing. It is safe for concurrent use.
type Anew struct {
	client *kgo.Client

	mu     sync.Mutex
	purges map[string]int
	busy   map[string]bool // topics that are being purged
}

// NewAnew watches over the topics that a client writes to. There is one for a
// client.
func NewAnew(client *kgo.Client) *Anew {
	return &Anew{client: client, purges: map[string]int{}, busy: map[string]bool{}}
}

// Purges is how often a topic was made anew so far. Who produces asks before.
func (a *Anew) Purges(topic string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.purges[topic]
}

// Failed is told of the error of a record, and of the purges of its topic before
// it was produced. What was not acknowledged is to be produced again.
func (a *Anew) Failed(topic string, purges int, err error) {
	if !errors.Is(err, kerr.UnknownTopicID) || !a.begin(topic, purges) {
		return
	}
	a.client.PurgeTopicsFromProducing(topic)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy[topic] = false
	a.purges[topic]++
}

// begin lets the first purge a topic. Nobody waits for it, as it asks the
// broker.
func (a *Anew) begin(topic string, purges int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[topic] || a.purges[topic] != purges {
		return false
	}
	a.busy[topic] = true
	return true
}
