//go:build synctests

package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/kafka"
)

var (
	errDead = errors.New("sim: this process was killed")
	errLost = errors.New("sim: the answer was lost")
)

// proc is a simulated process. All that it does to the world goes through its
// steps, where it may be killed or stopped.
type proc struct {
	s          *sim
	name, role string
	dead       chan struct{}
	metrics    *prometheus.Registry

	mu       sync.Mutex
	killed   bool
	thaw     chan struct{} // closed when a stop is over; nil: it runs
	stopped  time.Time     // when it was last stopped; zero: never
	conns    map[*conn]bool
	sessions map[*session]bool
	db       *pgxpool.Pool // where databases are real
	holder   string        // names it in their leases
}

func (s *sim) newProc(role, name string) *proc {
	return &proc{s: s, name: name, role: role, dead: make(chan struct{}), metrics: prometheus.NewRegistry(), conns: map[*conn]bool{}, sessions: map[*session]bool{}}
}

// gate returns when the process may go on: an error if it is dead.
func (p *proc) gate(ctx context.Context) error {
	for {
		p.mu.Lock()
		killed, thaw := p.killed, p.thaw
		p.mu.Unlock()
		switch {
		case killed:
			return errDead
		case thaw == nil:
			return ctx.Err()
		}
		select {
		case <-thaw:
		case <-p.dead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step is a labelled step of the process, at which a fault may strike it.
func (p *proc) step(ctx context.Context, label string) error {
	if err := p.gate(ctx); err != nil {
		return err
	}
	return p.suffer(ctx, p.s.faults.hit(p.role, label), label)
}

// suffer is what a fault does to the process at a step; nil does nothing.
func (p *proc) suffer(ctx context.Context, f *fault, label string) error {
	if f == nil {
		return nil
	}
	p.s.tracef(p.name, "FAULT %s", f)
	switch f.do {
	case doKill:
		p.kill()
		return errDead
	case doPause:
		p.pause(f.length)
		return p.gate(ctx)
	case doLose:
		return errLost
	default:
		return fmt.Errorf("sim: %s failed", label)
	}
}

// sleep is time that passes for the process.
func (p *proc) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.dead:
	case <-ctx.Done():
	}
	return p.gate(ctx)
}

// kill ends the process as kill -9 does: its connections break, and nothing
// that it still does arrives anywhere.
func (p *proc) kill() {
	p.mu.Lock()
	if p.killed {
		p.mu.Unlock()
		return
	}
	p.killed = true
	close(p.dead)
	conns, sessions := p.conns, p.sessions
	p.conns, p.sessions = map[*conn]bool{}, map[*session]bool{}
	p.mu.Unlock()
	for c := range conns {
		c.Close()
	}
	for x := range sessions {
		x.end("killed")
	}
}

// pause stops the process for a while, as SIGSTOP does. The while was drawn for
// virtual time.
func (p *proc) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed || p.thaw != nil {
		return
	}
	thaw := make(chan struct{})
	p.thaw, p.stopped = thaw, time.Now()
	time.AfterFunc(p.s.paced(d), func() { p.resume(thaw) })
}

func (p *proc) resume(thaw chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thaw != nil && (thaw == nil || p.thaw == thaw) {
		close(p.thaw)
		p.thaw = nil
		p.s.tracef(p.name, "goes on")
	}
}

func (p *proc) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// hasStopped tells whether the process was ever stopped.
func (p *proc) hasStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.stopped.IsZero()
}

// client is the Kafka client of the process, as every role makes one.
func (p *proc) client(extra ...kgo.Opt) (*kgo.Client, error) {
	cfg := config.Kafka{SessionTimeout: config.Duration(p.s.paced(sessionTimeout)), GroupProtocol: p.s.scene.protocol}
	if p.s.scene.static {
		cfg.InstanceID = p.name
	}
	own := []kgo.Opt{kgo.Dialer(p.dial), kgo.FetchMaxWait(p.s.paced(5 * time.Second))}
	return kafka.NewClient(cfg, p.s.cluster.ListenAddrs(), p.s.logger(p), append(own, extra...)...)
}

// dialTimeout is how long a dead process's client waits for a connection, as by
// its default, and how long in real time, in which somebody waits for its end.
const (
	dialTimeout     = 10 * time.Second
	dialTimeoutReal = 200 * time.Millisecond
)

// dial connects the process to a broker.
func (p *proc) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := p.connect(ctx, network, address, p.s.network.DialContext)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect is a connection that breaks and stands still with the process.
func (p *proc) connect(ctx context.Context, network, address string, dial func(context.Context, string, string) (net.Conn, error)) (*conn, error) {
	if err := p.gate(ctx); err != nil {
		// What is left of a dead process's client waits as for a network that
		// swallows everything. Were it refused at once, it would try again
		// without end, and virtual time would stand still. Real time goes on.
		wait, cancel := context.WithTimeout(ctx, p.s.deadDial)
		defer cancel()
		<-wait.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	raw, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, p: p, closed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		raw.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	p.conns[c] = true
	return c, nil
}

// conn is a connection of a process to a broker, on which it can be struck
// before a request leaves and after the answer to it came.
type conn struct {
	net.Conn
	p      *proc
	once   sync.Once
	closed chan struct{}

	mu    sync.Mutex
	asked []string // labels of requests not yet answered
}

// context ends with the connection.
func (c *conn) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-c.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Write sends a request: the client writes each in one go.
func (c *conn) Write(b []byte) (int, error) {
	label := ""
	if len(b) >= 6 {
		label = apiLabel(int16(binary.BigEndian.Uint16(b[4:6])))
	}
	if err := c.struck(label, "send"); err != nil {
		c.Close()
		return 0, err
	}
	c.mu.Lock()
	c.asked = append(c.asked, label)
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// Read returns what came; four bytes, the length, begin an answer.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	label := ""
	if len(b) == 4 {
		c.mu.Lock()
		if len(c.asked) > 0 {
			label, c.asked = c.asked[0], c.asked[1:]
		}
		c.mu.Unlock()
	}
	if err := c.struck(label, "answer"); err != nil {
		c.Close()
		return 0, err
	}
	return n, nil
}

func (c *conn) struck(label, when string) error {
	if c.p.free() && (label == "" || !c.p.s.faults.watches(c.p.role, label+"."+when)) {
		return nil
	}
	ctx, cancel := c.context()
	defer cancel()
	if label == "" {
		return c.p.gate(ctx)
	}
	return c.p.step(ctx, label+"."+when)
}

// free says that nothing holds the process up.
func (p *proc) free() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed && p.thaw == nil
}

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.p.mu.Lock()
		delete(c.p.conns, c)
		c.p.mu.Unlock()
	})
	return c.Conn.Close()
}

// apiLabel names the requests at which faults strike.
func apiLabel(key int16) string {
	switch key {
	case 0:
		return "produce"
	case 1:
		return "fetch"
	case 8:
		return "commit"
	case 9:
		return "offsets"
	case 11:
		return "join"
	case 12, 68:
		return "heartbeat"
	case 14:
		return "sync"
	}
	return ""
}
