package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tributary/internal/remote/connectors"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// entries lists every key of the example with its default and meaning.
func entries(t *testing.T) [][3]string {
	t.Helper()
	root := exampleRoot(t)
	var out [][3]string
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := join(path, key.Value)
			comments := []string{key.HeadComment, key.LineComment, value.LineComment}
			if i == 0 {
				comments = append(comments, n.HeadComment)
			}
			comment := strings.Join(comments, " ")
			if at == "data_dir" { // the file's own introduction stands before it
				comment = comment[strings.LastIndex(comment, "# Where"):]
			}
			comment = strings.TrimSpace(regexp.MustCompile(`(?m)\s*^\s*#\s?|\s*\n`).ReplaceAllString(comment, " "))
			switch {
			case value.Kind == yaml.SequenceNode && len(value.Content) > 0 && value.Content[0].Kind == yaml.MappingNode:
				out = append(out, [3]string{at, "", comment})
				for _, item := range value.Content {
					walk(item, at+"[]")
				}
			case value.Kind == yaml.MappingNode:
				walk(value, at)
			default:
				def := value.Value
				if strings.Contains(path, "[]") || value.Kind == yaml.SequenceNode {
					def = "" // an example, not a default
				}
				out = append(out, [3]string{at, def, comment})
			}
		}
	}
	walk(root.Content[0], "")
	return out
}

// exampleRoot is the example with its commented source and centre as keys.
func exampleRoot(t *testing.T) (root yaml.Node) {
	t.Helper()
	text := strings.NewReplacer("sources: []\n", "sources:\n", "centres: []\n", "centres:\n", "targets: []\n", "targets:\n", "rules: []\n", "rules:\n").Replace(Example())
	text = regexp.MustCompile(`(?m)^( *)# (- |  )( *(?:- )?\w+:)`).ReplaceAllString(text, "$1  $2$3")
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// bySchemes says which keys of sources go with which schemes of their url, as the table
// of connectors has it. Keys that it doesn't name have nothing to do with how a source is
// reached.
func bySchemes() string {
	var b strings.Builder
	b.WriteString("\n## Keys by the scheme of `url`\n\nThese keys of a source go with the schemes that stand beside them: elsewhere they are refused. All others go with every source.\n\n| key | schemes |\n|---|---|\n")
	for _, f := range fieldsOf(reflect.TypeFor[Source]()) {
		if with := connectors.All().SchemesWith(f.name); len(with) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, strings.Join(with, ", "))
		}
	}
	return b.String()
}

// The reference of the configuration is the example; write it with -update.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Written by ` + "`go test ./internal/config -update`" + ` from internal/config/example.yaml. -->

One YAML file: ` + "`--config`" + `, else ` + "`TRIBUTARY_CONFIG`" + `, else ` + "`./tributary.yaml`" + `. ` + "`tributary init`" + ` writes one with every key and its default.
An unknown key, a bad value or a missing secret is an error that names the key, the line and the remedy; ` + "`tributary config check`" + ` tells all at once.

- Durations are written ` + "`500ms`, `30s`, `5m`, `1h30m`; sizes `17`, `64MiB`, `2GB`" + `.
- Secrets are references: ` + "`file:PATH` or `env:NAME`" + `. Addresses of databases may be plain when they hold no password.
- Relative paths are relative to the file; ` + "`~/`" + ` is the user's home.
- The environment overrides every key: ` + "`TRIBUTARY_CFG_`" + ` and the key's path in capitals, with ` + "`_`" + ` between its parts:
  ` + "`TRIBUTARY_CFG_KAFKA_TOPIC_PREFIX`, `TRIBUTARY_CFG_SOURCES_0_PASSWORD`" + `. Lists are separated by commas.
- A key without a value keeps its default.

| key | default | meaning |
|---|---|---|
`)
	for _, e := range entries(t) {
		def := ""
		if e[1] != "" {
			def = "`" + e[1] + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e[0], def, e[2])
	}
	b.WriteString(bySchemes())
	const path = "../../docs/reference/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s is not the example, write it with -update (-want +got):\n%s", path, diff)
	}
}
