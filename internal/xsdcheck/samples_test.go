package xsdcheck

import (
	"os"
	"path/filepath"
	"testing"
)

func samples(t testing.TB, sort string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(material(t), "samples", sort, "*.xml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s samples: %v", sort, err)
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(data)
	}
	return texts
}

func TestSamples(t *testing.T) {
	schemas := map[string]*Schema{"specimen": ours(t, "specimen"), "experiment": ours(t, "experiment")}
	for _, sort := range []string{"valid", "invalid"} {
		for name, text := range samples(t, sort) {
			result := validate(t, schemas[kindOf(text)], text)
			if result.Valid != (sort == "valid") {
				t.Errorf("%s: valid %v; %+v", name, result.Valid, result.Errors)
			}
			for _, e := range result.Errors {
				t.Logf("%s:%d:%d %s %s", name, e.Line, e.Column, e.Exception, e.Message)
			}
		}
	}
}
