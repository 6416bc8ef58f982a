package xsdcheck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ours compiles the project's schema for a kind of document.
func ours(t testing.TB, kind string) *Schema {
	t.Helper()
	s, err := Compile(os.DirFS(filepath.Join("..", "..", "schemas", "impc", "xsd")), kind+".xsd")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// material is the folder of reference schemas and samples, which is not part of
// the repository. A test that needs it is skipped where it is absent.
func material(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TRIBUTARY_IMPC")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "impc")
	}
	if _, err := os.Stat(filepath.Join(dir, "xsd")); err != nil {
		t.Skipf("no reference material in %s: set TRIBUTARY_IMPC to its folder", dir)
	}
	return dir
}

func reference(t testing.TB, kind string) *Schema {
	t.Helper()
	entry := map[string]string{"specimen": "specimen_definition.xsd", "experiment": "procedure_definition.xsd"}[kind]
	s, err := Compile(os.DirFS(filepath.Join(material(t), "xsd")), entry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kindOf(document string) string {
	if strings.Contains(document, "centreSpecimenSet") {
		return "specimen"
	}
	return "experiment"
}

func validate(t testing.TB, s *Schema, document string) Result {
	t.Helper()
	result, err := s.Validate(context.Background(), strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if result.Valid != (len(result.Errors) == 0) || result.Total < len(result.Errors) {
		t.Fatalf("inconsistent result %+v", result)
	}
	return result
}
