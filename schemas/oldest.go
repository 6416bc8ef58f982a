package schemas

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/avro"
)

// writer writes the bodies of a topic, each in the oldest version of its schema that
// says all of it: who reads nothing newer misses nothing, and goes on.
type writer struct {
	of    reflect.Type // pointer to the topic's Go type
	steps []step       // the newest version first; the last one takes every body
}

// step is a version, and what it says beyond the one before it.
type step struct {
	Version
	added []place // empty: no older one is written
}

// place is where a field that was added stands in a body: the fields that lead to it,
// the last one itself. Where one is a list, it stands in each of its items.
type place struct {
	name   string // as Avro names them, with dots between
	fields [][]int
}

// newWriter makes the writer of a topic whose bodies e makes. Its versions come the
// oldest first, and the newest one is what the Go type says.
func newWriter(e eventType, versions []Version) writer {
	w := writer{of: reflect.TypeOf(e.make())}
	for i, v := range slices.Backward(versions) {
		s := step{Version: v}
		if i > 0 {
			s.added, _ = added(versions[i-1].Schema.Root(), v.Schema.Root(), w.of.Elem())
		}
		if w.steps = append(w.steps, s); len(s.added) == 0 {
			break
		}
	}
	return w
}

// version is the oldest one that says all of a body, a pointer to the topic's Go type.
func (w writer) version(body any) (Version, error) {
	if of := reflect.TypeOf(body); of != w.of {
		return Version{}, fmt.Errorf("its body is a %s, not a %s", of, w.of)
	}
	v := reflect.ValueOf(body).Elem()
	said := func(p place) bool { return saysAt(v, p.fields) }
	for _, s := range w.steps {
		if len(s.added) == 0 || slices.ContainsFunc(s.added, said) {
			return s.Version, nil
		}
	}
	return Version{}, nil // the last step adds nothing
}

// added lists what a schema has of a Go type that the one before it lacks. It is not ok
// where what is written by the newer one can't be written by the older one, whatever it
// says: a field was taken away, or one came whose default is not Go's zero, or came
// within something else than records and lists of them.
func added(older, newer *avro.SchemaNode, of reflect.Type) (all []place, ok bool) {
	switch {
	case older.Type != newer.Type:
		return nil, false
	case newer.Type == "array":
		return added(older.Items, newer.Items, of.Elem())
	case newer.Type != "record":
		return nil, plain(newer)
	}
	before := map[string]avro.SchemaField{}
	for _, f := range older.Fields {
		before[f.Name] = f
	}
	for _, f := range newer.Fields {
		goField, known := fieldOf(of, f.Name)
		if !known {
			return nil, false
		}
		p := place{f.Name, [][]int{goField.Index}}
		old, known := before[f.Name]
		delete(before, f.Name)
		if !known {
			if f.Default != nil && says(reflect.ValueOf(f.Default)) {
				return nil, false
			}
			all = append(all, p)
			continue
		}
		within, ok := added(&old.Type, &f.Type, goField.Type)
		if !ok {
			return nil, false
		}
		for _, w := range within {
			all = append(all, place{p.name + "." + w.name, append(p.fields, w.fields...)})
		}
	}
	return all, len(before) == 0
}

// plain tells whether no record is within what a field holds.
func plain(n *avro.SchemaNode) bool {
	return n.Type != "record" && n.Items == nil && (n.Values == nil || plain(n.Values)) &&
		!slices.ContainsFunc(n.Branches, func(b avro.SchemaNode) bool { return !plain(&b) })
}

// fieldOf finds the field of a Go struct that is written by a name.
func fieldOf(of reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(f.Tag.Get("avro"), ","); tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// saysAt tells whether a body says anything at a place.
func saysAt(v reflect.Value, fields [][]int) bool {
	if len(fields) == 0 {
		return says(v)
	}
	if v.Kind() != reflect.Slice {
		return saysAt(v.FieldByIndex(fields[0]), fields[1:])
	}
	for i := range v.Len() {
		if saysAt(v.Index(i), fields) {
			return true
		}
	}
	return false
}

// says tells whether a value is anything but what stands for nothing.
func says(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	}
	return !v.IsZero()
}
