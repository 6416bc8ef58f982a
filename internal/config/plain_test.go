package config

import (
	"reflect"
	"strings"
	"testing"
)

// TestNoValueOfASourceHoldsControlCharacters holds that each key of a source that has a text
// refuses one with a control character by its name, whatever else is wrong with it.
func TestNoValueOfASourceHoldsControlCharacters(t *testing.T) {
	source := reflect.TypeFor[Source]()
	for _, f := range fieldsOf(source) {
		value, at := `"a\tb"`, "sources[0]."+f.name
		switch of := source.FieldByIndex(f.index).Type; {
		case f.name == "description":
			continue // has lines, and a check of its own
		case of == reflect.TypeFor[Filters]():
			value, at = `[{exclude: "a\tb"}]`, at+"[0].exclude"
		case of == reflect.TypeFor[Hosts]():
			value, at = `["a\tb"]`, at+"[0].centre"
		case of == reflect.TypeFor[[]Window](), of == reflect.TypeFor[Throttles]():
			value, at = `[{cron: "a\tb"}]`, at+"[0].cron"
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String:
			value, at = `["a\tb"]`, at+"[0]"
		case of.Kind() != reflect.String:
			continue
		}
		keys := map[string]string{"id": "a", "centre": "H", "url": "file:///x"}
		keys[f.name] = value
		text := "sources: [{"
		for key, is := range keys {
			text += key + ": " + is + ", "
		}
		text += "}]"
		_, err := Default().ParseSources("test", strings.NewReader(text), "/", Options{})
		if err == nil || !strings.Contains(err.Error(), at+`: holds the control character '\t': take it out`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
