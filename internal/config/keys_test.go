package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// A form has every key that a source or a centre may have, and says what it is for.
func TestKeysAreThoseOfTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		keys []Key
		of   reflect.Type
		but  []string
	}{
		{SourceKeys(), reflect.TypeFor[Source](), []string{"id", "state"}},
		{CentreKeys(), reflect.TypeFor[Centre](), []string{"short_name"}},
	} {
		var got, want []string
		for _, k := range c.keys {
			got = append(got, k.Name)
			if k.About == "" || len(k.Hint) > 120 {
				t.Errorf("%s: about %q, such as %q", k.Name, k.About, k.Hint)
			}
		}
		for _, f := range fieldsOf(c.of) {
			if !slices.Contains(c.but, f.name) {
				want = append(want, f.name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("keys of %s (-want +got):\n%s", c.of, d)
		}
	}
}

// The values of a definition are written as a form has them: texts as they are, all
// else as YAML on one line, which reads back as the same.
func TestValues(t *testing.T) {
	const is = `{"centre":"H","cron":"*/5 * * * *","host_key":["SHA256:a"],"hosts":[{"actions":["add"],"centre":"J"}],"id":"a","interval":"15m","priority":0,"url":"sftp://h/x"}`
	values, err := Values(is)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"centre": "H", "cron": "*/5 * * * *", "host_key": `["SHA256:a"]`, "hosts": `[{"actions":["add"],"centre":"J"}]`, "id": "a", "interval": "15m", "priority": "0", "url": "sftp://h/x"}
	if d := cmp.Diff(want, values); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
	var pairs []string
	for key, value := range values {
		if key != "id" {
			pairs = append(pairs, key+"="+value)
		}
	}
	again, err := UpdateSource("a", is, "merge", pairs)
	if err != nil {
		t.Fatal(err)
	}
	before, err := UpdateSource("a", is, "merge", nil)
	if err != nil {
		t.Fatal(err)
	}
	var x, y map[string]any
	for text, into := range map[*[]byte]*map[string]any{&again: &x, &before: &y} {
		if err := yaml.Unmarshal(*text, into); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(y, x); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}
