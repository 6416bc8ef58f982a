package broker

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/engine/entrance"
	"tributary/internal/kafka"
)

// Bounds of connections.
const (
	ownerConns = 1000
	userConns  = 32
	// strangers is how many connections may be logging in at once.
	strangers = 32
	loginTime = 10 * time.Second
	// idleTime ends a connection that asks for nothing, as Kafka does.
	idleTime = 10 * time.Minute
	// frameTime is for the rest of a request once it has begun.
	frameTime = time.Minute
	// writeTime is for an answer to be taken.
	writeTime = time.Minute
)

// door is the one listener of the library. Connections come through a unix
// socket, whose directory's mode says that they are the owner's, or through
// TCP, where they log in first. Every request is read, sized and judged before
// the library sees it: the library is made for tests, and a request that it
// can't take ends the process.
type door struct {
	entrance    *entrance.Entrance
	unix, tcp   net.Listener // tcp is nil where no address is configured
	credentials *credentials

	// These are known once the library has said what it serves.
	hello *kmsg.ApiVersionsResponse
	owner *role
	users map[string]*role

	ready chan net.Conn // judged connections for the library
}

func newDoor(unix, tcp net.Listener, passwords map[string]string, log *slog.Logger) (*door, error) {
	c, err := newCredentials(passwords)
	if err != nil {
		return nil, err
	}
	return &door{entrance: entrance.New("broker", log), unix: unix, tcp: tcp, credentials: c, ready: make(chan net.Conn)}, nil
}

// Accept implements net.Listener for the library.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.ready:
		return c, nil
	case <-d.entrance.Context().Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: nobody comes in any more. Closing again is
// harmless.
func (d *door) Close() error {
	if d.tcp == nil {
		return d.entrance.Close(d.unix)
	}
	return d.entrance.Close(d.unix, d.tcp)
}

// Addr implements net.Listener: what the library tells clients to connect to.
// Whoever came through the socket ignores it.
func (d *door) Addr() net.Addr {
	if d.tcp != nil {
		return d.tcp.Addr()
	}
	return noAddr{}
}

type noAddr struct{}

// Network implements net.Addr.
func (noAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (noAddr) String() string { return kafka.NoHost }

// open asks the library what it serves, and lets connections in.
func (d *door) open(topic, groups string) error {
	hello, err := d.ask()
	if err != nil {
		return fmt.Errorf("ask the broker what it serves: %w", err)
	}
	d.hello = hello
	served := map[int16]versions{}
	for _, k := range hello.ApiKeys {
		served[k.ApiKey] = versions{k.MinVersion, k.MaxVersion}
	}
	among := func(wanted []kmsg.Key) map[int16]versions {
		keys := map[int16]versions{}
		for _, k := range wanted {
			if v, ok := served[k.Int16()]; ok {
				keys[k.Int16()] = v
			}
		}
		return keys
	}
	d.owner = owner(among(ownerKeys()))
	keys := userVersions(among(userKeys()))
	d.users = map[string]*role{Reader: reader(keys, groups), Announcer: announcer(keys, topic), Operator: operator(keys, groups)}
	d.serve(d.unix, ownerConns, ownerConns, func(net.Conn) (*role, error) { return d.owner, nil })
	if d.tcp != nil {
		d.serve(d.tcp, strangers, userConns, d.login)
	}
	return nil
}

// ask sends the library the only request that is not somebody's.
func (d *door) ask() (*kmsg.ApiVersionsResponse, error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	d.ready <- theirs
	if err := ours.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 3
	req.ClientSoftwareName, req.ClientSoftwareVersion = "tributary", "1"
	if _, err := ours.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err != nil {
		return nil, err
	}
	size, err := readSize(ours)
	if err != nil {
		return nil, err
	}
	raw, err := readRaw(ours, size, sizes{0, ownerOther})
	if err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = req.Version
	return resp, resp.ReadFrom(raw[8:])
}

// serve lets connections of one listener in until the door is closed: so many
// at once may be entering, and so many stay.
func (d *door) serve(l net.Listener, enter, stay int, who func(net.Conn) (*role, error)) {
	places := make(chan struct{}, stay)
	d.entrance.Serve(l, enter, func(c net.Conn, _ func()) { d.admit(c, places, who) })
}

// admit hands a connection to the library once it is known whose it is.
func (d *door) admit(c net.Conn, places chan struct{}, who func(net.Conn) (*role, error)) {
	p := &peeked{c, bufio.NewReader(c)}
	r, err := who(p)
	if err != nil {
		d.entrance.TurnAway("a stranger", c.RemoteAddr().String(), err)
		_ = c.Close()
		return
	}
	select {
	case places <- struct{}{}:
	default:
		d.entrance.TurnAway(r.name, c.RemoteAddr().String(), entrance.ErrTooMany)
		_ = c.Close()
		return
	}
	g := d.guard(p, r, c.RemoteAddr().String(), func() { <-places })
	select {
	case d.ready <- g:
	case <-d.entrance.Context().Done():
		_ = g.Close()
	}
}

// peeked is a connection of which the next byte can be waited for.
type peeked struct {
	net.Conn
	buffered *bufio.Reader
}

// Read reads what was peeked at first.
func (p *peeked) Read(b []byte) (int, error) { return p.buffered.Read(b) }

// judge says what becomes of a request: nothing where the library gets it, the
// answer where it is answered here, or an error that ends the connection.
func (d *door) judge(r *role, f *frame) (kmsg.Response, error) {
	if req, ok := f.req.(*kmsg.ApiVersionsRequest); ok {
		return d.versions(req, r), nil
	}
	why := refusal(f.req)
	if r.allowed == nil || r.allowed[f.req.Key()] {
		var changed bool
		if changed, why = r.judge(f.req); changed {
			f.encode()
		}
	}
	if why == nil {
		return nil, nil
	}
	if resp := refuse(f.req, why); resp != nil {
		return resp, nil
	}
	return nil, fmt.Errorf("key %d, which is refused and expects no answer: %w", f.req.Key(), why)
}

// expectsAnswer says whether the library answers a request.
func expectsAnswer(req kmsg.Request) bool {
	p, ok := req.(*kmsg.ProduceRequest)
	return !ok || p.Acks != 0
}
