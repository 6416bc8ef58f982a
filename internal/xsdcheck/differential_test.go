package xsdcheck

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// difference is where two validations are meant to differ.
type difference struct {
	name, reason string
	applies      func(m mutant) bool
}

// fromReference lists where the project's schemas differ from the reference by
// design, with the same engine.
var fromReference = []difference{{
	name: "content of an element that must be empty",
	reason: "the reference has types without a content model, with which the engine gives up at an element, and lets white space pass; " +
		"the project's schemas say that the text has no characters, so that there is a place, a verdict as of other validators, and another message",
	applies: func(m mutant) bool { return m.filled },
}}

// fromXmllint lists where verdicts differ from those of xmllint.
var fromXmllint = []difference{{
	name:    "white space around a date",
	reason:  "XML Schema says that it is collapsed before the value is read; libxml2 doesn't, and refuses the document",
	applies: func(m mutant) bool { return strings.Contains(m.text, `=" 2012-12-31 "`) },
}}

// skip reports whether a mutant is one of the differences, and counts it.
func skip(differences []difference, m mutant, counts map[string]int) bool {
	for _, d := range differences {
		if d.applies(m) {
			counts[d.name]++
			return true
		}
	}
	return false
}

func filled(root *node) bool {
	return slices.ContainsFunc(root.elements(), func(n *node) bool {
		switch n.name {
		case "relatedSpecimen", "genotype", "parentalStrain", "chromosomeAdded", "chromosomeRemoved":
			return len(n.children) > 0
		}
		return false
	})
}

// everything is what the differential tests judge: every sample as it is, 2,000
// mutants of the samples, and further ones of the documents that have everything
// the schemas allow.
func everything(t testing.TB) []mutant {
	t.Helper()
	bases := make(map[string]string)
	var all []mutant
	for _, sort := range []string{"valid", "invalid"} {
		for name, text := range samples(t, sort) {
			bases[sort+" "+name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		all = append(all, mutant{name: name, kind: kindOf(bases[name]), text: bases[name], filled: filled(parse(t, bases[name]))})
	}
	all = append(all, mutants(t, bases, 2000)...)
	return append(all, mutants(t, map[string]string{"complete specimen": complete(t, "specimen"), "complete experiment": complete(t, "experiment")}, 1000)...)
}

// TestJudgedAsByTheReference compares the project's schemas with the reference
// schemas: same verdict, same errors with line, column, exception and message.
// Names of types, which differ, are in no message.
func TestJudgedAsByTheReference(t *testing.T) {
	our, their := make(map[string]*Schema), make(map[string]*Schema)
	for _, kind := range []string{"specimen", "experiment"} {
		our[kind], their[kind] = ours(t, kind), reference(t, kind)
	}
	counts := make(map[string]int)
	for _, m := range everything(t) {
		if skip(fromReference, m, counts) {
			continue
		}
		got, want := validate(t, our[m.kind], m.text), validate(t, their[m.kind], m.text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: reference and ours differ (-reference +ours): %s", m.name, diff)
		}
		for _, e := range got.Errors {
			if path, text, _ := strings.Cut(e.Message, ": "); e.Exception == Invalid && (!strings.HasPrefix(path, "/") || text == "" || len(e.Message) >= MaxMessage) {
				t.Errorf("%s: the message has no path, or is cut off: %+v", m.name, e)
			}
		}
		switch {
		case want.Valid:
			counts["valid"]++
		case want.Errors[0].Exception == Invalid:
			counts["invalid"]++
		default:
			counts["unreadable"]++
		}
	}
	t.Log(counts)
	for name, fewest := range map[string]int{"valid": 500, "invalid": 1000, "unreadable": 50, fromReference[0].name: 1} {
		if counts[name] < fewest {
			t.Errorf("only %d documents are %s; the test says little", counts[name], name)
		}
	}
}

// TestJudgedAsByXmllint compares the verdicts with those of another validator,
// by the reference schemas.
func TestJudgedAsByXmllint(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no xmllint to compare with (package libxml2-utils): %v", err)
	}
	counts := make(map[string]int)
	all := everything(t)
	verdicts := askXmllint(t, xmllint, all)
	schemas := map[string]*Schema{"specimen": ours(t, "specimen"), "experiment": ours(t, "experiment")}
	for i, m := range all {
		if skip(fromXmllint, m, counts) {
			continue
		}
		result := validate(t, schemas[m.kind], m.text)
		if verdicts[i] != result.Valid {
			t.Errorf("%s: xmllint says valid %v, we say %v: %+v", m.name, verdicts[i], result.Valid, result.Errors)
		}
		counts[map[bool]string{true: "valid", false: "refused"}[result.Valid]]++
	}
	t.Log(counts)
	for name, fewest := range map[string]int{"valid": 500, "refused": 1000, fromXmllint[0].name: 1} {
		if counts[name] < fewest {
			t.Errorf("only %d documents are of the kind %q; the test says little", counts[name], name)
		}
	}
}

// askXmllint returns of each document whether xmllint says that it validates. Of
// what isn't well-formed it says neither that nor that it fails to.
func askXmllint(t testing.TB, xmllint string, all []mutant) []bool {
	t.Helper()
	dir := t.TempDir()
	files := make(map[string][]string)
	index := make(map[string]int)
	for i, m := range all {
		file := filepath.Join(dir, fmt.Sprintf("%05d.xml", i))
		if err := os.WriteFile(file, []byte(m.text), 0o600); err != nil {
			t.Fatal(err)
		}
		files[m.kind] = append(files[m.kind], file)
		index[file] = i
	}
	verdicts := make([]bool, len(all))
	judged := 0
	for kind, entry := range map[string]string{"specimen": "specimen_definition.xsd", "experiment": "procedure_definition.xsd"} {
		args := append([]string{"--noout", "--nonet", "--schema", filepath.Join(material(t), "xsd", entry)}, files[kind]...)
		out, err := exec.Command(xmllint, args...).CombinedOutput() // it fails where a document does
		if err == nil {
			t.Fatalf("xmllint accepts all documents: %s", out)
		}
		for line := range strings.Lines(string(out)) {
			file, verdict, _ := strings.Cut(strings.TrimSpace(line), ".xml ")
			if i, ok := index[file+".xml"]; ok && (verdict == "validates" || verdict == "fails to validate") {
				verdicts[i] = verdict == "validates"
				judged++
			}
		}
	}
	if judged < len(all)*9/10 {
		t.Errorf("xmllint judged only %d of %d documents", judged, len(all))
	}
	return verdicts
}

func places(result Result) []string {
	var all []string
	for _, e := range result.Errors {
		all = append(all, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Exception))
	}
	return all
}
