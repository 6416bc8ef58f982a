package deadletter

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"tributary/internal/kafka"
	"tributary/internal/screen"
	"tributary/schemas"
	"tributary/topics"
)

// Story is all that is known of a dead letter.
type Story struct {
	Row
	First    time.Time     `json:"first_failure,omitzero"`
	Last     time.Time     `json:"last_failure,omitzero"`
	Stack    string        `json:"stack,omitempty"`
	Original origin        `json:"original"`
	Headers  []header      `json:"headers"`
	Event    *topics.Event `json:"event,omitempty"`
	Bytes    string        `json:"bytes,omitempty"` // the first of an unreadable record, in hexadecimal
	about    string
	became   string // of an event of an outbox
}

type origin struct {
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Time      time.Time `json:"time,omitzero"`
}

type header struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// maxBytesShown bounds what is shown of a record that cannot be read.
const maxBytesShown = 256

// maxValueShown bounds what is shown of one value of an event, in bytes.
const maxValueShown = 4096

// Tell tells all that is known of a letter.
func (d *Ledger) Tell(l *Standing) Story {
	s := Story{Row: l.Row(), First: l.First, Last: l.Last, Stack: l.Stack, Headers: []header{}, about: l.Subject(),
		Original: origin{l.Topic, l.OriginPartition, l.OriginOffset, l.OriginTime}}
	if l.Outboxed != nil {
		s.became = l.Outboxed.became()
	}
	if l.Record == nil {
		return s
	}
	for _, h := range l.Record.Headers {
		if h.Key == kafka.HeaderStack {
			continue
		}
		s.Headers = append(s.Headers, header{strings.ToValidUTF8(h.Key, "\uFFFD"), strings.ToValidUTF8(string(h.Value), "\uFFFD")})
	}
	if l.Problem != "" {
		s.Bytes = hex.EncodeToString(l.Record.Value[:min(len(l.Record.Value), maxBytesShown)])
		return s
	}
	e := topics.Decode(d.Reader.Codec, l.Record)
	e.Topic, e.Partition, e.Offset = s.Original.Topic, s.Original.Partition, s.Original.Offset
	s.Event = &e
	return s
}

// WriteText writes the story for people. Whatever others wrote is kept from
// writing control sequences to a terminal.
func (s Story) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, screen.Line(fmt.Sprintf(format, args...)))
	}
	line(s.ID, "%s", s.about)
	if !s.Time.IsZero() {
		line("given up", "%s by %s after %d attempts, first failure %s, last %s", s.Time.Format(time.RFC3339), s.Stage, s.Attempts, s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	line("cause", "%s: %s", s.Exception, s.Error)
	if s.became != "" {
		line("became", "%s", s.became)
	} else {
		line("original", "%s, partition %d, offset %d, written %s", s.Original.Topic, s.Original.Partition, s.Original.Offset, s.Original.Time.Format(time.RFC3339))
	}
	line("state", "%s", s.State)
	if r := s.Replayed; r != nil {
		line("retried", "%s by %s as attempt %d: %s", r.At.Format(time.RFC3339), r.By, s.NewAttempt, reasonOr(r.Reason))
	}
	if d := s.Dropped; d != nil {
		line("dropped", "%s by %s: %s", d.At.Format(time.RFC3339), d.By, reasonOr(d.Reason))
	}
	if s.Deaths > 0 {
		line("deaths", "%d retries died of the same cause", s.Deaths)
	}
	if s.File != "" {
		line("file", "tributary show %s/%s tells where it stands", s.Action, s.File)
	}
	for _, h := range s.Headers {
		line("header", "%s: %s", h.Key, h.Value)
	}
	for l := range strings.SplitSeq(s.Stack, "\n") {
		if l != "" {
			line("stack", "%s", l)
		}
	}
	switch {
	case s.Problem != "":
		line("event", "unreadable: %s", s.Problem)
		line("bytes", "%s", s.Bytes)
	case s.Event != nil:
		for _, f := range s.Event.Body {
			text, err := json.Marshal(f.Value)
			if err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
			line("event", "%s: %s", f.Name, schemas.Cut(string(text), maxValueShown))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func reasonOr(reason string) string {
	if reason == "" {
		return "no reason was given"
	}
	return reason
}
