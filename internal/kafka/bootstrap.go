package kafka

import (
	"context"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// UnixScheme begins the address of a broker behind a unix socket; the socket's
// path follows. The embedded broker is reached that way.
const UnixScheme = "unix:"

// NoHost is the host and port that stand for a broker behind a unix socket
// where the protocol wants some. Its name can't be resolved, so a client
// without the dialer of [Bootstrap] reaches nobody instead of somebody else.
const NoHost = "tributary.invalid:9092"

// Bootstrap returns the options with which a client reaches brokers: seeds for
// addresses as host:port, and for one that begins with [UnixScheme] a dialer
// that takes every connection to that socket, whatever host the broker's
// metadata names. Every client of Tributary's is made with them.
func Bootstrap(addrs []string) []kgo.Opt {
	if len(addrs) == 0 || !strings.HasPrefix(addrs[0], UnixScheme) {
		return []kgo.Opt{kgo.SeedBrokers(addrs...)}
	}
	socket := strings.TrimPrefix(addrs[0], UnixScheme)
	return []kgo.Opt{kgo.SeedBrokers(NoHost), kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	})}
}
