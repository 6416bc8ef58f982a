package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Key is a key of a source or of a centre, for who fills in a form.
type Key struct {
	Name  string
	Text  bool   // its value is a text that is written as YAML where it is given by hand
	List  bool   // it has several values
	Hint  string // an example, as the commented configuration has it; empty for lists of several lines
	About string // what it is for
}

// SourceKeys are the keys that a source may have beside id and state, in the order of
// the commented configuration.
func SourceKeys() []Key { return listedKeys("sources", reflect.TypeFor[Source](), "id", "state") }

// CentreKeys are the keys that a centre may have beside its short name. Their values are
// taken as they are.
func CentreKeys() []Key {
	keys := listedKeys("centres", reflect.TypeFor[Centre](), "short_name")
	for i := range keys {
		keys[i].Text = false
	}
	return keys
}

// listedKeys reads the keys of a list's items from the commented configuration.
func listedKeys(list string, of reflect.Type, but ...string) (out []Key) {
	_, text, _ := strings.Cut(example, "\n"+list+": []\n")
	fields := fieldsOf(of)
	for line := range strings.SplitSeq(text, "\n") {
		item, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		item = strings.TrimPrefix(strings.TrimPrefix(item, " - "), "   ")
		name, rest, ok := strings.Cut(item, ":")
		index := indexOf(fields, name)
		if !ok || index == nil || strings.Contains(" "+strings.Join(but, " ")+" ", " "+name+" ") {
			continue
		}
		hint, about := rest, ""
		if i := strings.Index(rest, "   # "); i >= 0 {
			hint, about = rest[:i], rest[i+5:]
		} else if i := strings.Index(rest, " # "); i >= 0 {
			hint, about = rest[:i], rest[i+3:]
		}
		kind := of.FieldByIndex(index).Type.Kind()
		out = append(out, Key{Name: name, Text: kind == reflect.String, List: kind == reflect.Slice, Hint: strings.Trim(strings.TrimSpace(hint), `"`), About: about})
	}
	return out
}

// Pair is a key with a value as a person has written it, as UpdateSource and UpdateCentre
// read it; an empty value gives the key its default again.
func (k Key) Pair(value string) (string, error) {
	if !k.Text || value == "" {
		return k.Name + "=" + value, nil
	}
	quoted, err := json.Marshal(value) // which is YAML too
	if err != nil {
		return "", fmt.Errorf("the value of %s: %w", k.Name, err)
	}
	return k.Name + "=" + string(quoted), nil
}

// Values are those of a definition by their keys, as a person would write them: texts as
// they are, all else as JSON, which is YAML too.
func Values(definition string) (map[string]string, error) {
	keys, err := definedKeys(definition)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range keys {
		text, ok := value.(string)
		if !ok {
			written, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("the value of %s: %w", name, err)
			}
			text = string(written)
		}
		out[name] = text
	}
	return out, nil
}
