package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tributary/internal/screen"
)

// WriteText writes the status for people, with ages as of now.
func (s Status) WriteText(w io.Writer, now time.Time) error {
	p := &printer{w: w}
	if s.Session != nil {
		state := "open since " + moment(s.Opened)
		if s.Closed != nil {
			state = "closed at " + moment(s.Closed)
		}
		p.printf("session %d, %s\n\n", *s.Session, state)
	}
	p.counts("files", s.Files)
	p.counts("documents", s.Documents)
	p.printf("last %d minutes: %.1f files a minute, %.1f documents a minute, %.0f bytes a second\n", s.Rates.Minutes, s.Rates.Files, s.Rates.Documents, s.Rates.Bytes)
	if s.Dormant != "" {
		p.printf("acquisition: %s\n", s.Dormant)
	}
	p.suspended(s.Suspended)
	p.late(s.Late)
	for _, o := range s.Outboxes {
		if o.Waiting > 0 {
			p.printf("publishing: %d events wait in %s.outbox, the oldest for %s\n", o.Waiting, o.Schema, age(time.Duration(o.Oldest*float64(time.Second))))
		}
		if o.Letters > 0 {
			p.printf("publishing: %d events of %s.outbox can't be published and wait for you: see tributary dlq list --group %s.outbox\n", o.Letters, o.Schema, o.Schema)
		}
	}
	if s.Insertion != "" {
		p.printf("insertion: has stopped for all centres: %s: see docs/how-to/pass-over-a-record.md\n", s.Insertion)
	}
	if s.LogAlarm != "" {
		p.printf("broker: %s\n", s.LogAlarm)
	}
	if s.Odd > 0 {
		p.printf("%d records of the event log could not be read: see tracker.unreadable\n", s.Odd)
	}
	p.transfers(s.Transfers, now)
	if s.Pending == 0 {
		p.printf("nothing is pending\n")
		return p.err
	}
	p.printf("\n%d files pending, the oldest:\n", s.Pending)
	rows := make([][]string, len(s.Oldest))
	for i, f := range s.Oldest {
		rows[i] = []string{f.Action + "/" + f.File, f.Phase, f.Status, age(now.Sub(f.Since)), f.Reason}
	}
	p.table([]string{"file", "phase", "status", "age", "reason"}, rows)
	return p.err
}

// age is a duration as people say it: the two greatest units.
func age(d time.Duration) string {
	d = max(d, 0)
	days, hours, minutes, seconds := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm%ds", minutes, seconds)
	}
	return fmt.Sprintf("%ds", seconds)
}

// WriteText writes the story for people.
func (s Story) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.printf("%s/%s\n", s.Action, screen.Line(s.File.File))
	p.field("stands at", s.Phase+", "+s.Status)
	p.field("exception", text(s.Exception))
	p.field("message", text(s.Message))
	p.field("centre", text(s.Centre))
	p.field("source", text(s.Source))
	p.field("version", text(s.Version))
	p.field("size", number(s.Size))
	for _, o := range s.SameBytes {
		p.field("same bytes", fmt.Sprintf("%s/%s, received %s", o.Action, o.File, moment(&o.Received)))
	}
	if s.Priority != nil {
		p.field("priority", strings.TrimSuffix(fmt.Sprintf("%d, given by %s: %s", s.Priority.Priority, s.Priority.By, s.Priority.Reason), ": "))
	}
	p.field("first seen", moment(&s.FirstSeen))
	p.field("last event", moment(s.Last))
	if len(s.Hostings) > 0 {
		p.printf("\nhosted by\n")
		var rows [][]string
		for _, h := range s.Hostings {
			rows = append(rows, []string{h.Source, text(h.State), fmt.Sprint(h.Look), number(h.Size), moment(h.ModTime), moment(h.ListedAt), fmt.Sprint(h.Retries), text(h.Note)})
		}
		p.table([]string{"source", "state", "look", "size", "modified", "listed", "retries", "note"}, rows)
		for _, h := range s.Hostings {
			if h.Message != nil && text(h.Message) != text(s.Message) { // else it is said above
				p.printf("  %s: %s\n", screen.Line(h.Source), screen.Line(*h.Message))
			}
			for _, name := range slices.Sorted(maps.Keys(h.Attributes)) {
				p.printf("  %s says %s: %s\n", screen.Line(h.Source), screen.Line(name), screen.Line(h.Attributes[name]))
			}
		}
	}
	if len(s.Versions) > 1 {
		p.printf("\nversions\n")
		var rows [][]string
		for _, v := range s.Versions {
			current := ""
			if v.Current {
				current = "current"
			}
			rows = append(rows, []string{short(&v.SHA256), number(v.Size), moment(&v.Received), current})
		}
		p.table([]string{"sha256", "size", "received", ""}, rows)
	}
	s.writeTries(p)
	s.writeDocuments(p)
	return p.err
}

func (s Story) writeTries(p *printer) {
	if len(s.Tries) == 0 {
		return
	}
	p.printf("\nattempts\n")
	var rows [][]string
	for _, a := range s.Tries {
		mark := ""
		if a.Shown {
			mark = "*"
		}
		rows = append(rows, []string{fmt.Sprint(a.Attempt) + mark, text(a.Source), a.Phase, a.Status, moment(a.Requested), moment(a.Received), fmt.Sprint(a.Bytes), speedText(a.Speed()), short(a.SHA256), text(a.Note)})
	}
	p.table([]string{"attempt", "source", "phase", "status", "requested", "received", "bytes", "bytes/s", "sha256", "note"}, rows)
	for _, a := range s.Tries {
		for _, l := range a.Log {
			who := "reported"
			if l.Judged {
				who = "judged"
			}
			p.printf("  attempt %d %s (%s, %s) %s: %s\n", a.Attempt, who, l.Phase, l.Status, screen.Line(l.Exception), screen.Line(text(l.Message)))
		}
		if a.From != nil {
			p.printf("  attempt %d went on at byte %d\n", a.Attempt, *a.From)
		}
		if a.Request != nil || a.Response != nil {
			p.printf("  attempt %d asked: %s\n  attempt %d was answered: %s\n", a.Attempt, screen.Line(text(a.Request)), a.Attempt, screen.Line(text(a.Response)))
		}
	}
}

func (s Story) writeDocuments(p *printer) {
	if len(s.Documents) == 0 {
		return
	}
	p.printf("\ndocuments\n")
	for _, d := range s.Documents {
		p.printf("  %s (%s, %s)\n", screen.Line(d.Document), d.Phase, d.Status)
		for _, e := range d.Errors {
			p.printf("    %s\n", screen.Line(e.String()))
		}
	}
}

// printer writes text and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) field(name, value string) {
	if value != "" {
		p.printf("  %-11s %s\n", name, screen.Line(value))
	}
}

func (p *printer) counts(what string, counts []Count) {
	if len(counts) == 0 {
		p.printf("no %s yet\n\n", what)
		return
	}
	total := int64(0)
	rows := make([][]string, len(counts))
	for i, c := range counts {
		total += c.Count
		rows[i] = []string{c.Phase, c.Status, fmt.Sprint(c.Count)}
	}
	p.printf("%d %s\n", total, what)
	p.table([]string{"phase", "status", "count"}, rows)
	p.printf("\n")
}

func (p *printer) table(header []string, rows [][]string) {
	if p.err != nil {
		return
	}
	o, err := NewOutput(p.w, Table, header...)
	if err != nil {
		p.err = err
		return
	}
	for _, r := range rows {
		if err := o.Row(nil, r...); err != nil {
			p.err = err
			return
		}
	}
	p.err = o.Close()
}
