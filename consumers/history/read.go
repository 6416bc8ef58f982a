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

// write decodes a record and writes its row. A record that is no event is kept
// as unreadable; one of a newer version is an error, schemas.ErrUnknownSchema
// by errors.Is, since an upgrade will read it.
func (r *reader) write(w rowWriter, topic string, rec *kgo.Record) error {
	m, e, err := r.decode(rec)
	if errors.Is(err, schemas.ErrUnknownSchema) {
		return err
	}
	reason := ""
	if err != nil {
		reason, e = err.Error(), &schemas.StatusChanged{}
		if m.Time.IsZero() {
			m.Time = time.Unix(0, 0)
		}
	}
	writeRow(w, topic, rec, &m, e, reason)
	return nil
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
