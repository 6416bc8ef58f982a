package members

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/test/wait"
)

// Line is a member's way to the broker, which can be cut for good: for the
// group the member is dead then, and nothing that it does arrives.
type Line struct {
	mu      sync.Mutex
	dead    bool
	conns   []net.Conn
	members []*kgo.Client
}

// Opts connect through the line.
func (l *Line) Opts() []kgo.Opt {
	return []kgo.Opt{kgo.Dialer(l.dial), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.WithHooks(l)}
}

// OnNewClient notes whose line it is.
func (l *Line) OnNewClient(c *kgo.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = append(l.members, c)
}

func (l *Line) dial(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || !l.dead {
		l.conns = append(l.conns, conn)
		return conn, err
	}
	conn.Close()
	return nil, errors.New("the line is cut")
}

// Cut cuts the line for good. The broker removes the member at once, as it does when a
// session ends: one so short that nobody waited for its end would end wherever a busy
// machine is late.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	var addrs []string
	for _, c := range l.conns {
		if c != nil {
			addrs = append(addrs, c.RemoteAddr().String())
			c.Close()
		}
	}
	for _, c := range l.members {
		bury(c, addrs)
	}
}

// bury has the broker at these addresses remove a member, in whichever protocol it is one.
// Where that fails its session ends.
func bury(c *kgo.Client, addrs []string) {
	id, _ := c.GroupMetadata()
	if id == "" || len(addrs) == 0 {
		return
	}
	group, _ := c.OptValue(kgo.ConsumerGroup).(string)
	other, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	if err != nil {
		return
	}
	defer other.Close()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience())
	defer cancel()
	if next, _ := c.OptValue(kgo.ServerSideBalancer).(bool); next {
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch = group, id, -1
		_, _ = leave.RequestWith(ctx, other)
		return
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = group, id
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = id
	if instance, _ := c.OptValue(kgo.InstanceID).(string); instance != "" {
		member.InstanceID = &instance
	}
	leave.Members = append(leave.Members, member)
	_, _ = leave.RequestWith(ctx, other)
}

// Header returns a record's header.
func Header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Running runs until the returned function is called, or the test ends.
func Running(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// Logger logs into the test's output.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
