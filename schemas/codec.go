package schemas

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/avro"
)

//go:embed avro/*.avsc
var files embed.FS

// ErrUnknownSchema is returned by Decode for a schema id that this binary does
// not hold. The record was written by a newer version: it must wait for an
// upgrade, and is never dead-lettered.
var ErrUnknownSchema = errors.New("unknown schema id")

// ErrNotFramed is returned by Decode for a value that is not in Confluent
// framing: a zero byte, a schema id of four bytes, the Avro body.
var ErrNotFramed = errors.New("value is not an Avro record in Confluent framing")

// ErrPassedOver is returned by Decode for a record at which a person decided
// that nobody stops any more: it is to be treated like one that can't be read.
var ErrPassedOver = errors.New("passed over")

// Version is one published version of a topic's schema.
type Version struct {
	Topic   string // without prefix and version, such as status.changed
	Version int    // from 1
	ID      int    // pinned for ever
	Schema  *avro.Schema
}

// Codec encodes each event in the oldest version of its schema that says all of it,
// so that a new version stops readers of older programs only at what they would
// miss, and decodes every version ever published into the newest Go type. It is
// safe for concurrent use.
type Codec struct {
	versions []Version
	writers  map[string]writer
	readers  map[int]reader
	passed   func(value []byte) error // nil: nothing is passed over
}

type reader struct {
	topic  string
	make   func() any
	schema *avro.Schema
}

// eventType is how a topic's body is made and described.
type eventType struct {
	make  func() any
	infer func(...avro.SchemaOpt) (*avro.Schema, error)
}

func event[T any]() eventType {
	return eventType{make: func() any { return new(T) }, infer: avro.SchemaFor[T]}
}

// typeOf returns the Go type of a topic's body.
func typeOf(topic string) (eventType, bool) {
	switch topic {
	case FileDiscoveredTopic:
		return event[FileDiscovered](), true
	case DownloadRequestedTopic:
		return event[DownloadRequested](), true
	case DownloadFinishedTopic:
		return event[DownloadFinished](), true
	case UnzipFinishedTopic:
		return event[UnzipFinished](), true
	case DocumentExtractedTopic:
		return event[DocumentExtracted](), true
	case DocumentValidatedTopic:
		return event[DocumentValidated](), true
	case DocumentOrderedTopic:
		return event[DocumentOrdered](), true
	case StatusChangedTopic:
		return event[StatusChanged](), true
	case RecordPassedOverTopic:
		return event[RecordPassedOver](), true
	}
	return eventType{}, false
}

// NewCodec reads the embedded schemas. It fails only if they are inconsistent,
// which the package's tests exclude.
func NewCodec() (*Codec, error) {
	versions, err := readVersions(files)
	if err != nil {
		return nil, err
	}
	return newCodec(versions)
}

// newCodec makes a codec of versions, sorted by topic and version.
func newCodec(versions []Version) (*Codec, error) {
	c := &Codec{versions: versions, writers: map[string]writer{}, readers: map[int]reader{}}
	for rest := versions; len(rest) > 0; {
		topic, n := rest[0].Topic, 1
		for n < len(rest) && rest[n].Topic == topic {
			n++
		}
		if err := c.add(topic, rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return c, nil
}

// add adds a topic's versions.
func (c *Codec) add(topic string, versions []Version) error {
	newest := versions[len(versions)-1]
	e, ok := typeOf(topic)
	if !ok {
		return fmt.Errorf("schema %s version %d has no event type", topic, newest.Version)
	}
	c.writers[topic] = newWriter(e, versions)
	for _, v := range versions {
		resolved, err := avro.Resolve(v.Schema, newest.Schema)
		if err != nil {
			return fmt.Errorf("schema %s version %d cannot be read as the newest: %w", topic, v.Version, err)
		}
		c.readers[v.ID] = reader{topic: topic, make: e.make, schema: resolved}
	}
	return nil
}

// PassingOver returns a codec whose Decode asks about every value whether it is
// passed over: the answer is nil, or an error that wraps ErrPassedOver and says
// who decided so, and why. It is asked for every record, from many goroutines.
func (c *Codec) PassingOver(passed func(value []byte) error) *Codec {
	with := *c
	with.passed = passed
	return &with
}

// Versions lists every published version, sorted by topic and version.
func (c *Codec) Versions() []Version { return c.versions }

// readVersions parses the files avro/<topic>.<version>.<id>.avsc.
func readVersions(fsys fs.FS) ([]Version, error) {
	names, err := fs.Glob(fsys, "avro/*.avsc")
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	seen := map[int]string{}
	var out []Version
	for _, name := range names {
		parts := strings.Split(strings.TrimSuffix(path.Base(name), ".avsc"), ".")
		if len(parts) < 3 {
			return nil, fmt.Errorf("schema file %s: want <topic>.<version>.<id>.avsc", name)
		}
		id, err1 := strconv.Atoi(parts[len(parts)-1])
		version, err2 := strconv.Atoi(parts[len(parts)-2])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("schema file %s: want <topic>.<version>.<id>.avsc: %w", name, err)
		}
		if other, ok := seen[id]; ok {
			return nil, fmt.Errorf("schema files %s and %s share the id %d", other, name, id)
		}
		seen[id] = name
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		schema, err := avro.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("schema file %s: %w", name, err)
		}
		out = append(out, Version{Topic: strings.Join(parts[:len(parts)-2], "."), Version: version, ID: id, Schema: schema})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Topic != out[j].Topic {
			return out[i].Topic < out[j].Topic
		}
		return out[i].Version < out[j].Version
	})
	return out, nil
}

// EncodeBody writes a body for its topic in Confluent framing, in the oldest
// version of its schema that says all of it. body is a pointer to the topic's Go
// type.
func (c *Codec) EncodeBody(topic string, body any) ([]byte, error) {
	w, ok := c.writers[topic]
	if !ok {
		return nil, fmt.Errorf("encode: no schema for topic %q", topic)
	}
	v, err := w.version(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", topic, err)
	}
	buf := make([]byte, 5, 512)
	binary.BigEndian.PutUint32(buf[1:], uint32(v.ID))
	buf, err = v.Schema.AppendEncode(buf, body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", topic, err)
	}
	return buf, nil
}

// DecodeBody reads a framed value and returns its topic and a pointer to its
// Go type, all texts in it cleaned and bounded: this is the one place where what
// others write becomes an event of ours, and no store sees anything else. The
// same value gives the same body each time. It returns ErrNotFramed or ErrUnknownSchema (both by errors.Is)
// where that is what is wrong.
func (c *Codec) DecodeBody(value []byte) (topic string, body any, err error) {
	if len(value) < 5 || value[0] != 0 {
		return "", nil, ErrNotFramed
	}
	id := int(binary.BigEndian.Uint32(value[1:5]))
	r, ok := c.readers[id]
	if !ok {
		return "", nil, fmt.Errorf("%w %d: upgrade this member", ErrUnknownSchema, id)
	}
	body = r.make()
	if _, err := r.schema.Decode(value[5:], body); err != nil {
		return r.topic, nil, fmt.Errorf("decode %s: %w", r.topic, err)
	}
	CleanBody(body)
	return r.topic, body, nil
}

// Compatible reports how old and new schema are incompatible, in either
// direction; nil when each reads what the other wrote.
func Compatible(older, newer *avro.Schema) error {
	if err := avro.CheckCompatibility(older, newer); err != nil {
		return fmt.Errorf("the newer cannot read what the older wrote: %w", err)
	}
	if err := avro.CheckCompatibility(newer, older); err != nil {
		return fmt.Errorf("the older cannot read what the newer wrote: %w", err)
	}
	return nil
}
