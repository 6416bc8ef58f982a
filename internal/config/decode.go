package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder fills a Config from YAML nodes by the configuration's own types. It
// goes on after an error, so that all are told at once.
type decoder struct {
	file     string
	problems Problems
	places   map[string]place // where each value came from, by path
}

// place is where a value came from.
type place struct {
	line   int
	origin string
}

// problem records what is wrong with the value at path.
func (d *decoder) problem(path, format string, args ...any) {
	at := d.where(path)
	d.at(at.line, path, at.origin, format, args...)
}

// where is the place of path, or of the nearest key above it that was given.
func (d *decoder) where(path string) place {
	for path != "" {
		if at, ok := d.places[path]; ok {
			return at
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	return place{}
}

// field is one key of a block.
type field struct {
	name  string
	index []int
}

// fieldsOf lists the keys of a struct in order, inlined ones included.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			for _, in := range fieldsOf(f.Type) {
				out = append(out, field{in.name, append([]int{i}, in.index...)})
			}
		case name != "" && name != "-":
			out = append(out, field{name, []int{i}})
		}
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// value sets v, whose key is path, from a node. A key without a value keeps
// its default.
func (d *decoder) value(n *yaml.Node, path string, origin string, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if _, ok := d.places[path]; !ok || origin != "" {
		d.places[path] = place{n.Line, origin}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if shortHosted(n, v) {
		v.FieldByName("Centre").SetString(n.Value)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.block(n, path, origin, v)
	case reflect.Slice:
		d.list(n, path, origin, v)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, path, origin, p.Elem())
		v.Set(p)
	default:
		if n.Kind != yaml.ScalarNode {
			d.problem(path, "expects a single value, not a %s", kindName(n))
			return
		}
		if err := setScalar(n.Value, v); err != nil {
			d.problem(path, "%s", err)
		}
	}
}

func (d *decoder) block(n *yaml.Node, path, origin string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.problem(path, "expects keys below it, indented, not a %s", kindName(n))
		return
	}
	fields := fieldsOf(v.Type())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		at := join(path, key.Value)
		if key.Value == "<<" && val.Kind == yaml.AliasNode && val.Alias.Kind == yaml.MappingNode {
			d.block(val.Alias, path, origin, v)
			continue
		}
		if line, twice := seen[key.Value]; twice {
			d.at(key.Line, at, origin, "given twice, first in line %d: keep one", line)
			continue
		}
		seen[key.Value] = key.Line
		index := indexOf(fields, key.Value)
		if index == nil {
			d.at(key.Line, at, origin, "%s", unknownKey(at, key.Value, names))
			continue
		}
		d.places[at] = place{key.Line, origin}
		d.value(val, at, origin, v.FieldByIndex(index))
	}
}

func (d *decoder) at(line int, path, origin, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Path: abridged(path, maxPath), Origin: origin, Message: abridged(fmt.Sprintf(format, args...), maxMessage)})
}

func unknownKey(path, key string, names []string) string {
	// Who has opened postgres.listen looks for this one, too.
	if path == "clickhouse.listen" {
		return "the embedded ClickHouse has no door, since nothing in it confines a reader (docs/decisions/0028-the-doors-for-readers.md): leave this out, and ask it with tributary sql --store history, or set clickhouse.url to a ClickHouse of your own and let tools connect there (docs/how-to/connect-your-tools.md)"
	}
	if like := nearest(key, names); like != "" {
		return "unknown key; did you mean " + like + "?"
	}
	return "unknown key; known here: " + strings.Join(names, ", ")
}

func indexOf(fields []field, name string) []int {
	for _, f := range fields {
		if f.name == name {
			return f.index
		}
	}
	return nil
}

func (d *decoder) list(n *yaml.Node, path, origin string, v reflect.Value) {
	if n.Kind == yaml.ScalarNode && v.Type().Elem().Kind() == reflect.String {
		v.Set(reflect.ValueOf([]string{n.Value})) // one value is a list of one
		return
	}
	if n.Kind == yaml.ScalarNode && isHosts(v.Type()) {
		v.Set(reflect.ValueOf(Hosts{{Centre: n.Value}}))
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.problem(path, "expects a list, each item after a dash, not a %s", kindName(n))
		return
	}
	if len(n.Content) == 0 {
		v.SetZero()
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.places[at] = place{item.Line, origin}
		d.value(item, at, origin, out.Index(i))
	}
	v.Set(out)
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "block of keys"
	case yaml.SequenceNode:
		return "list"
	default:
		return "single value"
	}
}

// setScalar sets v from text. Its errors name the remedy.
func setScalar(text string, v reflect.Value) error {
	switch p := v.Addr().Interface().(type) {
	case *Duration:
		x, err := ParseDuration(text)
		*p = x
		return err
	case *Bytes:
		x, err := ParseBytes(text)
		*p = x
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		switch text {
		case "true", "false":
			v.SetBool(text == "true")
		default:
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q is not a whole number that fits: write digits only", text)
		}
		v.SetInt(x)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number: write it like 0.1", text)
		}
		v.SetFloat(x)
	default:
		return fmt.Errorf("can't hold %q", text)
	}
	return nil
}
