package notice_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/test/receiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is a reference to a text.
func secret(t *testing.T, text string) config.Secret {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Secret("file:" + path)
}

func webhook(t *testing.T, url string) *notice.Webhook {
	t.Helper()
	w, err := notice.NewWebhook(config.NotifyTarget{ID: "ops", Webhook: config.Secret(url), Secret: secret(t, receiver.Secret)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func mailTo(t *testing.T, b *receiver.Mailbox, tls string, to ...string) *notice.Mail {
	t.Helper()
	m, err := notice.NewMail(to, config.SMTP{Server: b.Addr, TLS: tls, Username: b.Username, Password: secret(t, b.Password), From: "tributary@example.org", CAFile: b.CA})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func failed() notice.Notice {
	return notice.Notice{ID: "8a9c9b8e-0000-5000-8000-000000000000", Kind: "file_failed", Time: time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC),
		Title: "add/a.zip failed in xsd: xsd_invalid", Data: notice.Data{File: "add/a.zip", Centre: "H", Phase: "xsd", Exception: "xsd_invalid", Message: "line 3"}}
}

// hostile is a notice all of whose texts try what texts of others may: to begin a header,
// to be markup, to turn the direction, to ring the bell, to be long.
func hostile() notice.Notice {
	bad := "a\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>\x00\x1b[2J\u202e" + strings.Repeat("é", 2500) + "\xff.zip"
	n := failed()
	n.Title, n.Data.File, n.Data.Message, n.Data.Centre, n.Data.Document = bad, "add/"+bad, bad, bad, bad
	return n
}

// A webhook is told who says it, what, and about which file. The receiver checks the
// signature.
func TestWebhook(t *testing.T) {
	h := receiver.NewHook(t)
	if err := webhook(t, h.URL).Deliver(t.Context(), failed()); err != nil {
		t.Fatal(err)
	}
	want := []receiver.Told{{ID: failed().ID, Type: "file_failed", File: "add/a.zip",
		Raw: `{"type":"file_failed","timestamp":"2026-11-26T20:00:00Z","data":{"title":"add/a.zip failed in xsd: xsd_invalid","message":"line 3","centre":"H","file":"add/a.zip","phase":"xsd","exception":"xsd_invalid"}}`}}
	got := h.Told()
	for i := range got {
		got[i].Data = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What an answer is taken for: delivered, about the notice, or about the target.
func TestWebhookAnswers(t *testing.T) {
	h := receiver.NewHook(t)
	w := webhook(t, h.URL)
	for code, want := range map[int]string{200: "", 204: "", 301: "target", 302: "target", 400: "notice", 401: "target", 404: "target", 410: "target", 413: "notice", 422: "notice", 429: "target", 500: "target", 503: "target"} {
		h.Answer(func(receiver.Told) int { return code })
		tries := h.Tries()
		err := w.Deliver(t.Context(), failed())
		got := ""
		if notice.IsRefused(err) {
			got = "notice"
		} else if err != nil {
			got = "target"
		}
		if got != want || h.Tries() != tries+1 {
			t.Errorf("%d is about %q, want %q; %d requests came: %v", code, got, want, h.Tries()-tries, err)
		}
	}
}

// An error tells nobody the address, which may be a secret.
func TestNoErrorTellsTheAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	err = webhook(t, "http://"+l.Addr().String()+"/hunter2").Deliver(t.Context(), failed())
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
	p, err := notice.NewPing(config.Secret("http://" + l.Addr().String() + "/hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	if err = p.Send(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	for _, text := range []string{"hunter2", "whsec_aHVudGVyMg==", "!"} {
		_, err := notice.NewWebhook(config.NotifyTarget{Webhook: "https://localhost/x", Secret: secret(t, text)})
		if err == nil || !strings.Contains(err.Error(), "openssl rand") || strings.Contains(err.Error(), text) && len(text) > 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := notice.NewWebhook(config.NotifyTarget{Webhook: secret(t, "ftp://host/x"), Secret: secret(t, receiver.Secret)}); err == nil {
		t.Error("an address that is none is taken")
	}
}

// Mail goes encrypted, logged in, to all, and says what it is about.
func TestMail(t *testing.T) {
	for mode, always := range map[string]bool{config.TLSStart: false, config.TLSAlways: true} {
		b := receiver.NewMailbox(t, always)
		if err := mailTo(t, b, mode, "A <a@example.org>", "b@example.org").Deliver(t.Context(), failed()); err != nil {
			t.Fatal(err)
		}
		got := b.Letters()
		if len(got) != 1 {
			t.Fatalf("%d mails came", len(got))
		}
		l := got[0]
		if diff := cmp.Diff([]string{"a@example.org", "b@example.org"}, l.To); diff != "" {
			t.Error(diff)
		}
		want := "add/a.zip failed in xsd: xsd_invalid\n\nCentre     H\nFile       add/a.zip\nPhase      xsd\nException  xsd_invalid\nWhen       2026-11-26T20:00:00Z\n\nline 3\n\nMore: tributary show 'add/a.zip'\n\n-- \nTo get no more of these, write so to tributary@example.org.\n"
		if diff := cmp.Diff(want, l.Text); diff != "" {
			t.Error(diff)
		}
		if l.Subject != "[file_failed] add/a.zip failed in xsd: xsd_invalid" || l.Header.Get("Message-ID") != "<"+failed().ID+"@example.org>" || l.Header.Get("From") != "tributary@example.org" || l.Header.Get("List-Unsubscribe") != "<mailto:tributary@example.org?subject=unsubscribe>" {
			t.Errorf("header is %v", l.Header)
		}
	}
}

// A notice leads to the page about it, whatever its names are, and in mails to that alone.
func TestNoticesLeadToPages(t *testing.T) {
	for want, d := range map[string]notice.Data{
		"/files/add/a%2F%3Fb%20%E2%80%AE.zip/documents/%3Cx%3E.xml": {File: "add/a/?b \u202e.zip", Document: "<x>.xml", Source: "s"},
		"/files/edit/a.zip": {File: "edit/a.zip", Centre: "H"}, "/sources/ics-ftp": {Source: "ics-ftp", Centre: "Ics"}, "/centres/H": {Centre: "H"}, "/": {},
	} {
		if got := d.Path(); got != want {
			t.Errorf("%+v: %s, want %s", d, got, want)
		}
		n := notice.Notice{Data: d}.At("https://h.example/t")
		if n.Data.URL != "https://h.example/t"+want || n.Tidy().Data.URL != n.Data.URL {
			t.Errorf("%+v leads to %s", d, n.Data.URL)
		}
	}
	if u := failed().At("").Data.URL; u != "" {
		t.Errorf("where nobody knows the pages, it leads to %s", u)
	}
	long := failed()
	if long.Data.File = "add/" + strings.Repeat("é", 2000); long.At("https://h.example").Data.URL != "" {
		t.Error("an address that nothing takes is given")
	}
	b := receiver.NewMailbox(t, false)
	if err := mailTo(t, b, config.TLSStart, "a@example.org").Deliver(t.Context(), failed().At("https://h.example")); err != nil {
		t.Fatal(err)
	}
	if text := b.Letters()[0].Text; !strings.Contains(text, "\nMore: https://h.example/files/add/a.zip\n") || strings.Contains(text, "tributary show") {
		t.Errorf("the mail says\n%s", text)
	}
}

// A server that offers no encryption is told nothing, nor is one whose certificate
// nobody vouches for.
func TestMailIsEncrypted(t *testing.T) {
	b := receiver.NewMailbox(t, false)
	b.Answer(func(command string) string {
		if strings.HasPrefix(command, "EHLO") {
			return "250 AUTH PLAIN"
		}
		return ""
	})
	if err := mailTo(t, b, config.TLSStart, "a@example.org").Deliver(t.Context(), failed()); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("without STARTTLS: %v", err)
	}
	b.Answer(nil)
	b.CA = ""
	if err := mailTo(t, b, config.TLSStart, "a@example.org").Deliver(t.Context(), failed()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with an unknown certificate: %v", err)
	}
	if n := len(b.Letters()); n != 0 {
		t.Errorf("%d mails came", n)
	}
}

// What a mail server says is about the mail only where it has seen it.
func TestMailAnswers(t *testing.T) {
	b := receiver.NewMailbox(t, false)
	m := mailTo(t, b, config.TLSStart, "a@example.org", "b@example.org")
	for _, tt := range []struct{ command, answer, want string }{
		{"MAIL", "550 no", "target"}, {"RCPT TO:<a@", "451 later", "target"}, {"RCPT", "550 no", "target"}, {"AUTH", "535 no", "target"},
		{"END", "554 spam", "notice"}, {"END", "451 later", "target"}, {"RCPT TO:<a@", "550 no", ""},
		{"EHLO", "250-" + strings.Repeat("x", 100<<10), "target"},
	} {
		b.Answer(func(command string) string {
			if strings.HasPrefix(command, tt.command) {
				return tt.answer
			}
			return ""
		})
		err := m.Deliver(t.Context(), failed())
		got := ""
		if notice.IsRefused(err) {
			got = "notice"
		} else if err != nil {
			got = "target"
		}
		if got != tt.want {
			t.Errorf("%s answered with %s is about %q, want %q: %v", tt.command, tt.answer[:6], got, tt.want, err)
		}
	}
	if got := b.Letters(); len(got) != 1 || len(got[0].To) != 1 || got[0].To[0] != "b@example.org" {
		t.Errorf("mails that came: %+v", got)
	}
}

// Names and messages of others do no harm: they begin no header, stand on their line,
// and hold nothing that a terminal or a browser obeys.
func TestHostileTexts(t *testing.T) {
	h, b := receiver.NewHook(t), receiver.NewMailbox(t, false)
	for _, target := range []notice.Target{webhook(t, h.URL), mailTo(t, b, config.TLSStart, "a@example.org")} {
		if err := target.Deliver(t.Context(), hostile()); err != nil {
			t.Fatal(err)
		}
	}
	raw, l := h.Told()[0].Raw, b.Letters()[0]
	if strings.ContainsAny(raw, "<>\x00\x1b\u202e") || !json.Valid([]byte(raw)) || !utf8.ValidString(raw) || len(raw) > 64<<10 {
		t.Errorf("the webhook got %d bytes: %.300q", len(raw), raw)
	}
	header, _, _ := strings.Cut(l.Raw, "\r\n\r\n")
	var names []string
	for _, text := range strings.Split(header, "\r\n") {
		if len(text) > 200 {
			t.Errorf("a line of the header has %d bytes", len(text))
		}
		if name, _, ok := strings.Cut(text, ":"); ok && !strings.HasPrefix(text, " ") {
			names = append(names, name)
		}
	}
	if diff := cmp.Diff([]string{"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "List-Unsubscribe", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"}, names); diff != "" {
		t.Error(diff)
	}
	if strings.ContainsAny(l.Text+l.Subject, "\x00\x1b\u202e\r") || regexp.MustCompile(`[^\x09\x0a\x0d\x20-\x7e]`).MatchString(l.Raw) || !strings.HasPrefix(l.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("the mail is %.400q", l.Raw)
	}
	if n := strings.Count(l.Text, "\nBcc: "); n != 1 { // the message has lines, and says so below the particulars
		t.Errorf("%d lines of the text begin like a header", n)
	}
}

// A delivery ends when it is told to, whatever the other side does.
func TestDeliveryEnds(t *testing.T) {
	wait := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-wait }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(wait) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := webhook(t, s.URL).Deliver(ctx, failed()); err == nil {
		t.Error("it was delivered")
	}
}
