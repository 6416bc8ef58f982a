package sftp_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/wait"
)

// evil is an SFTP server that answers in good order but where it strikes. Its
// one directory holds what names says, again and again if endless; its one file
// holds "data".
type evil struct {
	// channels is how many it allows; 0 for any number.
	channels int32
	// names is the body of each NAME packet, without the id.
	names   []byte
	endless bool
	// strike writes the answer to a kind of request by itself.
	strike map[byte]func(w io.Writer, id []byte)
	// read, when set, answers requests to read.
	read func(w io.Writer, id []byte, off uint64, n uint32)
	// heard, when set, is called for each request.
	heard func()
	// subsystem, when set, is called before the subsystem is granted.
	subsystem func()
}

// The packets of SFTP that the tests name.
const (
	fxInit, fxOpen, fxClose, fxRead, fxLstat, fxFstat, fxOpendir, fxReaddir = 1, 3, 4, 5, 7, 8, 11, 12
	fxVersion, fxStatus, fxHandle, fxData, fxName, fxAttrs                  = 2, 101, 102, 103, 104, 105
)

func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func str(s string) []byte { return append(u32(uint32(len(s))), s...) }

func pack(kind byte, parts ...[]byte) []byte {
	body := []byte{kind}
	for _, p := range parts {
		body = append(body, p...)
	}
	return append(u32(uint32(len(body))), body...)
}

// attrs are those of a file of the given size.
func attrs(size uint64) []byte {
	b := binary.BigEndian.AppendUint64(u32(1|4|8), size)
	return append(append(append(b, u32(0o100644)...), u32(1700000000)...), u32(1700000000)...)
}

// names is the body of a NAME packet.
func names(count uint32, entries ...[]byte) []byte {
	b := u32(count)
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

func entry(name, long string, attrs []byte) []byte {
	return append(append(str(name), str(long)...), attrs...)
}

func (e *evil) start(t *testing.T) remote.Config {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &ssh.ServerConfig{NoClientAuth: true}
	cfg.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go e.connection(conn, cfg)
		}
	}()
	return remote.Config{URL: "sftp://u@" + l.Addr().String() + "/", Password: "x", HostKey: []string{ssh.FingerprintSHA256(signer.PublicKey())}}
}

func (e *evil) connection(conn net.Conn, cfg *ssh.ServerConfig) {
	_, chans, reqs, err := ssh.NewServerConn(conn, cfg)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	var open atomic.Int32
	for c := range chans {
		if e.channels > 0 && open.Add(1) > e.channels {
			_ = c.Reject(ssh.ResourceShortage, strings.Repeat("no more channels\x00\n", 1000))
			continue
		}
		ch, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				if e.subsystem != nil {
					e.subsystem()
				}
				_ = r.Reply(r.Type == "subsystem", nil)
			}
		}()
		go e.serve(ch)
	}
}

func (e *evil) serve(ch ssh.Channel) {
	defer ch.Close()
	given := false
	for {
		var head [4]byte
		if _, err := io.ReadFull(ch, head[:]); err != nil {
			return
		}
		p := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(ch, p); err != nil {
			return
		}
		if e.heard != nil {
			e.heard()
		}
		id := p[1:5]
		if strike, ok := e.strike[p[0]]; ok {
			strike(ch, id)
			continue
		}
		if e.read != nil && p[0] == fxRead {
			e.read(ch, id, binary.BigEndian.Uint64(p[len(p)-12:]), binary.BigEndian.Uint32(p[len(p)-4:]))
			continue
		}
		answer := pack(fxStatus, id, u32(0), str(""), str(""))
		switch p[0] {
		case fxInit:
			answer = pack(fxVersion, u32(3))
		case fxOpen, fxOpendir:
			given = false
			answer = pack(fxHandle, id, str("h"))
		case fxLstat, fxFstat:
			answer = pack(fxAttrs, id, attrs(4))
		case fxRead:
			answer = pack(fxStatus, id, u32(1), str(""), str(""))
			if binary.BigEndian.Uint64(p[len(p)-12:]) == 0 {
				answer = pack(fxData, id, str("data"))
			}
		case fxReaddir:
			if given && !e.endless {
				answer = pack(fxStatus, id, u32(1), str(""), str(""))
			} else {
				given, answer = true, pack(fxName, id, e.names)
			}
		}
		if _, err := ch.Write(answer); err != nil {
			return
		}
	}
}

// answerWith answers a request with one packet, whatever it is.
func answerWith(kind byte, parts ...[]byte) func(io.Writer, []byte) {
	return func(w io.Writer, id []byte) {
		if kind == fxVersion {
			id = nil
		}
		_, _ = w.Write(pack(kind, append([][]byte{id}, parts...)...))
	}
}

var oneFile = names(1, entry("a.zip", "", attrs(4)))

func TestSFTPConversationInGoodOrder(t *testing.T) {
	for _, channels := range []int32{0, 1} {
		if err := remotetest.Converse(t, (&evil{names: oneFile, channels: channels}).start(t)); err != nil {
			t.Errorf("%d channels: %v", channels, err)
		}
	}
}

func TestSFTPHostileAnswers(t *testing.T) {
	claims := func(n uint32) func(io.Writer, []byte) {
		return func(w io.Writer, _ []byte) { _, _ = w.Write(append(u32(n), make([]byte, 1<<20)...)) }
	}
	const text = "A\x00\u202e\xff\x1b\n"
	status := func(code uint32, n int) func(io.Writer, []byte) {
		return answerWith(fxStatus, u32(code), str(strings.Repeat(text, n/len(text))), str(""))
	}
	for _, step := range []byte{fxInit, fxOpendir, fxReaddir, fxLstat, fxOpen, fxRead} {
		for name, tc := range map[string]struct {
			strike func(io.Writer, []byte)
			want   string // empty: any, but an error
		}{
			"claims a gigabyte":     {claims(1 << 30), "reply_too_long"},
			"claims 4 GB":           {claims(1<<32 - 1), "reply_too_long"},
			"claims one more":       {claims(256<<10 + 1), "reply_too_long"},
			"status of 200 KB":      {status(4, 200_000), ""},
			"status of a megabyte":  {status(4, 1<<20-40), "reply_too_long"},
			"refusal of 200 KB":     {status(3, 200_000), ""},
			"success and no more":   {status(0, 0), ""},
			"half attributes":       {answerWith(fxAttrs, u32(1|2|4|8), u32(0)), ""},
			"names cut short":       {answerWith(fxName, u32(3), str("a")), ""},
			"half a status":         {answerWith(fxStatus, u32(4)[:2]), ""},
			"no body":               {answerWith(200), ""},
			"handle longer than it": {answerWith(fxHandle, u32(1<<31)), ""},
			"handle of 200 KB":      {answerWith(fxHandle, str(strings.Repeat("h", 200_000))), "-"},
			"data longer than it":   {answerWith(fxData, u32(1<<31), []byte("x")), ""},
			"extended without end":  {answerWith(fxAttrs, u32(1<<31), u32(1<<32-1), make([]byte, 1000)), ""},
			"hangs up":              {func(w io.Writer, _ []byte) { _ = w.(io.Closer).Close() }, "connection_lost"},
		} {
			t.Run(fmt.Sprintf("%s at %d", name, step), func(t *testing.T) {
				e := &evil{names: oneFile, strike: map[byte]func(io.Writer, []byte){step: tc.strike}}
				c := e.start(t)
				if c.IdleTimeout = wait.Patience(); tc.want == "-" {
					c.IdleTimeout = 5 * time.Second
				}
				var err error
				if n := remotetest.Allocated(func() { err = remotetest.Converse(t, c) }); n > 64<<20 {
					t.Errorf("%d bytes were allocated", n)
				}
				remotetest.Fit(t, err)
				switch got := remote.Exception(err); {
				case tc.want == "-":
				case got == "timed_out" || got == "" || tc.want != "" && got != tc.want:
					t.Errorf("%v (%s), want %s", err, got, tc.want)
				}
			})
		}
	}
}

func TestSFTPHostileNames(t *testing.T) {
	long := strings.Repeat("L", 64<<10) + ".zip"
	extended := append(u32(1<<31), u32(1000)...)
	for range 2000 {
		extended = append(extended, str("x")...)
	}
	for name, tc := range map[string]struct {
		names []byte
		want  string
		first remote.Entry
	}{
		"ordinary":           {oneFile, "", remote.Entry{Name: "a.zip", Size: 4}},
		"huge count":         {names(1<<32-1, entry("a.zip", "", attrs(4))), "protocol_error", remote.Entry{Name: "a.zip", Size: 4}},
		"huge name":          {names(1, u32(1<<32-1)), "protocol_error", remote.Entry{}},
		"huge line":          {names(1, entry("a.zip", strings.Repeat("l", 200_000), attrs(4))), "", remote.Entry{Name: "a.zip", Size: 4}},
		"many extended":      {names(1, entry("a.zip", "", extended)), "", remote.Entry{Name: "a.zip", Size: -1, Kind: remote.Other}},
		"endless extended":   {names(1, entry("a.zip", "", append(u32(1<<31), u32(1<<32-1)...))), "protocol_error", remote.Entry{}},
		"negative size":      {names(1, entry("a.zip", "", attrs(1<<64-1))), "", remote.Entry{Name: "a.zip", Size: -1, Invalid: "listing_entry_invalid"}},
		"size beyond int64":  {names(1, entry("a.zip", "", attrs(1<<63))), "", remote.Entry{Name: "a.zip", Size: -1, Invalid: "listing_entry_invalid"}},
		"largest size":       {names(1, entry("a.zip", "", attrs(1<<63-1))), "", remote.Entry{Name: "a.zip", Size: 1<<63 - 1}},
		"name of 64 KiB":     {names(1, entry(long, "", attrs(4))), "", remote.Entry{Size: 4, Invalid: "name_too_long"}},
		"name that leaves":   {names(1, entry("../../a.zip", "", attrs(4))), "", remote.Entry{Name: "../../a.zip", Size: 4, Kind: remote.Other}},
		"name of the parent": {names(2, entry("..", "", attrs(4)), entry("a.zip", "", attrs(4))), "", remote.Entry{Name: "a.zip", Size: 4}},
	} {
		for _, channels := range []int32{0, 1} {
			s := remotetest.Dial(t, (&evil{names: tc.names, channels: channels}).start(t))
			got, err := remotetest.Entries(s, t, "add")
			remotetest.Fit(t, err)
			if channels == 1 {
				// The library has rules of its own for what is malformed, and
				// shows the last element of a name; nothing more is promised
				// here than that entries can be stored.
				for _, e := range got {
					if len(e.Name) > remote.MaxName || e.Size < -1 || strings.Contains(e.Name, "/") {
						t.Errorf("%s: one channel gives %+v", name, e)
					}
				}
				continue
			}
			if remote.Exception(err) != tc.want {
				t.Errorf("%s: %v (%s), want %q", name, err, remote.Exception(err), tc.want)
			}
			first := remote.Entry{}
			if len(got) > 0 {
				first = got[0]
			}
			first.Message, first.Precision, first.ModTime = "", 0, time.Time{}
			if len(first.Name) == remote.MaxName {
				first.Name = ""
			}
			if diff := cmp.Diff(tc.first, first); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// The handshake, the login and the opening of SFTP together are bounded.
func TestSSHConnectingIsBoundedAsAWhole(t *testing.T) {
	dripped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dripped.Close() })
	flooded, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flooded.Close() })
	for l, write := range map[net.Listener]func(io.Writer){dripped: remotetest.Drip("hello\r\n", 20*time.Millisecond), flooded: remotetest.Endless("hello\r\n")} {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() { write(conn); _ = conn.Close() }()
			}
		}()
	}
	late := make(chan struct{})
	t.Cleanup(func() { close(late) })
	opening := (&evil{names: oneFile, subsystem: func() { <-late }}).start(t)
	slowly := (&evil{names: oneFile, strike: map[byte]func(io.Writer, []byte){fxInit: func(w io.Writer, _ []byte) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for _, b := range append(u32(256<<10), make([]byte, 300)...) {
			<-tick.C
			if _, err := w.Write([]byte{b}); err != nil {
				return
			}
		}
	}}}).start(t)
	for name, tc := range map[string]struct {
		c    remote.Config
		want string
	}{
		"version dripped":    {remote.Config{URL: "sftp://u@" + dripped.Addr().String() + "/"}, "timed_out"},
		"lines without end":  {remote.Config{URL: "sftp://u@" + flooded.Addr().String() + "/"}, "connection_lost"},
		"sftp never started": {opening, "timed_out"},
		"sftp dripped":       {slowly, "timed_out"},
	} {
		c := tc.c
		c.Password, c.ConnectTimeout = "x", remotetest.Within(tc.want, 500*time.Millisecond)
		if len(c.HostKey) == 0 {
			c.HostKey = []string{ssh.FingerprintSHA256(otherKey(t))}
		}
		s, err := connectors.All().Dial(t.Context(), c)
		if err == nil {
			_ = s.Close()
		}
		remotetest.Fit(t, err)
		if remote.Exception(err) != tc.want {
			t.Errorf("%s: %v (%s), want %s", name, err, remote.Exception(err), tc.want)
		}
	}
}
