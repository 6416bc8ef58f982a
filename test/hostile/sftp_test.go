package hostile

import (
	"crypto/ed25519"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"path"
	"strconv"

	"golang.org/x/crypto/ssh"
)

// The packets of SFTP version 3 (draft-ietf-secsh-filexfer-02).
const (
	fxpInit, fxpVersion                         = 1, 2
	fxpOpen, fxpClose, fxpRead                  = 3, 4, 5
	fxpLstat, fxpFstat                          = 7, 8
	fxpOpendir, fxpReaddir, fxpRealpath         = 11, 12, 16
	fxpStat                                     = 17
	fxpStatus, fxpHandle, fxpData               = 101, 102, 103
	fxpName, fxpAttrs                           = 104, 105
	fxOK, fxEOF, fxNoSuchFile, fxFailure        = 0, 1, 2, 4
	fxOpUnsupported                             = 8
	mtime                                uint32 = 1704067200
)

var stepsSFTP = map[byte]string{
	fxpInit: "INIT", fxpOpen: "OPEN", fxpClose: "CLOSE", fxpRead: "READ", fxpLstat: "LSTAT", fxpFstat: "FSTAT",
	fxpOpendir: "OPENDIR", fxpReaddir: "READDIR", fxpRealpath: "REALPATH", fxpStat: "STAT",
}

// answeredSteps are those of SFTP that a poll and a download come by.
var answeredSteps = []string{"INIT", "OPENDIR", "READDIR", "CLOSE", "OPEN", "READ", "FSTAT"}

// hostKey is a key of which all is determined by a number.
func hostKey(seed uint64) (ssh.Signer, error) {
	var b [32]byte
	binary.BigEndian.PutUint64(b[:], seed)
	return ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(b[:]))
}

func talkSFTP(s *server, key ssh.Signer) func(net.Conn) {
	return func(c net.Conn) {
		cfg := &ssh.ServerConfig{
			ServerVersion:    "SSH-2.0-hostile",
			PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, nil },
		}
		cfg.AddHostKey(key)
		if s.step == "banner" {
			cfg.BannerCallback = func(ssh.ConnMetadata) string {
				s.struck.Add(1)
				return string(garbage(s.wire(nil, c, nil).rng, 200<<10))
			}
		}
		if err := s.at("version", s.wire(c, c, nil), nil); err != nil {
			return
		}
		conn, channels, requests, err := ssh.NewServerConn(c, cfg)
		if err != nil {
			return
		}
		defer conn.Close()
		go ssh.DiscardRequests(requests)
		if s.step == "connected" && s.strike(s.wire(c, c, conn), nil) != nil {
			return
		}
		n := 0
		for nc := range channels {
			n++
			step := "channel" + strconv.Itoa(n)
			if n > 1 && s.one {
				_ = nc.Reject(ssh.ResourceShortage, "one channel only")
				continue
			}
			if s.step == step {
				s.struck.Add(1)
				if s.strike == nil {
					_ = nc.Reject(ssh.ResourceShortage, string(garbage(rand.New(rand.NewPCG(s.seed, 3)), 200<<10)))
				} else if s.strike(s.wire(c, c, conn), nil) != nil {
					return
				}
				continue
			}
			ch, reqs, err := nc.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.channel(c, conn, ch, reqs) })
		}
	}
}

func (s *server) channel(c net.Conn, conn ssh.Conn, ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	w := s.wire(ch, c, conn)
	go func() {
		for r := range reqs {
			if r.Type == "subsystem" && s.step == "subsystem" && s.strike(w, nil) != nil {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(r.Type == "subsystem", nil)
		}
	}()
	listed := false
	for {
		var head [5]byte
		if _, err := io.ReadFull(ch, head[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(head[:4])
		if n < 1 || n > 1<<20 {
			return
		}
		body := make([]byte, n-1)
		if _, err := io.ReadFull(ch, body); err != nil {
			return
		}
		step, well := s.answer(head[4], body, &listed)
		if err := s.at(step, w, well); err != nil {
			return
		}
	}
}

// answer is what a good server with one directory, add, and one file answers.
func (s *server) answer(kind byte, body []byte, listed *bool) (step string, packet []byte) {
	step = stepsSFTP[kind]
	if kind == fxpInit {
		return step, frame(fxpVersion, []byte{0, 0, 0, 3})
	}
	id, arg := body[:4], field(body[4:])
	p := path.Clean("/" + arg)
	switch {
	case kind == fxpRealpath:
		return step, frame(fxpName, id, u32(1), str(p), str(p), u32(0))
	case kind == fxpOpendir && p == "/add":
		*listed = false
		return step, frame(fxpHandle, id, str("d"))
	case kind == fxpOpen && p == "/add/"+s.file:
		return step, frame(fxpHandle, id, str("f"))
	case kind == fxpReaddir && *listed && !s.again.Load():
		return "listed", status(id, fxEOF, "")
	case kind == fxpReaddir:
		*listed = true
		return step, frame(fxpName, id, u32(1), str(s.file), str("-"), s.attrs())
	case kind == fxpClose:
		return step, status(id, fxOK, "")
	case kind == fxpFstat && s.bare:
		return "refused", status(id, fxOpUnsupported, "not known")
	case kind == fxpFstat, (kind == fxpLstat || kind == fxpStat) && p == "/add/"+s.file:
		return step, frame(fxpAttrs, id, s.attrs())
	case kind == fxpRead:
		return s.read(id, body)
	case kind == fxpOpen, kind == fxpOpendir, kind == fxpLstat, kind == fxpStat:
		return "refused", status(id, fxNoSuchFile, "no such file")
	}
	return "unknown", status(id, fxOpUnsupported, "not known")
}

func (s *server) read(id, body []byte) (step string, packet []byte) {
	rest := body[4+4+len(field(body[4:])):]
	off := min(binary.BigEndian.Uint64(rest), uint64(len(s.zip)))
	n := min(uint64(binary.BigEndian.Uint32(rest[8:])), uint64(len(s.zip))-off)
	if n == 0 {
		return "end", status(id, fxEOF, "")
	}
	return "READ", frame(fxpData, id, str(string(s.zip[off:off+n])))
}

func (s *server) attrs() []byte { return attrs(uint64(s.claimed()), mtime) }

// attrs are those of a file: size, mode and times.
func attrs(size uint64, mtime uint32) []byte {
	b := binary.BigEndian.AppendUint64(u32(1|4|8), size)
	return append(append(append(b, u32(0o100644)...), u32(mtime)...), u32(mtime)...)
}

func frame(kind byte, parts ...[]byte) []byte {
	b := []byte{0, 0, 0, 0, kind}
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func status(id []byte, code uint32, text string) []byte {
	return frame(fxpStatus, id, u32(code), str(text), str(""))
}

func u32(n uint32) []byte     { return binary.BigEndian.AppendUint32(nil, n) }
func str(s string) []byte     { return append(u32(uint32(len(s))), s...) }
func idOf(well []byte) []byte { return well[5:9] }

// field is the string that b begins with.
func field(b []byte) string {
	if len(b) < 4 {
		return ""
	}
	n := min(int64(binary.BigEndian.Uint32(b)), int64(len(b)-4))
	return string(b[4 : 4+n])
}
