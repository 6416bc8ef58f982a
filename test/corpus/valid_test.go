package corpus

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// schemas returns folders of schemas by what they are, with the file names for
// both kinds of document: the project's own, and the reference if it is there.
func schemas(t *testing.T) map[string][2]string {
	t.Helper()
	own := filepath.Join("..", "..", "schemas", "impc", "xsd")
	out := map[string][2]string{"own": {filepath.Join(own, "specimen.xsd"), filepath.Join(own, "experiment.xsd")}}
	reference := os.Getenv("TRIBUTARY_IMPC")
	if reference == "" {
		reference = filepath.Join("..", "..", "..", "shared", "impc")
	}
	reference = filepath.Join(reference, "xsd")
	if _, err := os.Stat(reference); err != nil {
		t.Logf("no reference schemas: set TRIBUTARY_IMPC to the folder that has them in xsd (%v)", err)
		return out
	}
	out["reference"] = [2]string{filepath.Join(reference, "specimen_definition.xsd"), filepath.Join(reference, "procedure_definition.xsd")}
	return out
}

func xmllint(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("xmllint")
	if err == nil {
		return path
	}
	if os.Getenv("TRIBUTARY_REQUIRE_ENGINES") == "1" {
		t.Fatalf("xmllint is required: %v", err)
	}
	t.Skipf("xmllint is not installed: %v", err)
	return ""
}

// libxml2 must find every document valid, but those that the oracle calls
// invalid, and those at the line that the oracle names.
func TestDocumentsAreValid(t *testing.T) {
	tool := xmllint(t)
	for which, files := range schemas(t) {
		for _, o := range append(shapes(), Options{Seed: 1, Shape: Whole, Zips: 70}) {
			t.Run(which+"/"+o.Shape, func(t *testing.T) {
				c := generate(t, o)
				dir := t.TempDir()
				ends := map[string]DocEnd{}
				paths := [2][]string{}
				n := 0
				for _, f := range c.files {
					for _, d := range f.docs {
						path := filepath.Join(dir, strconv.Itoa(n)+".xml")
						n++
						out, err := os.Create(path)
						if err != nil {
							t.Fatal(err)
						}
						if err := d.write(out); err != nil {
							t.Fatal(err)
						}
						if err := out.Close(); err != nil {
							t.Fatal(err)
						}
						for _, e := range c.Oracle.Documents {
							if e.File == f.name && e.Action == f.action && e.Document == d.name {
								ends[path] = e
							}
						}
						kind := 0
						if d.kind == experimentKind {
							kind = 1
						}
						paths[kind] = append(paths[kind], path)
					}
				}
				for kind, list := range paths {
					lint(t, tool, files[kind], list, ends)
				}
			})
		}
	}
}

func lint(t *testing.T, tool, schema string, paths []string, ends map[string]DocEnd) {
	t.Helper()
	if len(paths) == 0 {
		return
	}
	// Its exit code is about all files together; the lines say which is what.
	raw, err := exec.Command(tool, append([]string{"--noout", "--nonet", "--schema", schema}, paths...)...).CombinedOutput()
	text := string(raw)
	if strings.Contains(text, "failed to compile") {
		t.Fatalf("%s: %v\n%s", schema, err, text)
	}
	lines := regexp.MustCompile(`(?m)^(\S+\.xml):(\d+): `).FindAllStringSubmatch(text, -1)
	for _, path := range paths {
		want := ends[path]
		valid := strings.Contains(text, path+" validates\n")
		broken := want.Phase == "xsd" && want.Errors[0].Exception != "xml_doctype_refused" // libxml2 has nothing against one
		if valid == broken {
			t.Errorf("%s of %s: valid is %t, the oracle says %s %s\n%s", want.Document, want.File, valid, want.Phase, want.Status, about(text, path))
		}
		if !broken {
			continue
		}
		found := false
		for _, l := range lines {
			found = found || l[1] == path && l[2] == strconv.Itoa(want.Errors[0].Line)
		}
		if !found {
			t.Errorf("%s of %s: nothing at line %d\n%s", want.Document, want.File, want.Errors[0].Line, about(text, path))
		}
	}
}

func about(text, path string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, path) && len(out) < 5 {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
