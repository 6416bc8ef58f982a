package schemas

import (
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// MaxEvent is how large one event may be, in bytes: topic, key, value and
// headers, with what the broker's format adds to them. It is below the largest
// batch that clients write (1,000,012) and topics accept (1,048,588), so that an
// event within it always fits into a batch of its own.
const MaxEvent = 960 << 10

// EventTooLarge is the exception of what could not be told: an event of more
// than MaxEvent bytes.
const EventTooLarge = "event_too_large"

// Bounds of texts that only people read, in bytes. What is longer is cut when an
// event is encoded, whoever made it.
const (
	maxMessage = 16 << 10  // a message, or that of one error
	maxErrors  = 512 << 10 // the messages of one event's errors together
	maxSubject = 1 << 10   // the header that names an event's subject to people
	maxWord    = 1 << 10   // any text of an event that would be too large otherwise
)

// TooLargeError says that an event has more than MaxEvent bytes: it is not
// written anywhere, since it could never be published.
type TooLargeError struct {
	Topic, ID, Subject string
	Size               int // bytes
}

// Error names the event, its size and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: the event %s of %s about %q has %d bytes, and at most %d can be published", EventTooLarge, Cut(e.ID, maxSubject), Cut(e.Topic, maxSubject), Cut(e.Subject, maxSubject), e.Size, MaxEvent)
}

// Fits returns a *TooLargeError for a record that no topic would take.
func (r Record) Fits() error {
	const framing = 12 // at most, of a header, and of a record
	size := r.Size() + framing*(len(r.Headers)+6)
	if size <= MaxEvent {
		return nil
	}
	return &TooLargeError{Topic: r.Topic, ID: r.Header(headerID), Subject: r.Header(headerSubject), Size: size}
}

// Header is the value of the first header of a name; empty if there is none.
func (r Record) Header(key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// EventID is the event's id: empty if the record names none.
func (r Record) EventID() string { return r.Header(headerID) }

// Subject is what the event is about, for people; empty if it doesn't say.
func (r Record) Subject() string { return r.Header(headerSubject) }

// Cut returns a text of at most limit bytes, of which the last say how long it
// was: whole characters are kept, as far as they are such. A limit below 40 is
// taken for 40.
func Cut(text string, limit int) string {
	if len(text) <= limit || len(text) <= 40 {
		return text
	}
	end := fmt.Sprintf("… (%d bytes)", len(text))
	n := max(limit, 40) - len(end)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + end
}

// trimmed returns the body with the texts that people read cut to their bounds.
// The body itself is not changed.
func trimmed(body any) any {
	switch b := body.(type) {
	case *StatusChanged:
		if len(b.Message) > maxMessage || len(b.Errors) > 0 {
			c := *b
			c.Message, c.Errors = Cut(b.Message, maxMessage), trimmedErrors(b.Errors)
			if len(c.Errors) < len(b.Errors) {
				c.ErrorsTotal = max(b.ErrorsTotal, int32(len(b.Errors)))
			}
			return &c
		}
	case *DownloadFinished:
		if len(b.Message) > maxMessage {
			c := *b
			c.Message = Cut(b.Message, maxMessage)
			return &c
		}
	case *UnzipFinished:
		if len(b.Message) > maxMessage {
			c := *b
			c.Message = Cut(b.Message, maxMessage)
			return &c
		}
	case *DocumentExtracted:
		if len(b.Message) > maxMessage {
			c := *b
			c.Message = Cut(b.Message, maxMessage)
			return &c
		}
	}
	return body
}

// trimmedErrors keeps as many errors as there is room for, the first ones.
func trimmedErrors(errs []ErrorDetail) []ErrorDetail {
	size, long := 0, false
	n := len(errs)
	for i, e := range errs {
		long = long || len(e.Message) > maxMessage
		size += min(len(e.Message), maxMessage) + len(e.Exception) + 16
		if size > maxErrors {
			n = i
			break
		}
	}
	if !long {
		return errs[:n:n]
	}
	out := make([]ErrorDetail, n)
	for i, e := range errs[:n] {
		e.Message = Cut(e.Message, maxMessage)
		out[i] = e
	}
	return out
}

// shortened returns a copy of the body of which every text is cut to maxWord,
// names too, and every list to what a few hundred kilobytes hold.
func (c *Codec) shortened(topic string, body any) (any, error) {
	value, err := c.EncodeBody(topic, body)
	if err != nil {
		return nil, err
	}
	_, body, err = c.DecodeBody(value)
	if err != nil {
		return nil, err
	}
	shorten(reflect.ValueOf(body).Elem())
	return body, nil
}

// Shorter returns a message of which all texts are cut, names too.
func (c *Codec) Shorter(m Message) (Message, error) {
	body, err := c.shortened(m.Topic, m.Body)
	m.Body = body
	m.ID, m.Key, m.Subject, m.Traceparent = Cut(m.ID, maxWord), Cut(m.Key, maxWord), Cut(m.Subject, maxSubject), Cut(m.Traceparent, maxWord)
	return m, err
}

// maxList is how many entries of a list are kept where it has to be cut.
const maxList = 64

func shorten(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Cut(v.String(), maxWord))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			shorten(v.Field(i))
		}
	case reflect.Slice:
		if v.Len() > maxList && v.Type() != reflect.TypeFor[[]RequestFile]() { // each of a job's files waits
			v.Set(v.Slice3(0, maxList, maxList))
		}
		for i := range v.Len() {
			shorten(v.Index(i))
		}
	case reflect.Map: // of texts to texts
		kept := reflect.MakeMap(v.Type())
		for iter := v.MapRange(); iter.Next() && kept.Len() < maxList; {
			kept.SetMapIndex(reflect.ValueOf(Cut(iter.Key().String(), maxWord)), reflect.ValueOf(Cut(iter.Value().String(), maxWord)))
		}
		v.Set(kept)
	}
}

// FailedPosition is the position that takes the place of one that can't be
// published: of the same number, about the same, with all texts cut. A document
// has failed at the upload as event_too_large; so has an operation, which is not
// done. What only ends a batch or a session, or completes a version, still does.
func (c *Codec) FailedPosition(o *DocumentOrdered) (*DocumentOrdered, error) {
	body, err := c.shortened(DocumentOrderedTopic, o)
	if err != nil {
		return nil, err
	}
	p, ok := body.(*DocumentOrdered)
	if !ok {
		return nil, fmt.Errorf("a position was read as a %T", body)
	}
	switch p.What {
	case PositionBatchEnd, PositionSession, PositionVersion:
	default:
		p.What, p.Result, p.Phase, p.Exception = PositionDocument, FailedEnd, string(Upload), EventTooLarge
	}
	return p, nil
}

// Replacement returns the record that may be published instead of one that is
// too large: the same event, with the same id and key, told in fewer words. A
// position is replaced by a failed one of the same number. It fails where that
// doesn't help: where the record is no event, or still too large.
func (c *Codec) Replacement(r Record) (Record, error) {
	m, err := c.Decode(r)
	if err != nil {
		return Record{}, err
	}
	if o, ok := m.Body.(*DocumentOrdered); ok {
		if m.Body, err = c.FailedPosition(o); err != nil {
			return Record{}, err
		}
		m.Key, m.Subject = Cut(m.Key, maxWord), Cut(m.Subject, maxSubject)
	}
	shorter, err := c.Encode(m)
	if err != nil || m.Topic != StatusChangedTopic || shorter.Size() < r.Size() {
		return shorter, err
	}
	if m, err = c.Shorter(m); err != nil { // a broker takes less than it should
		return Record{}, err
	}
	return c.Encode(m)
}
