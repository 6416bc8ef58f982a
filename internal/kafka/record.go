package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// ToKgo makes a Kafka record of an encoded event, addressed to its topic's
// full name.
func ToKgo(prefix string, r schemas.Record) *kgo.Record {
	out := &kgo.Record{
		Topic:   TopicName(prefix, r.Topic),
		Key:     []byte(r.Key),
		Value:   r.Value,
		Headers: make([]kgo.RecordHeader, len(r.Headers)),
	}
	for i, h := range r.Headers {
		out.Headers[i] = kgo.RecordHeader{Key: h.Key, Value: h.Value}
	}
	return out
}

// FromKgo makes an encoded event of a Kafka record. Topic stays empty: the
// codec takes it from the value's schema.
func FromKgo(r *kgo.Record) schemas.Record {
	out := schemas.Record{
		Key:     string(r.Key),
		Value:   r.Value,
		Headers: make([]schemas.Header, len(r.Headers)),
	}
	for i, h := range r.Headers {
		out.Headers[i] = schemas.Header{Key: h.Key, Value: h.Value}
	}
	return out
}
