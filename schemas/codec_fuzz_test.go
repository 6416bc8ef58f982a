package schemas

import (
	"reflect"
	"testing"
	"time"
)

// filled is a body of the topic's type in which every field says something.
func filled(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 10, 0, 0, 123000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			filled(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"key": "value"}))
	case reflect.String:
		v.SetString("text")
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(depth + 1))
	case reflect.Bool:
		v.SetBool(true)
	}
}

// FuzzDecode reads any record: it is refused or understood, and what was
// understood is written and read as the same again.
func FuzzDecode(f *testing.F) {
	c, err := NewCodec()
	if err != nil {
		f.Fatal(err)
	}
	for _, topic := range topicsInOrder() {
		e, _ := typeOf(topic)
		for _, full := range []bool{false, true} {
			body := e.make()
			if full {
				filled(reflect.ValueOf(body).Elem(), 0)
			}
			b, err := c.EncodeBody(topic, body)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, "2026-11-21T10:00:00.000123Z", "id")
			f.Add(b[:len(b)/2], "yesterday", "")
		}
	}
	// Blocks that say to hold far more than there is, as long as can be.
	f.Add([]byte{0, 0, 0, 3, 0xea, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "", "id")
	f.Fuzz(func(t *testing.T, value []byte, when, id string) {
		r := Record{Key: "k", Value: value, Headers: []Header{{headerID, []byte(id)}, {headerTime, []byte(when)}, {headerSource, []byte("/tributary/unzip")}}}
		m, err := c.Decode(r)
		if err != nil {
			return
		}
		// Encode takes no id that it would not give.
		again, err := c.Encode(m)
		if err != nil {
			t.Fatalf("%+v was decoded and can't be encoded: %v", m, err)
		}
		same, err := c.Decode(again)
		if err != nil {
			t.Fatalf("%+v can't be decoded again: %v", m, err)
		}
		m.Traceparent = traceparent(m.Body) // Encode names it
		if !reflect.DeepEqual(m, same) {
			t.Fatalf("%+v was decoded, then %+v", m, same)
		}
	})
}

// FuzzUnpack reads any bytes as packed records.
func FuzzUnpack(f *testing.F) {
	f.Add(PackRecords([]Record{{Topic: "status.changed", Key: "k", Value: []byte("v"), Headers: []Header{{"ce_id", []byte("1")}}}, {Topic: "t"}}))
	f.Add(PackRecords(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, packed []byte) {
		records, err := UnpackRecords(packed)
		if err != nil {
			return
		}
		again, err := UnpackRecords(PackRecords(records))
		if err != nil || len(again) != len(records) {
			t.Fatalf("%d records, then %d: %v", len(records), len(again), err)
		}
		for i := range records {
			a, b := records[i], again[i]
			if a.Topic != b.Topic || a.Key != b.Key || string(a.Value) != string(b.Value) || len(a.Headers) != len(b.Headers) {
				t.Fatalf("record %d is %+v, then %+v", i, a, b)
			}
		}
	})
}
