package remote

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// ftpControl is the control connection: one command, then its reply. Here, and
// nowhere else, is bounded what an FTP server may say: bytes and time are
// counted from the command on, so nothing that trickles in renews them.
type ftpControl struct {
	net.Conn
	idle  time.Duration
	limit int64
	in    *bufio.Reader
	// left is how many bytes the present reply may still have.
	left int64
}

func newControl(conn net.Conn, c Config) *ftpControl {
	f := &ftpControl{Conn: conn, idle: c.IdleTimeout, limit: c.Limits.Reply}
	f.in = bufio.NewReader(f)
	return f
}

// Read reads what is left of the present reply.
func (c *ftpControl) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, broken("reply_too_long", "a reply has more than limits.reply, %d bytes", c.limit)
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// await gives the server the idle time for a reply, and the reply its bounds.
func (c *ftpControl) await() {
	c.left = c.limit
	// Best effort: what becomes of the connection is told by its use.
	_ = c.SetDeadline(time.Now().Add(c.idle))
}

// send sends a command. A reply that nobody has asked for would be taken for
// this command's, so it ends the session, whatever it says.
func (c *ftpControl) send(format string, args ...any) error {
	command := fmt.Sprintf(format, args...)
	if strings.ContainsAny(command, "\r\n") {
		return &Error{Op: "send a command", class: Misconfigured, Err: errors.New("it has a line break in it, which FTP can't ask for")}
	}
	c.await()
	if c.in.Buffered() > 0 {
		code, text, err := c.reply()
		if err == nil && code != 421 {
			err = broken("protocol_error", "it replies without having been asked: %d %s", code, text)
		}
		if err == nil {
			err = &textproto.Error{Code: code, Msg: text}
		}
		return err
	}
	_, err := c.Write([]byte(command + "\r\n"))
	return err
}

// reply reads one reply, of whatever code: a line, or several of which the last
// begins with the code of the first and a blank (RFC 959). The text has no code
// at the beginning of its lines.
func (c *ftpControl) reply() (code int, text string, err error) {
	line, err := c.line()
	if err != nil {
		return 0, "", err
	}
	code, text, more, ok := cutCode(line)
	if !ok {
		return 0, "", broken("protocol_error", "it answers with what is no reply: %s", line)
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
	return code, all.String(), nil
}

// line reads one line; a part of one is an error, never a line.
func (c *ftpControl) line() (string, error) {
	line, err := c.in.ReadString('\n')
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

// ask sends a command and returns its first reply.
func (c *ftpControl) ask(format string, args ...any) (code int, text string, err error) {
	if err := c.send(format, args...); err != nil {
		return 0, "", err
	}
	return c.reply()
}

// expect sends a command that has one reply, and makes every other code than
// the expected one an error.
func (c *ftpControl) expect(want int, format string, args ...any) (string, error) {
	code, text, err := c.ask(format, args...)
	if err == nil {
		err = refusal(code, want, text)
	}
	return text, err
}

// refusal is the error of a reply with another code than the expected one. A
// preliminary reply where the last one is due means that more will follow.
func refusal(code, want int, text string) error {
	switch {
	case code == want:
		return nil
	case code < 200:
		return broken("protocol_error", "it goes on replying where a command has ended: %d %s", code, text)
	}
	return &textproto.Error{Code: code, Msg: text}
}
