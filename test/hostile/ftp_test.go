package hostile

import (
	"bufio"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"time"
)

// ftpTalk is one conversation of an FTP server that knows one directory, add,
// with one file.
type ftpTalk struct {
	s       *server
	control *wire
	passive net.Listener
	dir     string
}

// controlSteps are those that every conversation of a poll comes by, in order.
// The replies behind a listing and a transfer have steps of their own.
var controlSteps = []string{"greeting", "FEAT", "USER", "PASS", "TYPE", "OPTS", "PWD", "CWD", "EPSV", "MLSD", "listed", "MLST", "RETR", "sent"}

func talkFTP(s *server) func(net.Conn) {
	return func(c net.Conn) {
		t := &ftpTalk{s: s, control: s.wire(c, c, nil), dir: "/"}
		defer t.hangUp()
		greeting := "220 good day"
		if s.old {
			greeting = "220 (vsFTPd 3.0.5)" // which is told what comes next before it has replied
		}
		if t.reply("greeting", greeting) != nil {
			return
		}
		in := bufio.NewReader(c)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			verb, arg, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
			if t.command(strings.ToUpper(verb), arg) != nil || verb == "QUIT" {
				return
			}
		}
	}
}

func (t *ftpTalk) hangUp() {
	if t.passive != nil {
		_ = t.passive.Close()
	}
}

func (t *ftpTalk) reply(step, text string) error {
	return t.s.at(step, t.control, []byte(text+"\r\n"))
}

var repliesFTP = map[string]string{
	"USER": "331 password", "PASS": "230 welcome", "TYPE": "200 fine", "OPTS": "200 fine", "NOOP": "200 fine",
	"PWD": `257 "/" is where you are`, "QUIT": "221 goodbye",
}

func (t *ftpTalk) command(verb, arg string) error {
	if text, ok := repliesFTP[verb]; ok {
		return t.reply(verb, text)
	}
	known := path.Clean("/"+arg) == "/add/"+t.s.file || strings.HasSuffix(t.dir, "add") && arg == t.s.file
	switch verb {
	case "FEAT":
		if t.s.bare {
			return t.reply(verb, "211-Features\r\n UTF8\r\n EPSV\r\n SIZE\r\n211 End")
		}
		if t.s.old {
			return t.reply(verb, "211-Features\r\n UTF8\r\n EPSV\r\n MDTM\r\n SIZE\r\n211 End")
		}
		return t.reply(verb, "211-Features\r\n MLST type*;size*;modify*;\r\n MLSD\r\n UTF8\r\n EPSV\r\n MDTM\r\n SIZE\r\n211 End")
	case "CWD":
		if p := path.Clean("/" + arg); p == "/" || p == "/add" {
			t.dir = p
			return t.reply(verb, "250 fine")
		}
		return t.reply("refused", "550 no such directory")
	case "EPSV", "PASV":
		return t.listen(verb)
	case "MLSD", "LIST":
		return t.send(verb, "listing", "listed", t.listing(verb))
	case "MLST":
		if !known {
			return t.reply("refused", "550 no such file")
		}
		return t.reply(verb, fmt.Sprintf("250-here\r\n type=file;size=%d;modify=20240101000000; %s\r\n250 end", t.s.claimed(), arg))
	case "SIZE":
		if !known {
			return t.reply("refused", "550 no such file")
		}
		return t.reply(verb, "213 "+strconv.FormatInt(t.s.claimed(), 10))
	case "MDTM":
		if !known {
			return t.reply("refused", "550 no such file")
		}
		return t.reply(verb, "213 20240101000000")
	case "RETR":
		if !known {
			return t.reply("refused", "550 no such file")
		}
		return t.send(verb, "transfer", "sent", t.s.zip)
	}
	return t.reply("unknown", "502 not known")
}

func (t *ftpTalk) listing(verb string) []byte {
	switch {
	case t.dir != "/add":
		return nil
	case verb == "LIST":
		return fmt.Appendf(nil, "-rw-r--r-- 1 a b %d Jan 01 2024 %s\r\n", t.s.claimed(), t.s.file)
	}
	return fmt.Appendf(nil, "type=file;size=%d;modify=20240101000000; %s\r\n", t.s.claimed(), t.s.file)
}

// listen opens the port of the next transfer and tells it.
func (t *ftpTalk) listen(verb string) error {
	if verb == "EPSV" && t.s.passive {
		return t.reply("refused", "502 not known")
	}
	t.hangUp()
	var err error
	if t.passive, err = net.Listen("tcp", net.JoinHostPort(t.s.here(), "0")); err != nil {
		return err
	}
	port := t.passive.Addr().(*net.TCPAddr).Port
	if verb == "PASV" {
		return t.reply(verb, fmt.Sprintf("227 passive (127,0,0,1,%d,%d)", port>>8, port&255))
	}
	return t.reply(verb, fmt.Sprintf("229 passive (|||%d|)", port))
}

// send opens a data connection and sends what a listing or a file is.
func (t *ftpTalk) send(verb, step, after string, data []byte) error {
	if t.passive == nil {
		return t.reply("refused", "425 no port")
	}
	if err := t.passive.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	// A client that was told another port never comes: the connection is
	// awaited beside the reply.
	if err := t.reply(verb, "150 here it comes"); err != nil {
		return err
	}
	c, err := t.passive.Accept()
	if err != nil {
		return err
	}
	if !t.s.admit(c) {
		return errEnough
	}
	t.s.sessions.Add(-1)
	err = t.s.at(step, t.s.wire(c, c, nil), data)
	t.s.forget(c)
	if err != nil && step == t.s.step {
		return t.reply("aborted", "426 cut off")
	}
	return t.reply(after, "226 done")
}
