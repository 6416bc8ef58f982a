package ftp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

// ftpControl is the control connection as the FTP library sees it: one command,
// then its reply, whole and checked. Here, and nowhere else, is bounded what an
// FTP server may say: bytes and time are counted from the command on, so
// nothing that trickles in renews them.
type ftpControl struct {
	net.Conn
	// raw is the connection below TLS, where there is any.
	raw   net.Conn
	idle  time.Duration
	limit int64
	in    *bufio.Reader
	// room is how many bytes the present reply may still have.
	room *io.LimitedReader
	// password is what the server was told, and may repeat.
	password string
	// ahead is what was sent before its reply is read.
	ahead ahead
	// verb is the last command's; half is set while only a part of that command
	// is written.
	verb string
	half bool
	// left is set where we have broken off the transfer that the last command began.
	left bool
	// asked is set until the first reply to the last command has come.
	asked bool
	// out is what the library hasn't read yet of the present reply, text what
	// that reply says.
	out  []byte
	text string
	// err is what ended the conversation: the first error, which stays. The
	// library keeps some of them to itself.
	err error
}

func newControl(conn net.Conn, c remote.Config) *ftpControl {
	f := &ftpControl{Conn: conn, raw: conn, idle: c.IdleTimeout, limit: c.Limits.Reply, password: c.Password, room: &io.LimitedReader{R: conn}}
	f.in = bufio.NewReader(f.room)
	return f
}

// end keeps the first error for good.
func (c *ftpControl) end(err error) error {
	if c.err == nil {
		c.err = err
	}
	return c.err
}

// await gives the server the idle time for a reply, and the reply its bounds.
func (c *ftpControl) await() {
	c.room.N = c.limit
	// Best effort: what becomes of the connection is told by its use.
	_ = c.SetDeadline(time.Now().Add(c.idle))
}

// Write sends a command, or the next part of a long one, unless it was sent ahead. A
// reply that nobody has asked for would be taken for this command's, so it ends the
// session, whatever it says.
func (c *ftpControl) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if !c.half {
		sent, err := c.begin(b)
		if err != nil {
			return 0, c.end(err)
		}
		if sent {
			return len(b), nil
		}
	}
	all := b
	if c.half = !bytes.HasSuffix(b, []byte("\n")); !c.half && c.verb == "RETR" {
		all = c.ahead.along(b)
	}
	n, err := c.Conn.Write(all)
	return min(n, len(b)), c.end(err)
}

func (c *ftpControl) unasked() error {
	code, text, err := c.reply()
	if err != nil {
		return err
	}
	return remote.Broken("protocol_error", "it replies without having been asked: %d %s", code, text)
}

// Read hands out one reply, each of its lines with its code: so the library and
// this package can't disagree about where it ends.
func (c *ftpControl) Read(b []byte) (int, error) {
	if len(c.out) == 0 {
		if err := c.next(); err != nil {
			return 0, c.end(err)
		}
	}
	n := copy(b, c.out)
	c.out = c.out[n:]
	return n, nil
}

func (c *ftpControl) next() error {
	if c.err != nil {
		return c.err
	}
	if !c.asked {
		// The greeting, and the reply that ends a transfer, follow no command.
		c.await()
	}
	reply := c.reply
	if c.left && !c.asked {
		reply = c.endOfLeft
	}
	code, text, err := reply()
	if err == nil {
		code, text, err = c.checked(code, text)
	}
	if err != nil {
		return err
	}
	c.asked, c.text = false, text
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		c.out = strconv.AppendInt(c.out, int64(code), 10)
		if i < len(lines)-1 {
			c.out = append(c.out, '-')
		} else {
			c.out = append(c.out, ' ')
		}
		c.out = append(append(c.out, line...), "\r\n"...)
	}
	return nil
}

// leftPatience is how long is waited for what a server says of a transfer that we have
// broken off, before it is asked for something else. It is fixed: those that say anything
// do at once.
const leftPatience = 2 * time.Second

// endOfLeft reads the reply that ends a transfer which we have broken off. Pure-FTPd ends
// some within TLS without any: it is asked where it is then, as no other reply has that
// one's code.
func (c *ftpControl) endOfLeft() (code int, text string, err error) {
	// Best effort, as in await.
	_ = c.SetReadDeadline(time.Now().Add(min(leftPatience, c.idle)))
	_, silent := c.in.Peek(1)
	c.await()
	if !errors.Is(silent, os.ErrDeadlineExceeded) {
		return c.reply()
	}
	if _, err := io.WriteString(c.Conn, "PWD\r\n"); err != nil {
		return 0, "", err
	}
	code, text = 426, "it says nothing of the transfer that was broken off"
	for range 2 { // one that was late, and that
		is, said, err := c.reply()
		if err != nil {
			return 0, "", err
		}
		if is == 257 {
			return code, text, nil
		}
		code, text = is, said
	}
	return 0, "", remote.Broken("protocol_error", "it doesn't say where it is after a transfer was broken off: %d %s", code, text)
}

// reply reads one reply, of whatever code: a line, or several of which the last
// begins with the code of the first and a blank (RFC 959). The text has no code
// at the beginning of its lines. A server that says 421 hangs up, so that is an
// error always.
func (c *ftpControl) reply() (code int, text string, err error) {
	line, err := c.line()
	if err != nil {
		return 0, "", err
	}
	code, text, more, ok := cutCode(line)
	if !ok {
		return 0, "", remote.Broken("protocol_error", "it answers with what is no reply: %s", c.withoutPassword(line))
	}
	var all strings.Builder
	all.WriteString(text)
	for more {
		if line, err = c.line(); err != nil {
			return 0, "", err
		}
		if same, rest, goesOn, ok := cutCode(line); ok && same == code {
			line, more = rest, goesOn
		}
		all.WriteString("\n" + line)
	}
	text = all.String()
	if code >= 400 || c.verb == "PASS" {
		text = c.withoutPassword(text)
	}
	if code == 421 {
		return 0, "", &textproto.Error{Code: code, Msg: text}
	}
	return code, text, nil
}

// withoutPassword is what a server says for people to read. Some repeat the command that they
// refuse, as BSD's does: 500 'PASS …': command not understood.
func (c *ftpControl) withoutPassword(text string) string {
	if c.password == "" {
		return text
	}
	return strings.ReplaceAll(text, c.password, "(password)")
}

// line reads one line; a part of one is an error, never a line.
func (c *ftpControl) line() (string, error) {
	line, err := c.in.ReadString('\n')
	if errors.Is(err, io.EOF) && c.room.N <= 0 {
		err = remote.Broken("reply_too_long", "a reply has more than limits.reply, %d bytes", c.limit)
	}
	return strings.TrimRight(line, "\r\n"), err
}

// cutCode cuts the code off a line, and says whether more lines follow.
func cutCode(line string) (code int, text string, more, ok bool) {
	if len(line) < 3 || len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, "", false, false
	}
	n, err := strconv.ParseUint(line[:3], 10, 16)
	if err != nil || n < 100 {
		return 0, "", false, false
	}
	if len(line) == 3 {
		return int(n), "", false, true
	}
	return int(n), line[4:], line[3] == '-', true
}
