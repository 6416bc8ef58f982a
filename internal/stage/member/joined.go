package member

import (
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Joined knows whether a member has ever been given its share by its group, be it
// none: until then nobody knows whether it can. What comes later, such as a
// broker that is away, others tell.
type Joined struct{ seen atomic.Bool }

// Err is nil once the client has joined its group.
func (j *Joined) Err(client *kgo.Client) error {
	if j.seen.Load() {
		return nil
	}
	if _, generation := client.GroupMetadata(); generation <= 0 {
		return errors.New("has not joined its group yet")
	}
	j.seen.Store(true)
	return nil
}
