package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

func sftpKinds() []kind {
	a := answeredSteps
	return []kind{
		{name: "sftp-hang", steps: append([]string{"version", "connected", "channel1", "channel2", "subsystem"}, a...), strike: hang},
		{name: "sftp-cut", steps: append([]string{"version", "connected", "channel1", "channel2", "subsystem"}, a...), strike: partly(cut)},
		{name: "sftp-half-close", steps: append([]string{"connected"}, a...), strike: partly(halfClose)},
		{name: "sftp-garbage", steps: append([]string{"version", "connected"}, a...), strike: junk},
		{name: "sftp-drip", steps: a, strike: slowly},
		{name: "sftp-reply-twice", steps: a, strike: twice},
		{name: "sftp-reply-flood", steps: a, strike: func(w *wire, well []byte) error { return w.forever(well) }},
		{name: "sftp-packet-huge", steps: a, strike: packetHuge},
		{name: "sftp-packet-empty", steps: a, strike: func(w *wire, _ []byte) error { return w.forever([]byte{0, 0, 0, 0}) }},
		{name: "sftp-status-huge", steps: a[1:], strike: statusHuge},
		{name: "sftp-status-text", steps: a[1:], strike: statusText},
		{name: "sftp-wrong-id", steps: a[1:], strike: wrongID},
		{name: "sftp-wrong-type", steps: a[1:], strike: wrongType},
		{name: "sftp-version-odd", steps: []string{"INIT"}, strike: versionOdd},
		{name: "ssh-banner-endless", steps: []string{"version"}, strike: endless("welcome to this server\r\n")},
		{name: "ssh-version-endless", steps: []string{"version"}, strike: after("SSH-2.0-", "A")},
		{name: "ssh-version-drip", steps: []string{"version"}, strike: func(w *wire, _ []byte) error { return w.drip([]byte("hello\n\n"), 50*time.Millisecond) }},
		{name: "ssh-version-junk", steps: []string{"version"}, strike: instead("SSH-1.0-x\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-\x00\xff\x1b[31m\r\n", "220 ftp here\r\n", "SSH-2.0-"+strings.Repeat("A", 300)+"\r\n")},
		{name: "ssh-kex-huge", steps: []string{"version"}, strike: func(w *wire, _ []byte) error {
			return after("SSH-2.0-x\r\n"+string(binary.BigEndian.AppendUint32(nil, uint32(anyOf(w, 0, 1, 1<<18, 1<<31-1, 1<<32-1)))), "\x04\x14")(w, nil)
		}},
		{name: "ssh-login-banner-huge", steps: []string{"banner"}},
		{name: "ssh-requests-endless", steps: []string{"connected"}, strike: requestsEndless},
		{name: "ssh-channels-endless", steps: []string{"connected"}, strike: channelsEndless},
		{name: "channel-refused", steps: []string{"channel1", "channel2"}},
		{name: "subsystem-refused", steps: []string{"subsystem"}, strike: func(w *wire, _ []byte) error { w.s.struck.Add(1); return errEnough }},
		{name: "stderr-endless", steps: []string{"INIT"}, strike: stderrEndless},
		{name: "handle-huge", steps: []string{"OPENDIR", "OPEN"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpHandle, idOf(well), str(strings.Repeat("h", anyOf(w, 0, 257, 60_000, 240_000)))))
			return err
		}},
		{name: "sftp-listing-endless", steps: []string{"READDIR"}, strike: sftpListing(0, func(i int) string { return fmt.Sprintf("J.2022-02-01.%d.impc.zip", i) })},
		{name: "sftp-listing-endless-one-channel", one: true, steps: []string{"READDIR"}, strike: sftpListing(0, func(i int) string { return fmt.Sprintf("odd%d.zip", i) })},
		{name: "sftp-listing-endless-same", steps: []string{"READDIR"}, strike: sftpListing(0, func(int) string { return "J.2022-02-03.1.impc.zip" })},
		{name: "sftp-listing-endless-ignored", steps: []string{"READDIR"}, strike: sftpListing(0, func(i int) string { return fmt.Sprintf("x%d", i) })},
		{name: "sftp-listing-huge-names", steps: []string{"READDIR"}, strike: sftpListing(0, func(i int) string { return fmt.Sprintf("%09d%s.zip", i, strings.Repeat("L", 1000)) })},
		{name: "sftp-listing-empty-for-ever", steps: []string{"READDIR"}, strike: sftpListing(-1, nil)},
		{name: "sftp-listing-names", steps: []string{"READDIR"}, strike: sftpNames},
		{name: "sftp-listing-attrs", steps: []string{"READDIR"}, strike: sftpAttrs},
		{name: "sftp-name-count-lies", steps: []string{"READDIR"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpName, idOf(well), u32(uint32(anyOf(w, 2, 1<<20, 1<<31, 1<<32-1))), str("a.zip"), str("-"), attrs(1, mtime)))
			return err
		}},
		{name: "attrs-extended-endless", steps: []string{"READDIR", "FSTAT"}, strike: extended},
		{name: "sftp-lstat-lies", bare: true, steps: []string{"LSTAT"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpAttrs, idOf(well), anyOf(w, attrs(1<<63, mtime), attrs(1<<64-1, 0), attrs(uint64(w.rng.IntN(1<<20)), mtime+1), u32(0), u32(1<<31|0xf), nil)))
			return err
		}},
		{name: "sftp-read-long", steps: []string{"READ"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpData, idOf(well), str(strings.Repeat("P", anyOf(w, 33_000, 200_000)))))
			return err
		}},
		{name: "sftp-read-nothing", steps: []string{"READ"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpData, idOf(well), str("")))
			return err
		}},
		{name: "sftp-read-length-lies", steps: []string{"READ"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpData, idOf(well), u32(uint32(anyOf(w, 1<<16, 1<<31, 1<<32-1))), []byte("abc")))
			return err
		}},
		{name: "sftp-eof-never", steps: []string{"READ", "end"}, size: 100_000, strike: func(w *wire, well []byte) error {
			_, err := w.Write(frame(fxpData, idOf(well), str(strings.Repeat("P", 32<<10))))
			return err
		}},
		{name: "sftp-read-drip", size: 1 << 20, steps: []string{"READ"}, strike: func(w *wire, well []byte) error {
			select {
			case <-w.s.stopped:
				return errEnough
			case <-time.After(100 * time.Millisecond):
			}
			_, err := w.Write(frame(fxpData, idOf(well), str("P")))
			return err
		}},
		{name: "sftp-close-refused", steps: []string{"CLOSE"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(status(idOf(well), fxFailure, strings.Repeat("no ", 50_000)))
			return err
		}},
	}
}

func packetHuge(w *wire, _ []byte) error {
	return after(string(u32(uint32(anyOf(w, 1<<20+2, 1<<28, 1<<31-1, 1<<32-1))))+string([]byte{anyOf[byte](w, fxpName, fxpStatus, fxpData)}), "A")(w, nil)
}

func statusHuge(w *wire, well []byte) error {
	_, err := w.Write(status(idOf(well), anyOf[uint32](w, fxFailure, 3, 2, 0, 99, 1<<31), strings.Repeat("A", anyOf(w, 10_000, 250_000, 1<<20-40))))
	return err
}

func statusText(w *wire, well []byte) error {
	_, err := w.Write(status(idOf(well), anyOf[uint32](w, fxFailure, 3, 5, 6, 7), nasty))
	return err
}

func wrongID(w *wire, well []byte) error {
	b := bytes.Clone(well)
	binary.BigEndian.PutUint32(b[5:], w.rng.Uint32())
	_, err := w.Write(b)
	return err
}

func wrongType(w *wire, well []byte) error {
	b := bytes.Clone(well)
	for b[4] == well[4] {
		b[4] = anyOf[byte](w, 0, 1, 2, 14, fxpStatus, fxpHandle, fxpData, fxpName, fxpAttrs, 200, 255)
	}
	_, err := w.Write(b)
	return err
}

func versionOdd(w *wire, _ []byte) error {
	_, err := w.Write(anyOf(w, frame(fxpVersion, u32(0)), frame(fxpVersion, u32(6)), frame(fxpVersion, u32(1<<32-1)), frame(fxpVersion, nil),
		frame(fxpVersion, u32(3), bytes.Repeat(append(str("x@y"), str("z")...), 60_000)), frame(fxpVersion, u32(3), u32(1<<32-1)), frame(fxpStatus, u32(0), u32(4), str(nasty), str(""))))
	return err
}

// requestsEndless talks about nothing in particular, so that the connection is
// never idle, and answers nothing.
func requestsEndless(w *wire, _ []byte) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.s.stopped:
			return errEnough
		case <-tick.C:
		}
		if _, _, err := w.ssh.SendRequest("keepalive@hostile", false, []byte("hello")); err != nil {
			return err
		}
		w.s.struck.Add(1)
	}
}

// channelsEndless opens channels towards the client.
func channelsEndless(w *wire, _ []byte) error {
	for range 20_000 {
		w.s.struck.Add(1)
		asked := make(chan error, 1)
		name := garbage(w.rng, 1000)
		go func() {
			ch, _, err := w.ssh.OpenChannel("session", name)
			if err == nil {
				_ = ch.Close()
			}
			asked <- err
		}()
		// The library waits for ever for a channel that is asked for while the
		// connection ends.
		select {
		case err := <-asked:
			if err != nil && w.gone() {
				return err
			}
		case <-w.s.stopped:
			return errEnough
		}
	}
	return w.hang()
}

// gone tells whether the server was stopped or the other side has hung up.
func (w *wire) gone() bool {
	select {
	case <-w.s.stopped:
		return true
	default:
		_, _, err := w.ssh.SendRequest("still there?", false, nil)
		return err != nil
	}
}

func stderrEndless(w *wire, _ []byte) error {
	if ch, ok := w.out.(ssh.Channel); ok {
		w.out = ch.Stderr()
	}
	return w.forever([]byte("error! "))
}

// sftpListing answers a READDIR with names, again and again; n is negative for
// answers without any.
func sftpListing(n int, name func(i int) string) func(*wire, []byte) error {
	return func(w *wire, well []byte) error {
		id := idOf(well)
		if n < 0 {
			_, err := w.Write(frame(fxpName, id, u32(0)))
			w.s.again.Store(true)
			return err
		}
		var body []byte
		count := 0
		for len(body) < 100_000 {
			i := int(w.s.named.Add(1))
			body = append(append(append(body, str(name(i))...), str("-")...), attrs(10, mtime)...)
			count++
		}
		_, err := w.Write(frame(fxpName, id, u32(uint32(count)), body))
		w.s.again.Store(true)
		return err
	}
}

func sftpNames(w *wire, well []byte) error {
	names := append(badNames(w.s.seed), "")
	var body []byte
	for _, n := range names {
		body = append(append(append(body, str(n)...), str("-")...), attrs(10, mtime)...)
	}
	_, err := w.Write(frame(fxpName, idOf(well), u32(uint32(len(names))), body))
	return err
}

func sftpAttrs(w *wire, well []byte) error {
	of := [][]byte{attrs(1<<63, mtime), attrs(1<<64-1, mtime), attrs(1<<63-1, mtime), attrs(10, 0), attrs(10, 1<<32-1), attrs(10, 1<<31), u32(0), append(u32(4), u32(0o100644)...), append(u32(4), u32(1<<32-1)...)}
	var body []byte
	for i, a := range of {
		body = append(append(append(body, str(fmt.Sprintf("J.2023-05-%02d.%d.impc.zip", i+1, w.s.seed))...), str("-")...), a...)
	}
	_, err := w.Write(frame(fxpName, idOf(well), u32(uint32(len(of))), body))
	return err
}

// extended are attributes with a great many pairs that nobody knows, or that say
// so.
func extended(w *wire, well []byte) error {
	pairs := bytes.Repeat(append(str("a@b"), str("c")...), anyOf(w, 3, 15_000))
	a := append(append(u32(1<<31), u32(anyOf[uint32](w, 3, 15_000, 1<<31, 1<<32-1))...), pairs...)
	if well[4] == fxpAttrs {
		_, err := w.Write(frame(fxpAttrs, idOf(well), a))
		return err
	}
	_, err := w.Write(frame(fxpName, idOf(well), u32(1), str(w.s.file), str("-"), a))
	return err
}
