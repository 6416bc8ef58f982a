package stage

import "github.com/twmb/franz-go/pkg/kgo"

// closeClient closes a client that has left its group. Closing polls once more
// for what is buffered, as if somebody would allow rebalances afterwards, and a
// goroutine of a second leave waits for that for ever.
func closeClient(client *kgo.Client) {
	client.CloseAllowingRebalance()
	client.AllowRebalance()
}
