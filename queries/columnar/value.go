package columnar

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// add appends a value to a column, and returns roughly how many bytes it takes
// beyond those of a number.
func add(b array.Builder, value any) (int, error) {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if _, ok := v.Interface().(fmt.Stringer); ok && v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct && v.Type() != reflect.TypeFor[*time.Time]() {
			break // such as *big.Int, whose String is its pointer's
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		b.AppendNull()
		return 0, nil
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		text := textOf(v)
		b.Append(text)
		return len(text), nil
	case *array.MapBuilder:
		return addMap(b, v)
	case *array.ListBuilder:
		if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
			return addList(b, v)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return addText(b, v.String())
	case reflect.Bool:
		if b, ok := b.(*array.BooleanBuilder); ok {
			b.Append(v.Bool())
			return 0, nil
		}
	}
	if t, ok := v.Interface().(time.Time); ok {
		return 0, addTime(b, t)
	}
	if addNumber(b, v) {
		return 0, nil
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return addText(b, s.String())
	}
	return 0, fmt.Errorf("a %s has no place in a column of %s", v.Type(), b.Type())
}

// textOf is a value as a text: lists and such as JSON.
func textOf(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return strings.ToValidUTF8(v.String(), "\uFFFD")
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return x.String()
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(text)
}

func addNumber(b array.Builder, v reflect.Value) bool {
	switch b := b.(type) {
	case *array.Int8Builder:
		return v.CanInt() && appended(b.Append, int8(v.Int()))
	case *array.Int16Builder:
		return v.CanInt() && appended(b.Append, int16(v.Int()))
	case *array.Int32Builder:
		return v.CanInt() && appended(b.Append, int32(v.Int()))
	case *array.Int64Builder:
		return v.CanInt() && appended(b.Append, v.Int())
	case *array.Uint8Builder:
		return v.CanUint() && appended(b.Append, uint8(v.Uint()))
	case *array.Uint16Builder:
		return v.CanUint() && appended(b.Append, uint16(v.Uint()))
	case *array.Uint32Builder:
		return v.CanUint() && appended(b.Append, uint32(v.Uint()))
	case *array.Uint64Builder:
		return v.CanUint() && appended(b.Append, v.Uint())
	case *array.Float32Builder:
		return v.CanFloat() && appended(b.Append, float32(v.Float()))
	case *array.Float64Builder:
		return v.CanFloat() && appended(b.Append, v.Float())
	}
	return false
}

func appended[T any](add func(T), v T) bool {
	add(v)
	return true
}

// addTime appends a moment: in UTC to a column with a zone, else as clocks show it.
func addTime(b array.Builder, t time.Time) error {
	switch b := b.(type) {
	case *array.TimestampBuilder:
		kind, ok := b.Type().(*arrow.TimestampType)
		if !ok {
			break
		}
		v, err := arrow.TimestampFromTime(t, kind.Unit)
		if err != nil {
			return fmt.Errorf("%s is beyond what %s holds: %w", t, b.Type(), err)
		}
		b.Append(v)
		return nil
	case *array.Date32Builder:
		y, m, d := t.Date()
		b.Append(arrow.Date32(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)))
		return nil
	}
	return fmt.Errorf("a moment has no place in a column of %s", b.Type())
}

// perElement is what an element of a list takes beside its own bytes.
const perElement = 8

func addList(b *array.ListBuilder, v reflect.Value) (size int, err error) {
	b.Append(true)
	for i := range v.Len() {
		n, err := add(b.ValueBuilder(), v.Index(i).Interface())
		if err != nil {
			return 0, err
		}
		size += n + perElement
	}
	return size, nil
}

// addMap appends a map, its keys in order, so that the same answer is the same file.
func addMap(b *array.MapBuilder, v reflect.Value) (size int, err error) {
	if v.Kind() != reflect.Map {
		return 0, fmt.Errorf("a %s is no map", v.Type())
	}
	b.Append(true)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return strings.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
	})
	for _, key := range keys {
		n, err := add(b.KeyBuilder(), key.Interface())
		if err != nil {
			return 0, err
		}
		m, err := add(b.ItemBuilder(), v.MapIndex(key).Interface())
		if err != nil {
			return 0, err
		}
		size += n + m + 2*perElement
	}
	return size, nil
}
