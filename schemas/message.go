package schemas

import (
	"errors"
	"fmt"
	"time"
)

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Record is an encoded event: what goes through an outbox or to Kafka. Topic
// is the name without prefix and version.
type Record struct {
	Topic   string
	Key     string
	Value   []byte
	Headers []Header
}

// Message is an event before encoding, or after decoding.
type Message struct {
	ID          string // EventID of its cause
	Topic       string
	Key         string    // what keeps order: the file, document, job, domain, …
	Stage       string    // the stage that produced it
	Subject     string    // for people: action/name of the file, the document, the source
	Time        time.Time // when it happened, by the producer's clock
	Traceparent string    // W3C trace context; Encode names the file's trace where this is empty
	Body        any       // pointer to the topic's Go type
}

// The CloudEvents headers of binary mode, and the trace context.
const (
	headerSpec    = "ce_specversion"
	headerID      = "ce_id"
	headerType    = "ce_type"
	headerSource  = "ce_source"
	headerTime    = "ce_time"
	headerSubject = "ce_subject"
	headerContent = "content-type"
	headerTrace   = "traceparent"
)

// Encode turns a message into a record. Texts that only people read are cut where
// they are very long. An event that would have more than MaxEvent bytes all the
// same is refused with a *TooLargeError, so that nobody waits for what can never
// be published; but what only tells the log (status.changed) is cut until it fits.
func (c *Codec) Encode(m Message) (Record, error) {
	m.Body = trimmed(m.Body)
	if m.Traceparent == "" {
		m.Traceparent = traceparent(m.Body)
	}
	r, err := c.encode(m)
	if err != nil {
		return Record{}, err
	}
	if err = r.Fits(); err == nil || m.Topic != StatusChangedTopic {
		return r, err
	}
	if m.Body, err = c.shortened(m.Topic, m.Body); err != nil {
		return Record{}, err
	}
	m.ID, m.Key, m.Stage, m.Traceparent = Cut(m.ID, maxWord), Cut(m.Key, maxWord), Cut(m.Stage, maxWord), ""
	if r, err = c.encode(m); err != nil {
		return Record{}, err
	}
	return r, r.Fits()
}

func (c *Codec) encode(m Message) (Record, error) {
	value, err := c.EncodeBody(m.Topic, m.Body)
	if err != nil {
		return Record{}, err
	}
	subject := Cut(m.Subject, maxSubject)
	h := newHeaders(len(m.ID) + len(m.Topic) + len(m.Stage) + len(subject) + len(m.Traceparent))
	h.add(headerSpec, "1.0")
	h.add(headerID, m.ID)
	h.add(headerType, "tributary.", m.Topic, ".v1")
	h.add(headerSource, "/tributary/", m.Stage)
	h.moment(headerTime, m.Time)
	h.add(headerContent, "application/avro")
	if subject != "" {
		h.add(headerSubject, subject)
	}
	if m.Traceparent != "" {
		h.add(headerTrace, m.Traceparent)
	}
	return Record{Topic: m.Topic, Key: m.Key, Value: value, Headers: h.list}, nil
}

// headers are those of one record. Their values lie behind each other in one buffer:
// every event has eight, and a piece of memory for each was a twentieth of all pieces
// that the program asked for.
type headers struct {
	list []Header
	room []byte
}

// newHeaders makes room for values that have so many bytes beside what is the same of
// all events.
func newHeaders(size int) headers {
	const same = 128 // the version, prefixes, the time, the content's type
	return headers{make([]Header, 0, 8), make([]byte, 0, same+size)}
}

// add adds a header, whose value is made of parts.
func (h *headers) add(key string, parts ...string) {
	from := len(h.room)
	for _, part := range parts {
		h.room = append(h.room, part...)
	}
	h.end(key, from)
}

func (h *headers) moment(key string, t time.Time) {
	from := len(h.room)
	h.room = t.UTC().AppendFormat(h.room, time.RFC3339Nano)
	h.end(key, from)
}

// end adds what was written since from, which nobody can append to.
func (h *headers) end(key string, from int) {
	h.list = append(h.list, Header{key, h.room[from:len(h.room):len(h.room)]})
}

// ErrNoID is returned by Decode for a record without the header ce_id, which
// no reader could recognise when it comes again.
var ErrNoID = errors.New("record has no ce_id header")

// Decode turns a record into a message; its topic is that of its schema. Its
// texts are clean (see DecodeBody), but for the key, which says to what partition
// the record belongs. Beside an error the message holds what could be read: the
// body of a record that is passed over, or of which only a header is wrong.
func (c *Codec) Decode(r Record) (Message, error) {
	m := Message{Key: r.Key}
	var err error
	m.Topic, m.Body, err = c.DecodeBody(r.Value)
	if c.passed != nil {
		if passed := c.passed(r.Value); passed != nil {
			err = passed
		}
	}
	for _, h := range r.Headers {
		switch h.Key {
		case headerID:
			m.ID = cleanID(string(h.Value))
		case headerSource:
			m.Stage = cleanWord(trimStage(string(h.Value)))
		case headerSubject:
			m.Subject = bounded(string(h.Value), maxSubject)
		case headerTrace:
			m.Traceparent = cleanWord(string(h.Value))
		case headerTime:
			t, wrong := time.Parse(time.RFC3339Nano, string(h.Value))
			if wrong != nil && err == nil {
				err = fmt.Errorf("header ce_time is %q, which is no time", cleanWord(string(h.Value)))
			}
			m.Time = t.UTC()
		}
	}
	if err == nil && m.ID == "" {
		err = ErrNoID
	}
	return m, err
}

func trimStage(source string) string {
	const prefix = "/tributary/"
	if len(source) > len(prefix) && source[:len(prefix)] == prefix {
		return source[len(prefix):]
	}
	return source
}
