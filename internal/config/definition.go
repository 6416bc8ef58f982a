package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxDefinition bounds a source's definition, in bytes: it travels with each job.
const MaxDefinition = 64 << 10

// Definition is the source as one line of JSON with the keys of the
// configuration: what control keeps of it, and what its polls and jobs carry.
// What has its default is left out, secrets are references, and the state is no
// part of it.
func (s Source) Definition() (string, error) {
	s.State = ""
	n, err := s.node()
	if err != nil {
		return "", err
	}
	var keys map[string]any
	if err := n.Decode(&keys); err != nil {
		return "", fmt.Errorf("source %s: write its definition: %w", s.ID, err)
	}
	out, err := json.Marshal(keys)
	if err != nil {
		return "", fmt.Errorf("source %s: write its definition: %w", s.ID, err)
	}
	if bytes.Contains(out, []byte(`\u0000`)) {
		return "", fmt.Errorf("source %s: a value holds a NUL, which no path, name or key has: take it out", s.ID)
	}
	return string(out), nil
}

// node is the source as YAML, without what has its default.
func (s Source) node() (*yaml.Node, error) {
	n := new(yaml.Node)
	if err := n.Encode(s); err != nil {
		return nil, fmt.Errorf("source %s: write its definition: %w", s.ID, err)
	}
	v := reflect.ValueOf(s)
	for _, f := range fieldsOf(v.Type()) {
		if v.FieldByIndex(f.index).IsZero() {
			set(n, f.name, nil)
		}
	}
	return n, nil
}

// ParseDefinition reads what Definition wrote. One with a key that is not known
// comes from a newer program, and is refused.
func ParseDefinition(text string) (Source, error) {
	var s Source
	d := &decoder{file: "definition of a source", places: map[string]place{}}
	if root := d.root([]byte(text)); root != nil {
		d.value(root, "", "", reflect.ValueOf(&s).Elem())
	}
	if len(d.problems) > 0 {
		return Source{}, d.problems.sorted()
	}
	return s, nil
}

// ParseSources reads sources as a configuration lists them: r has the key
// sources, and no other. Relative paths are relative to dir. What their secrets and
// files hold is for the members that reach the sources, and isn't looked at. A state
// that is not given is empty.
func (c Config) ParseSources(file string, r io.Reader, dir string, o Options) ([]Source, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", file, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %s", file, Bytes(maxFile))
	}
	d := &decoder{file: file, places: map[string]place{}}
	var list struct {
		Sources []Source `yaml:"sources"`
	}
	if root := d.root(text); root != nil {
		d.value(root, "", "", reflect.ValueOf(&list).Elem())
	}
	for i := range list.Sources {
		s := &list.Sources[i]
		s.absolute(dir)
		if s.State == "" {
			s.State = StateAvailable
		}
	}
	d.checkNumbers(reflect.ValueOf(list), "")
	d.checkSources(list.Sources)
	for i, s := range list.Sources {
		at := item("sources", i)
		d.isReference(at+".password", s.Password)
		d.isReference(at+".identity_passphrase", s.IdentityPassphrase)
	}
	for i := range list.Sources {
		if _, given := d.places[item("sources", i)+".state"]; !given {
			list.Sources[i].State = ""
		}
	}
	if c.Sources = list.Sources; o.Also != nil {
		o.Also(c, d.problem)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	return list.Sources, nil
}

// Difference says which keys have changed from one definition to another, from what
// to what; empty: none.
func Difference(was, is string) (string, error) {
	before, err := definedKeys(was)
	if err != nil {
		return "", err
	}
	after, err := definedKeys(is)
	if err != nil {
		return "", err
	}
	keys := map[string]any{}
	maps.Copy(keys, before)
	maps.Copy(keys, after)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, b := shown(before[key]), shown(after[key])
		if a != b {
			out = append(out, key+": "+a+" → "+b)
		}
	}
	return strings.Join(out, "; "), nil
}

// shown writes a key's value; a key that is absent has its default.
func shown(v any) string {
	if v == nil {
		return "default"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(text), `"`)
}

func definedKeys(definition string) (keys map[string]any, err error) {
	if err := json.Unmarshal([]byte(definition), &keys); err != nil {
		return nil, fmt.Errorf("definition of a source: %w", err)
	}
	return keys, nil
}
