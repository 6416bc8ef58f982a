package topics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// Event is one record of a topic, decoded for people and programs.
type Event struct {
	Topic     string // full name
	Partition int32
	Offset    int64
	Time      time.Time // when it happened; of an undecodable record, when it was written
	Key       string
	ID        string
	Stage     string // that produced it
	Subject   string
	Body      []Field // the fields that are not empty, in the schema's order
	Problem   string  // why the record could not be decoded; empty if it could
}

// Field is one field of an event's body.
type Field struct {
	Name  string // as in the Avro schema
	Value any
}

// Decode makes an event of a record. A record that cannot be decoded is an
// event too, with the reason in Problem.
func Decode(codec *schemas.Codec, r *kgo.Record) Event {
	e := Event{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp.UTC(), Key: string(r.Key)}
	m, err := codec.Decode(kafka.FromKgo(r))
	e.ID, e.Stage, e.Subject = m.ID, m.Stage, m.Subject
	if !m.Time.IsZero() {
		e.Time = m.Time
	}
	if err != nil {
		e.Problem = err.Error()
	}
	if m.Body != nil {
		e.Body = fields(reflect.ValueOf(m.Body).Elem())
	}
	return e
}

// fields lists what is not empty, by the names of the Avro schema.
func fields(v reflect.Value) []Field {
	var out []Field
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		if f.Anonymous {
			out = append(out, fields(value)...)
			continue
		}
		if value.IsZero() || (value.Kind() == reflect.Slice || value.Kind() == reflect.Map) && value.Len() == 0 {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("avro"), ",")
		out = append(out, Field{name, plain(value)})
	}
	return out
}

// plain replaces structs by their fields, so that they too have the schema's
// names.
func plain(v reflect.Value) any {
	if t, ok := v.Interface().(*time.Time); ok {
		return t.UTC()
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
		list := make([]body, v.Len())
		for i := range list {
			list[i] = fields(v.Index(i))
		}
		return list
	}
	return v.Interface()
}

// body is a list of fields that is a JSON object in their order.
type body []Field

// MarshalJSON writes the fields as one object.
func (b body) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, f := range b {
		if i > 0 {
			out.WriteByte(',')
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		fmt.Fprintf(&out, "%q:%s", f.Name, value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// MarshalJSON writes the event as one object; what is empty is absent from its
// body.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Topic     string    `json:"topic"`
		Partition int32     `json:"partition"`
		Offset    int64     `json:"offset"`
		Time      time.Time `json:"time"`
		Key       string    `json:"key"`
		ID        string    `json:"id"`
		Stage     string    `json:"stage"`
		Subject   string    `json:"subject"`
		Body      body      `json:"body"`
		Problem   string    `json:"problem,omitempty"`
	}{e.Topic, e.Partition, e.Offset, e.Time, e.Key, e.ID, e.Stage, e.Subject, e.Body, e.Problem})
}

// String is the event in one line for people: when, which topic, where, what
// it is about, and what it says.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d/%d", e.Time.Format("2006-01-02 15:04:05.000"), e.Topic, e.Partition, e.Offset)
	about := e.Subject
	if about == "" {
		about = e.Key
	}
	b.WriteString(" " + printable(about))
	for _, name := range []string{"entity", "change", "what", "position", "attempt", "phase", "status", "result", "exception", "note", "documents", "source", "message"} {
		for _, f := range e.Body {
			if f.Name == name {
				fmt.Fprintf(&b, " %s=%s", name, printable(fmt.Sprint(f.Value)))
			}
		}
	}
	if e.Problem != "" {
		b.WriteString(" undecodable: " + printable(e.Problem))
	}
	return b.String()
}

// printable keeps names from writing control sequences to a terminal, and all on
// one line.
func printable(s string) string {
	return strings.NewReplacer("\t", " ", "\n", " ").Replace(schemas.Clean(s))
}
