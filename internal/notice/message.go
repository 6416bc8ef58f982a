package notice

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"strings"
	"time"
)

// end is how each mail ends: for who is told something that is of no use to them.
const end = "\n-- \nTo get no more of these, write so to %s.\n"

// message is a mail as it is sent: plain text, whatever stands in it. A name can begin
// no header, since headers are encoded words, and no markup, since there is none.
func message(from string, to []string, id, subject, text string, now time.Time) ([]byte, error) {
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", from}, {"To", strings.Join(to, ",\r\n ")}, {"Subject", encoded(subject)},
		{"Date", now.Format(time.RFC1123Z)}, {"Message-ID", "<" + id + "@" + domain(from) + ">"},
		{"Auto-Submitted", "auto-generated"}, {"List-Unsubscribe", "<mailto:" + url.PathEscape(from) + "?subject=unsubscribe>"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := io.WriteString(w, strings.ReplaceAll(text+fmt.Sprintf(end, from), "\n", "\r\n")); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// encoded is a header's text as encoded words where it is not plain, on lines of their own.
func encoded(text string) string {
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", line(text, maxTitle)), "?= =?", "?=\r\n =?")
}

func domain(address string) string {
	a, err := mail.ParseAddress(address)
	if err != nil {
		return "localhost"
	}
	return a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}

// text is a notice for people.
func (n Notice) text() string {
	var b strings.Builder
	b.WriteString(n.Title + "\n\n")
	d := n.Data
	for _, f := range [][2]string{{"Centre", d.Centre}, {"Source", d.Source}, {"File", d.File}, {"Document", d.Document}, {"Phase", d.Phase}, {"Exception", d.Exception}, {"Run", d.Run}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", f[0], f[1])
		}
	}
	fmt.Fprintf(&b, "%-10s %s\n", "When", n.Time.UTC().Format(time.RFC3339))
	if d.Message != "" {
		b.WriteString("\n" + d.Message + "\n")
	}
	switch {
	case d.URL != "":
		b.WriteString("\nMore: " + d.URL + "\n")
	case d.File != "":
		fmt.Fprintf(&b, "\nMore: tributary show %s\n", quoted(d.File))
	}
	return b.String()
}

// quoted is an argument as a shell takes it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
