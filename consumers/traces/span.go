package traces

import (
	"crypto/sha256"
	"net"
	"strconv"
	"time"

	"tributary/schemas"
)

// span is one span of a trace, as it is exported.
type span struct {
	trace      [16]byte
	id, parent [8]byte // the root has no parent
	name       string
	client     bool // it waited for another machine
	start, end time.Time
	failed     string // the exception's stable name; empty: it did not fail
	message    string // of the exception
	attributes []attribute
}

// attribute has a text, or else a number.
type attribute struct {
	key, text string
	number    int64
}

// maxText bounds what an attribute holds of others' texts, in bytes. They are
// clean, since events are cleaned where they are decoded.
const maxText = 1 << 10

// spanID follows from what the span is about. An event that comes again, to
// whatever member, makes the same span.
func spanID(trace [16]byte, parts ...string) [8]byte {
	sum := sha256.Sum256([]byte(schemas.ID(append([]string{"span", string(trace[:])}, parts...)...)))
	id := [8]byte(sum[:8])
	id[7] |= 1 // all zeros is no id
	return id
}

// subject is whose spans an event makes: a file, an attempt or a document of it.
type subject struct {
	event *schemas.StatusChanged
	id    string    // of the event
	stage string    // that told it
	at    time.Time // when it was told
	trace [16]byte
}

func subjectOf(m schemas.Message, e *schemas.StatusChanged) subject {
	return subject{event: e, id: m.ID, stage: m.Stage, at: m.Time.UTC(), trace: schemas.TraceID(e.Run, e.Session, e.File)}
}

func (s subject) root() [8]byte { return schemas.RootSpanID(s.trace) }

// attempt is a span of an attempt that had the outcome, or waits for it.
func (s subject) attempt(name, outcome string) [8]byte {
	return spanID(s.trace, name, strconv.Itoa(int(s.event.Attempt)), outcome)
}

// document is a span of the document. Data checks come again with a number.
func (s subject) document(name string) [8]byte {
	e := s.event
	return spanID(s.trace, name, strconv.Itoa(int(e.Attempt)), e.Outcome, e.Document, strconv.Itoa(int(e.Check)))
}

// reading is the span of all that is done with a document: its first phase, which
// no data check repeats.
func (s subject) reading() [8]byte {
	e := s.event
	return spanID(s.trace, string(schemas.XMLName), strconv.Itoa(int(e.Attempt)), e.Outcome, e.Document, "0")
}

// span is one of the subject, with what all of a trace's spans say.
func (s subject) span(id, parent [8]byte, name string, start, end time.Time) span {
	e := s.event
	return span{trace: s.trace, id: id, parent: parent, name: name, start: start, end: end, attributes: attributes(
		attribute{key: "file.name", text: e.FileName}, attribute{key: "tributary.file.id", text: e.File}, attribute{key: "tributary.action", text: e.Action},
		attribute{key: "tributary.run", text: e.Run}, attribute{key: "tributary.session", text: e.Session}, attribute{key: "tributary.centre", text: e.Centre},
		attribute{key: "tributary.attempt", number: int64(e.Attempt)}, attribute{key: "tributary.document.name", text: e.Entry},
	)}
}

// outcomeSpan is a span of which the event tells how it ended.
func (s subject) outcomeSpan(id, parent [8]byte, name string, start, end time.Time) span {
	e, out := s.event, s.span(id, parent, name, start, end)
	out.attributes = append(out.attributes, attributes(
		attribute{key: "tributary.stage", text: s.stage}, attribute{key: "tributary.event.id", text: s.id},
		attribute{key: "tributary.source", text: e.Source}, attribute{key: "tributary.phase", text: e.Phase}, attribute{key: "tributary.status", text: e.Status},
		attribute{key: "tributary.note", text: e.Note}, attribute{key: "tributary.version", text: e.VersionOf}, attribute{key: "file.size", number: e.FileSize},
		attribute{key: "tributary.bytes", number: e.Bytes}, attribute{key: "tributary.rows", number: e.Rows}, attribute{key: "tributary.position", number: e.Position},
		attribute{key: "tributary.errors", number: int64(e.ErrorsTotal)},
	)...)
	if e.Status == string(schemas.Failed) {
		out.failed, out.message = schemas.Cut(e.Exception, maxText), schemas.Cut(e.Message, maxText)
		if out.failed == "" {
			out.failed = "_OTHER" // as the semantic conventions call what has no name
		}
	}
	return out
}

// attributes are those that say something.
func attributes(all ...attribute) []attribute {
	out := make([]attribute, 0, len(all))
	for _, a := range all {
		if a.text != "" || a.number != 0 {
			a.text = schemas.Cut(a.text, maxText)
			out = append(out, a)
		}
	}
	return out
}

// server is the machine of others that was waited for.
func server(address string) []attribute {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return attributes(attribute{key: "server.address", text: address})
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		number = 0
	}
	return attributes(attribute{key: "server.address", text: host}, attribute{key: "server.port", number: int64(number)})
}
