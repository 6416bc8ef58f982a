package pages

import (
	"testing"

	"tributary/web/access"
)

// Whoever looks at the past may do no more than read there, and no more than else.
func TestNobodyChangesThePast(t *testing.T) {
	for role, want := range map[access.Role]access.Role{access.Operator: access.Reader, access.Reader: access.Reader, access.Producer: access.Producer, access.Nobody: access.Nobody} {
		if got := access.From(asReader(access.With(t.Context(), access.Person{Name: "ann", Role: role}))); got.Role != want || got.Name != "ann" {
			t.Errorf("%s is %s, a %s", role, got.Name, got.Role)
		}
	}
}
