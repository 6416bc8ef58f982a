package ftp

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"tributary/internal/remote"
)

// longestAhead bounds the path of a file about which anything is asked ahead, in bytes:
// what is sent together fits into what any server reads at once.
const longestAhead = 1 << 10

// ahead are commands that are sent along with RETR, before the server has replied to it.
// Whoever sends one of them afterwards gets the reply that has come meanwhile; to those
// that nobody needs after all the replies are read and dropped.
type ahead struct {
	// inTurn is set where the server is known to take one command after the other.
	inTurn bool
	// passive is the command that asked last for the port of a data connection.
	passive string
	// ready is set when more is to be sent along with the next RETR: about, unless it is
	// empty, and the question for the port of the transfer after it.
	ready bool
	about string
	// unread are the commands, each with the end of its line, whose replies are to be read.
	unread []string
	// taken is set while the present command is one that was sent along.
	taken bool
}

// greeted knows servers by their greeting that read no command before they have replied
// to the one before, nor while they send a file. FTP promises that of nobody: others take
// what comes during a transfer for its end, or refuse it.
func (a *ahead) greeted(text string) { a.inTurn = a.inTurn || strings.Contains(text, "vsFTPd") }

// nothing has nothing be sent along any more.
func (a *ahead) nothing() { a.ready, a.about = false, "" }

// along is RETR with what is sent along.
func (a *ahead) along(retr []byte) []byte {
	if !a.ready || a.passive == "" {
		return retr
	}
	if a.about != "" {
		a.unread = append(a.unread, a.about)
	}
	a.unread = append(a.unread, a.passive)
	a.nothing()
	return append(slices.Clone(retr), strings.Join(a.unread, "")...)
}

// askAhead has what will be asked once a file has come be sent along with its RETR, where
// the server takes it in turn: the file's time, which it then finds out when it has sent
// the file, and the port for the next one. So a file takes one round trip. Where a pace
// is kept, nothing is asked that may not be needed.
func (s *ftpSession) askAhead(ctx context.Context, full string) {
	a := &s.control.ahead
	if !a.inTurn || len(full) > longestAhead || s.cfg.Paced(ctx) {
		return
	}
	a.ready = true
	if s.asksForTime() {
		a.about = "MDTM " + full + "\r\n"
	}
}

// asksForTime tells whether MDTM is how the server tells when a file was changed.
func (s *ftpSession) asksForTime() bool {
	return !s.c.IsTimePreciseInList() && s.c.IsGetTimeSupported()
}

// begin begins a command, and tells whether it was sent ahead.
func (c *ftpControl) begin(b []byte) (sent bool, err error) {
	verb, _, _ := bytes.Cut(bytes.TrimRight(b, "\r\n"), []byte(" "))
	before := slices.Index(c.ahead.unread, string(b))
	if sent = before >= 0; !sent {
		before = len(c.ahead.unread)
	}
	if sent || string(verb) != "QUIT" {
		if err := c.skip(before); err != nil {
			return false, err
		}
	}
	c.verb, c.asked, c.left, c.text = string(verb), true, false, ""
	c.await()
	c.ahead.taken = sent
	switch {
	case sent:
		c.ahead.unread = c.ahead.unread[1:]
	case c.in.Buffered() > 0 && c.verb != "QUIT":
		return false, c.unasked()
	case c.verb == "EPSV" || c.verb == "PASV":
		c.ahead.passive = string(b)
	}
	return sent, nil
}

// skip reads the replies to the first of what was sent ahead, which nobody needs.
func (c *ftpControl) skip(n int) error {
	for range n {
		c.await()
		code, text, err := c.reply()
		if err != nil {
			return err
		}
		if code < 200 {
			return remote.Broken("protocol_error", "it goes on replying where a command has ended: %d %s", code, text)
		}
		verb, _, _ := strings.Cut(strings.TrimSpace(c.ahead.unread[0]), " ")
		if err := inItsTurn(verb, code, text); err != nil {
			return err
		}
		c.ahead.unread = c.ahead.unread[1:]
	}
	return nil
}

// inItsTurn is an error where a command that was sent along is answered with a success of
// another kind: one reply too many has come, and each that follows would be taken for that
// of the command before.
func inItsTurn(verb string, code int, text string) error {
	own := map[string]int{"MDTM": 213, "EPSV": 229, "PASV": 227}[verb]
	if code/100 == 2 && code != own {
		return remote.Broken("protocol_error", "it replies to %s with what is no reply to it: %d %s", verb, code, text)
	}
	return nil
}
