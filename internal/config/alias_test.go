package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestAliasesAreBounded shows that what aliases repeat is counted before it is followed: a
// block that holds itself, by a merge key too, and blocks of which each holds the one before
// twice, are refused with their line, and many that repeat a template are read.
func TestAliasesAreBounded(t *testing.T) {
	const one = "id: x, centre: H, url: 'file:///a'"
	doubled := "sources:\n  - &a0 {" + one + "}\n"
	for i := range 60 {
		doubled += fmt.Sprintf("  - &a%d {<<: *a%d, <<: *a%d}\n", i+1, i, i)
	}
	wide := "sources:\n  - &s {" + one + ", filters: [" + strings.Repeat("{include: a}, ", 1000) + "]}\n" + strings.Repeat("  - *s\n", 1000)
	for name, tc := range map[string]struct{ text, want string }{
		"a block in itself":         {"sources:\n  - &a {<<: *a, " + one + "}\n", ":2: not valid YAML: *a stands within what it repeats"},
		"a list in itself":          {"sources: &a\n  - *a\n", ":2: not valid YAML: *a stands within what it repeats"},
		"through another":           {"sources:\n  - &a {<<: {<<: *a}, " + one + "}\n", ":2: not valid YAML: *a stands within what it repeats"},
		"each the one before twice": {doubled, "aliases repeat more than 500000 values"},
		"a long one very often":     {wide, "aliases repeat more than 500000 values"},
	} {
		_, err := Default().ParseSources("many.yaml", strings.NewReader(tc.text), t.TempDir(), Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %.300v, want %s", name, err, tc.want)
		}
	}
	template := "sources:\n  - &t {id: s0, centre: H, url: 'file:///a', interval: 1h, filters: [{include: a}, {exclude: b}]}\n"
	for i := range 2000 {
		template += fmt.Sprintf("  - {<<: *t, id: s%d}\n", i+1)
	}
	if got, err := Default().ParseSources("many.yaml", strings.NewReader(template), t.TempDir(), Options{}); err != nil || len(got) != 2001 || len(got[2000].Filters) != 2 {
		t.Errorf("%d sources by a template: %.300v", len(got), err)
	}
}

// TestLongValuesAreToldShort shows that a problem is read, however long the value is: it has
// the line, the beginning of key and value, and what to do.
func TestLongValuesAreToldShort(t *testing.T) {
	long := strings.Repeat("A", 100_000)
	for name, text := range map[string]string{"value": "poll:\n  idle_timeout: " + long + "\n", "key": "poll:\n  " + long[:1000] + ": 1\n", "list": "sources:\n  - {id: " + long + ", centre: H, url: 'file:///a'}\n"} {
		_, err := Load(write(t, text), nil, Options{})
		if err == nil || len(err.Error()) > 3000 || !strings.Contains(err.Error(), "AAA") || !strings.Contains(err.Error(), ":2: ") {
			t.Errorf("a long %s: %.3000v", name, err)
		}
	}
}
