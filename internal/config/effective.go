package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Value is one value in effect, secrets as references.
type Value struct {
	Key, Value string
}

// Values are the values in effect, but for sources and centres, of which control has
// the truth. The address of a database that is written plainly holds no password.
func (c Config) Values() []Value {
	var out []Value
	valuesOf(reflect.ValueOf(c), "", &out)
	return out
}

func valuesOf(v reflect.Value, path string, out *[]Value) {
	switch {
	case path == "sources" || path == "centres":
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			valuesOf(v.FieldByIndex(f.index), join(path, f.name), out)
		}
	case v.Kind() == reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, fmt.Sprint(v.Index(i).Interface()))
		}
		*out = append(*out, Value{path, strings.Join(items, ",")})
	default:
		*out = append(*out, Value{path, fmt.Sprint(v.Interface())})
	}
}

// tell tells where the given values are from.
func (d *decoder) tell(origins map[string]string) {
	if origins == nil {
		return
	}
	for key, at := range d.places {
		if at.origin != "" {
			origins[key] = "environment " + at.origin
		} else {
			origins[key] = fmt.Sprintf("file, line %d", at.line)
		}
	}
}
