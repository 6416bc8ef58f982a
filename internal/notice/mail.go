package notice

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/schemas"
)

// maxReplies is what a mail server may say in one session, in bytes.
const maxReplies = 64 << 10

// Mail tells notices to people, by SMTP.
type Mail struct {
	to       []string // addresses alone
	cfg      config.SMTP
	from     string // its address alone
	password string
	tls      *tls.Config
	now      func() time.Time
}

// NewMail makes mail to some addresses. It fails if an address is none, or a secret or
// a file can't be read.
func NewMail(to []string, cfg config.SMTP) (*Mail, error) {
	m := &Mail{cfg: cfg, now: time.Now}
	from, err := mail.ParseAddress(cfg.From)
	if err != nil {
		return nil, fmt.Errorf("smtp.from: %q is no address", cfg.From)
	}
	m.from = from.Address
	for _, t := range to {
		a, err := mail.ParseAddress(t)
		if err != nil {
			return nil, fmt.Errorf("%q is no address", line(t, maxTitle))
		}
		m.to = append(m.to, a.Address)
	}
	if m.password, err = cfg.Password.Resolve(); err != nil {
		return nil, fmt.Errorf("smtp.password: %w", err)
	}
	if m.tls, err = trust(cfg.CAFile); err != nil {
		return nil, fmt.Errorf("smtp.%w", err)
	}
	m.tls.ServerName, _, err = net.SplitHostPort(cfg.Server)
	if err != nil {
		return nil, fmt.Errorf("smtp.server: %w", err)
	}
	return m, nil
}

// Deliver sends a notice as one mail to all.
func (m *Mail) Deliver(ctx context.Context, n Notice) error {
	n = n.Tidy()
	return m.Send(ctx, n.ID, "["+n.Kind+"] "+n.Title, n.text())
}

// Send sends a mail whose Message-ID follows from id.
func (m *Mail) Send(ctx context.Context, id, subject, text string) error {
	raw, err := message(m.from, m.to, id, subject, schemas.Clean(text), m.now())
	if err != nil {
		return &Refused{"a mail can't be written: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := m.dial(ctx)
	if err != nil {
		return fmt.Errorf("the mail server %s: %w", m.cfg.Server, err)
	}
	defer c.Close()
	if err := m.give(c, raw); err != nil {
		return fmt.Errorf("the mail server %s: %w", m.cfg.Server, err)
	}
	_ = c.Quit() // it has the mail, whatever it says now
	return nil
}

// dial opens a session: encrypted and logged in, as is configured.
func (m *Mail) dial(ctx context.Context) (*smtp.Client, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.cfg.Server)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		raw.Close()
		return nil, err
	}
	var conn net.Conn = &bounded{Conn: raw, left: maxReplies}
	if m.cfg.TLS == config.TLSAlways {
		conn = tls.Client(conn, m.tls)
	}
	c, err := smtp.NewClient(conn, m.tls.ServerName)
	if err != nil {
		raw.Close()
		return nil, err
	}
	if err := m.login(c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (m *Mail) login(c *smtp.Client) error {
	if name, err := os.Hostname(); err == nil && !strings.ContainsAny(name, " \r\n") {
		if err := c.Hello(name); err != nil {
			return err
		}
	}
	if m.cfg.TLS == config.TLSStart {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return errors.New("it offers no STARTTLS: write notify.smtp.tls: tls with its port for it, or ask who runs it")
		}
		if err := c.StartTLS(m.tls); err != nil {
			return err
		}
	}
	if m.cfg.Username == "" {
		return nil
	}
	if err := c.Auth(smtp.PlainAuth("", m.cfg.Username, m.password, m.tls.ServerName)); err != nil {
		return fmt.Errorf("log in as %s: %w", m.cfg.Username, err)
	}
	return nil
}

// give hands a mail over. That the server won't have any recipient, or this sender, is
// about the target; what it says to the mail itself is about the mail. Where it has some
// recipients only, those get it.
func (m *Mail) give(c *smtp.Client, raw []byte) error {
	if err := c.Mail(m.from); err != nil {
		return fmt.Errorf("the sender %s: %w", m.from, err)
	}
	var refused error
	taken := 0
	for _, to := range m.to {
		err := c.Rcpt(to)
		switch {
		case err == nil:
			taken++
		case forGood(err):
			refused = errors.Join(refused, fmt.Errorf("the recipient %s: %w", to, err))
		default:
			return fmt.Errorf("the recipient %s: %w", to, err)
		}
	}
	if taken == 0 {
		return refused
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	if err := w.Close(); forGood(err) {
		return &Refused{"it refuses the mail: " + err.Error()}
	} else if err != nil {
		return err
	}
	return nil
}

// forGood tells whether a server's answer holds whenever it is asked.
func forGood(err error) bool {
	var t *textproto.Error
	return errors.As(err, &t) && t.Code >= 500
}

// bounded is a connection from which no more is read than was allowed.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it says more than %d bytes: %w", maxReplies, io.ErrUnexpectedEOF)
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
