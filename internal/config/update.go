package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// UpdateKinds are the ways in which values change how a source is defined: merge
// keeps the keys that are not given, append adds to lists as well, and replace keeps
// nothing.
func UpdateKinds() []string { return []string{"merge", "append", "replace"} }

// UpdateSource returns the source of that id with other values, as a list of one
// that ParseSources reads. A value is KEY=VALUE with a key of the configuration, and
// a VALUE as YAML; without one the key has its default again.
func UpdateSource(id, definition, kind string, values []string) ([]byte, error) {
	var was yaml.Node
	if err := yaml.Unmarshal([]byte(definition), &was); err != nil {
		return nil, fmt.Errorf("definition of %s: %w", id, err)
	}
	is := &yaml.Node{Kind: yaml.MappingNode}
	if len(was.Content) == 1 && kind != "replace" {
		is.Content = was.Content[0].Content
	}
	set(is, "id", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: id})
	for _, pair := range values {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is no KEY=VALUE: write a key of a source, as in url=sftp://user@host/path", pair)
		}
		if key == "id" {
			return nil, fmt.Errorf("id=%s: an id stays: add another source, and remove this one", text)
		}
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(text), &value); err != nil && isText(key) {
			value.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}} // as * and @ at the beginning of a cron expression
		} else if err != nil {
			return nil, fmt.Errorf("the value of %s can't be read: %w: put quotes around it that YAML understands", key, err)
		}
		switch {
		case len(value.Content) == 0:
			set(is, key, nil)
		case kind == "append" && get(is, key) != nil:
			all := append(slices.Clone(items(get(is, key))), items(value.Content[0])...)
			set(is, key, &yaml.Node{Kind: yaml.SequenceNode, Content: all})
		default:
			set(is, key, value.Content[0])
		}
	}
	return listed("sources", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{is}})
}

// isText tells whether the value of a source's key is a text, which needs no quotes.
func isText(key string) bool {
	t := reflect.TypeFor[Source]()
	index := indexOf(fieldsOf(t), key)
	return index != nil && t.FieldByIndex(index).Type.Kind() == reflect.String
}

// items are those of a list, which one value alone is too.
func items(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// get is the value of a key; nil if it is not there.
func get(block *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(block.Content); i += 2 {
		if block.Content[i].Value == key {
			return block.Content[i+1]
		}
	}
	return nil
}

// set gives a key a value; nil takes the key out.
func set(block *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(block.Content); i += 2 {
		if block.Content[i].Value == key {
			block.Content = slices.Delete(block.Content, i, i+2)
			break
		}
	}
	if value != nil {
		block.Content = append(block.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}
}

// SourcesYAML writes sources as a configuration lists them, without what has its
// default.
func SourcesYAML(all []Source) ([]byte, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range all {
		if s.State == StateAvailable {
			s.State = ""
		}
		n, err := node(s, "source "+s.ID)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, n)
	}
	return listed("sources", list)
}

// listed writes a list below its key.
func listed(key string, list *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	doc := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, list}}
	if err := errors.Join(enc.Encode(doc), enc.Close()); err != nil {
		return nil, fmt.Errorf("write "+key+": %w", err)
	}
	return b.Bytes(), nil
}
