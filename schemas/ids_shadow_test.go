package schemas_test

import (
	"testing"

	"github.com/google/uuid"

	"tributary/schemas"
)

func TestOnlyShadowRunsAreShadows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		run, err := schemas.NewShadowRun()
		if err != nil {
			t.Fatal(err)
		}
		id, err := uuid.Parse(run)
		switch {
		case err != nil || id.Variant() != uuid.RFC4122:
			t.Errorf("%s is no UUID of RFC 9562: %v", run, err)
		case !schemas.IsShadow(run):
			t.Errorf("%s is a shadow's id and not known as one", run)
		case seen[run]:
			t.Errorf("%s was given twice", run)
		}
		seen[run] = true
		if replay := uuid.NewString(); schemas.IsShadow(replay) {
			t.Errorf("a live replay's id %s is taken for a shadow's", replay)
		}
	}
	for _, run := range []string{schemas.LiveRun, schemas.ID("run"), "", "8"} {
		if schemas.IsShadow(run) {
			t.Errorf("%q is taken for a shadow's", run)
		}
	}
}
