package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"tributary/schemas"
)

// jsonForm writes events as JSON, their fields named as in the Avro schema and
// sorted, without those that are empty. Most of what the sink does is writing
// this text, so where the fields are is found out once, and nothing is
// gathered in maps.
type jsonForm []jsonField

type jsonField struct {
	key   string // with quotes and colon
	index []int
}

// newJSONForm finds the fields of the event type.
func newJSONForm() jsonForm {
	var form jsonForm
	for _, f := range reflect.VisibleFields(reflect.TypeFor[schemas.StatusChanged]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("avro"), ",")
		form = append(form, jsonField{key: strconv.Quote(name) + ":", index: f.Index})
	}
	sort.Slice(form, func(i, j int) bool { return form[i].key < form[j].key })
	return form
}

// text is the event as one JSON object.
func (form jsonForm) text(e *schemas.StatusChanged) (string, error) {
	v := reflect.ValueOf(e).Elem()
	b := make([]byte, 1, 768)
	b[0] = '{'
	for _, f := range form {
		value := v.FieldByIndex(f.index)
		if value.IsZero() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, f.key...)
		var err error
		if b, err = appendJSON(b, value); err != nil {
			return "", fmt.Errorf("event as JSON: %s %w", f.key, err)
		}
	}
	return string(append(b, '}')), nil
}

func appendJSON(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); plain(s) {
			b = append(b, '"')
			b = append(b, s...)
			return append(b, '"'), nil
		}
	case reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Pointer:
		if t, ok := v.Interface().(*time.Time); ok {
			b = append(b, '"')
			b = t.AppendFormat(b, time.RFC3339Nano)
			return append(b, '"'), nil
		}
	}
	text, err := json.Marshal(v.Interface())
	return append(b, text...), err
}

// plain says that a string is its own JSON between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
