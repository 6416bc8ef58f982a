package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/servers"
)

// One server refuses each connection, one says nothing, and one speaks another language:
// each is suspended after three polls and left alone from then on, but for the probe that
// a person asks for, by the servers' own counts, while other sources go on being polled
// and fetched from. Put right, the next probe makes each available, and its files are
// taken up.
func TestSuspendedSourcesAreLeftAlone(t *testing.T) {
	t.Parallel()
	long(t, "TestASourceThatKeepsFailingIsSuspended", "TestASuspendedSourceIsOnlyProbed")
	const enough, silent = 3, "jax"
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true, Extra: fmt.Sprintf(`schedule: {interval: 1s, tick: 200ms, jitter: 0}
sequence: {late_limit: 1s}
poll:
  {settle: 0s, attempts: 1,
   suspend_sooner: {address: %[1]d, timeout: %[1]d, server: %[1]d, connection: %[1]d, authorization: %[1]d}}
`, enough)})
	own := filepath.Join(s.dir, "servers", "suspended")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := servers.StartFaultySFTP(t.Context(), servers.FaultySFTPOptions{Dir: own, Root: s.sources()})
	servers.Need(t, err)
	t.Cleanup(server.Stop)
	text, err := os.ReadFile(s.rig.Config)
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	fronts := map[string]*front{}
	for id, does := range map[string]func(net.Conn){"gmc": refuses, silent: saysNothing, "tcp": speaksAnother} {
		f := startFront(t, server.Addr, does)
		fronts[id] = f
		url := strings.Replace(server.URL("/"+id), server.Addr, f.listener.Addr().String(), 1)
		if id == silent {
			url += "\n    connect_timeout: 10s" // to log in, too, once it is mended
		}
		config = strings.Replace(config, "url: file://"+filepath.Join(s.sources(), id)+"\n",
			"url: "+url+"\n    identity_file: "+server.IdentityFile+"\n    host_key: ['"+ssh.FingerprintSHA256(server.HostKey)+"']\n", 1)
	}
	s.rewrite(config)
	s.engines(func(engine.Endpoints) {
		members := s.members("schedule plan publish", "poll", "download unzip validate", "sequence insert tracker history")
		const suspended = "SELECT count(*) FILTER (WHERE id IN ('gmc', 'jax', 'tcp')) = 3 AND count(*) = 3 AS so FROM control.source WHERE state = 'suspended'"
		s.waits("not the three sources are suspended, or others too", suspended, nil)
		connections := func(want int64) {
			t.Helper()
			for id, f := range fronts {
				if got := f.connections.Load(); got != want {
					t.Errorf("the server of %s has seen %d connections, want %d", id, got, want)
				}
			}
		}
		connections(enough)
		s.waits("others are not polled five times meanwhile", `SELECT min(polls) >= 5 AS so FROM (SELECT count(p.id) AS polls FROM control.source s
			LEFT JOIN control.poll p ON p.source = s.id AND p.state = 'complete' AND p.started_at > (SELECT max(suspended_at) FROM control.source)
			WHERE s.state = 'available' GROUP BY s.id) p`, nil)
		connections(enough)

		s.ask("sources", "poll", "gmc", "jax", "tcp")
		s.waits("they are not probed", `SELECT count(*) = 3 AS so FROM control.source WHERE state = 'suspended' AND failures > 3`, nil)
		connections(enough + 1)

		for _, f := range fronts {
			f.mended.Store(true)
		}
		s.ask("sources", "poll", "gmc", "jax", "tcp")
		s.waits("they are not available", "SELECT count(*) = 0 AS so FROM control.source WHERE state <> 'available'", nil)
		s.settled(members...)
		for _, m := range members {
			m.stop()
		}
	})
}

// front is what stands before a server, and misbehaves until it is mended.
type front struct {
	listener    net.Listener
	server      string
	does        func(net.Conn)
	mended      atomic.Bool
	connections atomic.Int64 // that it has seen
}

// refuses resets a connection at once.
func refuses(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// saysNothing keeps a connection open until the other side ends it.
func saysNothing(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// speaksAnother greets as no SSH server does.
func speaksAnother(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	saysNothing(c)
}

func startFront(t *testing.T, server string, does func(net.Conn)) *front {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: l, server: server, does: does}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.connections.Add(1)
			running.Go(func() {
				defer c.Close()
				if !f.mended.Load() {
					f.does(c)
					return
				}
				f.pass(t, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return f
}

// pass passes a connection on to the server.
func (f *front) pass(t *testing.T, c net.Conn) {
	behind, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", f.server)
	if err != nil {
		return
	}
	defer behind.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, behind}, {behind, c}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		})
	}
	both.Wait()
}
