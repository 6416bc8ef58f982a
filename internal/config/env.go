package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EnvPrefix begins the environment variables that override keys of the file:
// TRIBUTARY_CFG_KAFKA_TOPIC_PREFIX overrides kafka.topic_prefix, and
// TRIBUTARY_CFG_SOURCES_0_PASSWORD the password of the first source.
const EnvPrefix = "TRIBUTARY_CFG_"

// overrides applies the environment's overrides, in the order of their names,
// so that SOURCES_0 comes before SOURCES_1.
func (d *decoder) overrides(env []string, cfg *Config) {
	vars := slices.Clone(env)
	slices.Sort(vars)
	for _, kv := range vars {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		rest := strings.TrimPrefix(name, EnvPrefix)
		if !d.override(name, rest, value, "", reflect.ValueOf(cfg).Elem()) {
			d.at(0, "", name, "names no key; %s", envHint(rest))
		}
	}
}

func envHint(rest string) string {
	var names []string
	for _, p := range Keys() {
		if !strings.Contains(p, "[") {
			names = append(names, strings.ToLower(envName(p)))
		}
	}
	if like := nearest(strings.ToLower(rest), names); like != "" {
		return "did you mean " + EnvPrefix + strings.ToUpper(like) + "?"
	}
	return "write the key's path in capitals, with _ between its parts"
}

func envName(path string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "[", "_", "]", "").Replace(path))
}

// override finds the key that rest names below v and sets it. It reports
// whether there is such a key.
func (d *decoder) override(name, rest, value, path string, v reflect.Value) bool {
	if rest == "" {
		d.value(envNode(value, v), path, name, v)
		return true
	}
	switch {
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			after, ok := cutKey(rest, strings.ToUpper(f.name))
			if ok && d.override(name, after, value, join(path, f.name), v.FieldByIndex(f.index)) {
				return true
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		number, after, _ := strings.Cut(rest, "_")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i > v.Len() || after == "" {
			return false
		}
		if i == v.Len() { // one beyond the last adds an item
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		return d.override(name, after, value, path+"["+number+"]", v.Index(i))
	}
	return false
}

// cutKey takes key off the front of rest, and the _ behind it.
func cutKey(rest, key string) (string, bool) {
	after, ok := strings.CutPrefix(rest, key)
	if !ok || after == "" {
		return "", ok
	}
	return strings.CutPrefix(after, "_")
}

// envNode makes a node of an environment variable's value: lists and blocks in
// YAML's flow style, lists of words also with commas, everything else as is.
func envNode(value string, v reflect.Value) *yaml.Node {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Struct {
		var doc yaml.Node
		if strings.HasPrefix(strings.TrimSpace(value), "[") || strings.HasPrefix(strings.TrimSpace(value), "{") {
			if err := yaml.Unmarshal([]byte(value), &doc); err == nil && len(doc.Content) == 1 {
				return doc.Content[0]
			}
		}
		if v.Kind() == reflect.Slice && (v.Type().Elem().Kind() == reflect.String || isHosts(v.Type())) {
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for item := range strings.SplitSeq(value, ",") {
				if item = strings.TrimSpace(item); item != "" {
					list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
				}
			}
			return list
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// Keys lists the path of every key, in the order of the types; items of lists
// of blocks are written [0].
func Keys() []string {
	var out []string
	keysOf(reflect.TypeFor[Config](), "", &out)
	return out
}

func keysOf(t reflect.Type, path string, out *[]string) {
	switch {
	case isHosts(t):
		*out = append(*out, path)
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			keysOf(t.FieldByIndex(f.index).Type, join(path, f.name), out)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		keysOf(t.Elem(), path+"[0]", out)
	default:
		*out = append(*out, path)
	}
}
