package texts

import (
	"math"
	"reflect"
	"strings"
	"time"
)

// Extreme returns bodies like the one that newBody makes each time, each with one of its
// numbers, or moments, as large as an event can hold it, or as small. Moments that are not
// given are given so.
func Extreme(newBody func() any) []Case {
	var out []Case
	for _, largest := range []bool{true, false} {
		for n := 0; ; n++ {
			body := newBody()
			e := extreme{left: n, largest: largest}
			e.spoil(reflect.ValueOf(body).Elem(), "")
			if e.at == "" {
				break
			}
			out = append(out, Case{Field: e.at, Body: body})
		}
	}
	return out
}

// extreme puts an extreme into the field that comes after so many others.
type extreme struct {
	left    int
	largest bool
	at      string
}

// here tells whether this is the field.
func (e *extreme) here(path string) bool {
	e.left--
	if e.left == -1 {
		e.at = path
	}
	return e.left == -1
}

func (e *extreme) spoil(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Int32, reflect.Int64:
		if !e.here(path) {
			return
		}
		n := int64(math.MinInt64)
		if e.largest {
			n = math.MaxInt64
		}
		v.SetInt(n >> (64 - v.Type().Bits()))
	case reflect.Pointer: // to a moment
		if !e.here(path) {
			return
		}
		at := time.UnixMicro(math.MinInt64).UTC()
		if e.largest {
			at = time.UnixMicro(math.MaxInt64).UTC()
		}
		v.Set(reflect.ValueOf(&at))
	case reflect.Struct:
		for i := range v.NumField() {
			e.spoil(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			e.spoil(v.Index(0), path+"[0]")
		}
	}
}
