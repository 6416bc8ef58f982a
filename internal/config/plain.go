package config

import (
	"reflect"
	"strings"
	"unicode"
)

// checkPlain refuses control characters in the values of a source but its description, which
// has lines: each ends in a path, a name, a header, an address or a log, where such a
// character would say something else than whoever wrote it sees.
func (d *decoder) checkPlain(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if f.name != "description" {
				d.checkPlain(v.FieldByIndex(f.index), join(at, f.name))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.checkPlain(v.Index(i), item(at, i))
		}
	case reflect.String:
		if i := strings.IndexFunc(v.String(), unicode.IsControl); i >= 0 {
			r := []rune(v.String()[i:])[0]
			d.problem(at, "holds the control character %q: take it out, since no path, name, header or address has one", r)
		}
	}
}
