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
	return definition(s, "source "+s.ID)
}

// definition is a block of the configuration as one line of JSON, without what has
// its default.
func definition(of any, name string) (string, error) {
	n, err := node(of, name)
	if err != nil {
		return "", err
	}
	var keys map[string]any
	if err := n.Decode(&keys); err != nil {
		return "", fmt.Errorf("%s: write its definition: %w", name, err)
	}
	out, err := json.Marshal(keys)
	if err != nil {
		return "", fmt.Errorf("%s: write its definition: %w", name, err)
	}
	if bytes.Contains(out, []byte(`\u0000`)) {
		return "", fmt.Errorf("%s: a value holds a NUL, which no path, name or key has: take it out", name)
	}
	return string(out), nil
}

// node is a block of the configuration as YAML, without what has its default.
func node(of any, name string) (*yaml.Node, error) {
	n := new(yaml.Node)
	if err := n.Encode(of); err != nil {
		return nil, fmt.Errorf("%s: write its definition: %w", name, err)
	}
	v := reflect.ValueOf(of)
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

// Blocks are sources and centres as a configuration lists them.
type Blocks struct {
	Sources []Source `yaml:"sources"`
	Centres []Centre `yaml:"centres"`
}

// ParseSources reads sources as a configuration lists them: what Parse does of a file
// with the key sources alone.
func (c Config) ParseSources(file string, r io.Reader, dir string, o Options) ([]Source, error) {
	b, err := c.Parse(file, r, dir, o)
	if err == nil && len(b.Centres) > 0 {
		err = fmt.Errorf("%s lists centres too, which are no sources: take them out", file)
	}
	return b.Sources, err
}

// Parse reads sources and centres as a configuration lists them: r has the keys
// sources and centres, and no other. Relative paths are relative to dir. What their
// secrets and files hold is for the members that reach the sources, and isn't looked
// at. A state that is not given is empty.
func (c Config) Parse(file string, r io.Reader, dir string, o Options) (list Blocks, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return Blocks{}, fmt.Errorf("%s can't be read: %w", file, err)
	}
	if len(text) > maxFile {
		return Blocks{}, fmt.Errorf("%s is larger than %s", file, Bytes(maxFile))
	}
	d := &decoder{file: file, places: map[string]place{}}
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
	d.checkCentres(list.Centres)
	d.plainCentres(list.Centres)
	for i, s := range list.Sources {
		at := item("sources", i)
		d.isReference(at+".password", s.Password)
		d.isReference(at+".identity_passphrase", s.IdentityPassphrase)
		d.isReference(at+".token", s.Token)
		d.isReference(at+".cookie", s.Cookie)
		d.isReference(at+".headers", s.Headers)
		d.isReference(at+".proxy_password", s.ProxyPassword)
	}
	for i := range list.Sources {
		if _, given := d.places[item("sources", i)+".state"]; !given {
			list.Sources[i].State = ""
		}
	}
	c.Sources, c.Centres = list.Sources, append(slices.Clone(c.Centres), list.Centres...)
	if o.Also != nil {
		o.Also(c, d.problem)
	}
	if len(d.problems) > 0 {
		return Blocks{}, d.problems.sorted()
	}
	return list, nil
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
