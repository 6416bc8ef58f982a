package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// The example is the defaults, and nothing else.
func TestExampleIsDefault(t *testing.T) {
	path := write(t, Example())
	got, err := Load(path, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults(filepath.Dir(path))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// The example has every key, those of a source and a centre in comments, and
// every key a comment that says what it means.
func TestExampleHasEveryKey(t *testing.T) {
	text := strings.NewReplacer("sources: []\n", "sources:\n", "centres: []\n", "centres:\n").Replace(Example())
	text = regexp.MustCompile(`(?m)^# (- |  )( *(?:- )?\w+:)`).ReplaceAllString(text, "  $1$2")
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := join(path, key.Value)
			documented[at] = key.HeadComment+key.LineComment+value.LineComment+n.HeadComment != ""
			if value.Kind == yaml.SequenceNode && len(value.Content) > 0 && value.Content[0].Kind == yaml.MappingNode {
				walk(value.Content[0], at+"[0]")
			}
			walk(value, at)
		}
	}
	walk(root.Content[0], "")
	for _, key := range Keys() {
		if has, ok := documented[key]; !ok {
			t.Errorf("%s is not in the example", key)
		} else if !has {
			t.Errorf("%s has no comment", key)
		}
	}
}

// What Dump writes loads as the same configuration.
func TestDumpLoadsAgain(t *testing.T) {
	path := write(t, source+"    password: file:secret\ncentres:\n  - {short_name: Zz, active: false}\nkafka: {bootstrap_servers: ['a:1']}\n")
	first, err := Load(path, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := first.Dump()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Error("Dump tells a secret")
	}
	again, err := parse(path, text, nil, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("dumped configuration (-first +again):\n%s", diff)
	}
}
