package config

import (
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"tributary/schemas"
)

// minDigest is the least time between two digests.
const minDigest = time.Minute

func (d *decoder) checkNotify(n Notify) {
	var ids []string
	mails := n.WeeklySummaries
	for i, t := range n.Targets {
		at := item("notify.targets", i)
		switch {
		case !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`).MatchString(t.ID):
			d.problem(at+".id", "%q is no id: write small letters, digits, _ and -, up to 32 of them", t.ID)
		case slices.Contains(ids, t.ID):
			d.problem(at+".id", "%q is the id of another target too: choose another", t.ID)
		}
		ids = append(ids, t.ID)
		mails = mails || len(t.Mail) > 0
		d.checkTarget(at, t)
	}
	if mails || n.SMTP.Server != "" {
		d.checkSMTP(n.SMTP)
	}
	for i, r := range n.Rules {
		d.checkRule(item("notify.rules", i), r, ids)
	}
	d.known("notify.watchdog.to", n.Watchdog.To, ids)
	d.webAddress("notify.watchdog.heartbeat", n.Watchdog.Heartbeat)
}

func (d *decoder) checkTarget(at string, t NotifyTarget) {
	if (t.Webhook == "") == (len(t.Mail) == 0) {
		d.problem(at, "is either a webhook or mail: write one of both")
		return
	}
	if t.Webhook != "" {
		d.webAddress(at+".webhook", t.Webhook)
		if t.Secret == "" {
			d.problem(at+".secret", "is missing, so nobody could tell whose messages they are: write file:PATH or env:NAME")
		}
		d.isReference(at+".secret", t.Secret)
		d.readable(at+".ca_file", t.CAFile)
		if t.Digest != 0 {
			d.problem(at+".digest", "is for mail: take it out, or write mail in place of webhook")
		}
		return
	}
	if t.Secret != "" || t.CAFile != "" {
		d.problem(at+".secret", "is for a webhook, as is ca_file: take them out")
	}
	for j, a := range t.Mail {
		d.mailAddress(item(at+".mail", j), a)
	}
	if t.Digest != 0 && t.Digest.D() < minDigest {
		d.problem(at+".digest", "is too short: write 1m or more, or take it out for a mail each")
	}
}

func (d *decoder) checkSMTP(s SMTP) {
	if s.Server == "" {
		d.problem("notify.smtp.server", "is missing, though somebody is sent mail: write host:port")
		return
	}
	d.address("notify.smtp.server", s.Server)
	d.mailAddress("notify.smtp.from", s.From)
	d.oneOf("notify.smtp.tls", s.TLS, TLSStart, TLSAlways, TLSNone)
	if host, _, err := net.SplitHostPort(s.Server); err == nil && s.TLS == TLSNone && !loopback(host) {
		d.problem("notify.smtp.tls", "none is for a server of this machine, and %s is none: write starttls or tls", host)
	}
	if (s.Username == "") != (s.Password == "") {
		d.problem("notify.smtp.username", "goes with notify.smtp.password: give both, or neither")
	}
	d.isReference("notify.smtp.password", s.Password)
	d.readable("notify.smtp.ca_file", s.CAFile)
}

func (d *decoder) checkRule(at string, r NotifyRule, targets []string) {
	d.oneOf(at+".when", r.When, NotifyKinds()...)
	if len(r.To) == 0 {
		d.problem(at+".to", "names no target: write ids of notify.targets")
	}
	d.known(at+".to", r.To, targets)
	switch {
	case r.When != PhaseReached && r.Phase != "":
		d.problem(at+".phase", "is for when: phase_reached: take it out")
	case r.When == PhaseReached && schemas.Phase(r.Phase).ID() == 0:
		var phases []string
		for _, p := range schemas.Phases() {
			phases = append(phases, string(p))
		}
		d.problem(at+".phase", "%q is no phase: write one of %s", r.Phase, strings.Join(phases, ", "))
	}
}

// known refuses what is not the id of a target.
func (d *decoder) known(at string, ids, targets []string) {
	for _, id := range ids {
		if !slices.Contains(targets, id) {
			d.problem(at, "%q is the id of no target: add it to notify.targets, or correct it", id)
		}
	}
}

// webAddress refuses what is neither an address by HTTP nor a reference to one. What it
// is may be a secret, and is not told.
func (d *decoder) webAddress(at string, s Secret) {
	if s == "" || s.IsReference() {
		return
	}
	u, err := url.Parse(string(s))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		d.problem(at, "is no address: write https://host/path, or file:PATH or env:NAME of it")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.problem(at, "holds more than host and path: write file:PATH or env:NAME of it")
	}
}

func (d *decoder) mailAddress(at, text string) {
	if _, err := mail.ParseAddress(text); err != nil || strings.ContainsAny(text, "\r\n") {
		d.problem(at, "%q is no address: write one such as data@example.org", text)
	}
}
