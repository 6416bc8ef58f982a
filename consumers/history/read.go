package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// reader decodes records, one after another.
type reader struct {
	codec  *schemas.Codec
	record schemas.Record // its headers are used again
}

// decoded is what a record tells.
type decoded struct {
	message    schemas.Message
	event      *schemas.StatusChanged
	unreadable string // why it is no event; empty: it is one
}

// read decodes a record. One that is no event is kept as unreadable; one of a newer
// version is an error, schemas.ErrUnknownSchema by errors.Is, since an upgrade will
// read it.
func (r *reader) read(rec *kgo.Record) (decoded, error) {
	var t decoded
	var err error
	t.message, t.event, err = r.decode(rec)
	if errors.Is(err, schemas.ErrUnknownSchema) {
		return t, err
	}
	if err != nil {
		t.unreadable, t.event = err.Error(), &schemas.StatusChanged{}
		if t.message.Time.IsZero() {
			t.message.Time = time.Unix(0, 0)
		}
	}
	return t, nil
}

// write reads a record and writes its row.
func (r *reader) write(w rowWriter, topic string, rec *kgo.Record) error {
	t, err := r.read(rec)
	if err != nil {
		return err
	}
	t.writeRow(w, topic, rec)
	return nil
}

func (t *decoded) writeRow(w rowWriter, topic string, rec *kgo.Record) {
	writeRow(w, topic, rec, &t.message, t.event, t.unreadable)
}

func (r *reader) decode(rec *kgo.Record) (schemas.Message, *schemas.StatusChanged, error) {
	r.record.Value, r.record.Headers = rec.Value, r.record.Headers[:0]
	for _, h := range rec.Headers {
		r.record.Headers = append(r.record.Headers, schemas.Header{Key: h.Key, Value: h.Value})
	}
	m, err := r.codec.Decode(r.record)
	if err != nil {
		return m, nil, err
	}
	e, ok := m.Body.(*schemas.StatusChanged)
	if !ok {
		return m, nil, fmt.Errorf("a record of %s is no event of the log", m.Topic)
	}
	return m, e, nil
}
