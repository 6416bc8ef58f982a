package sourcestate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/sql/control"
)

// What was meant is answered one by one: named sources whatever became of them,
// and with --all those that were resumed.
func TestWhatBecomesOfSourcesToResume(t *testing.T) {
	found := []control.Standing{{Source: control.Source{ID: "a", State: "available"}}, {Source: control.Source{ID: "b", State: "maintenance"}}}
	const due = "it is available, and due at once"
	for name, c := range map[string]struct {
		named, resumed []string
		want           []Outcome
	}{
		"named": {[]string{"b", "a", "new"}, []string{"a"}, []Outcome{
			{"b", false, "it was not suspended: it is maintenance"}, {"a", true, due}, {"new", false, "it was never polled: nothing has started with it in the configuration yet"}}},
		"all":  {nil, []string{"a"}, []Outcome{{"a", true, due}}},
		"none": {nil, nil, []Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Outcomes(c.named, c.resumed, found)); d != "" {
				t.Errorf("rows differ (- want, + got):\n%s", d)
			}
		})
	}
}
