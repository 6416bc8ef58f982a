package sourcestate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/sql/control"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What a poll makes of its source: too many failed ones in a row suspend it, and
// the first that shows something ends that.
func TestAPollDecidesHowItsSourceStands(t *testing.T) {
	limits := Limits{After: 3, Probe: 6 * time.Hour, Sooner: map[string]int{"authorization": 2, "max_resources": 1}}
	failed, shown := End{Failed: true, Why: "login_failed: no", At: noon}, End{At: noon}
	refused, crowded := End{Failed: true, Class: "authorization", Why: "login_failed: no", At: noon}, End{Failed: true, Class: "max_resources", Why: "too_many_entries: 9", At: noon}
	lost := End{Failed: true, Class: "connection", Why: "connection_lost: oh", At: noon}
	long, before := noon.Add(-6*time.Hour), noon.Add(-time.Hour)
	dayBefore, monthBefore := noon.Add(-24*time.Hour), noon.Add(-30*24*time.Hour)
	available := func(failures, failedPolls int) control.Standing {
		s := control.Standing{Source: control.Source{State: "available"}, Failures: failures, FailedPolls: failedPolls}
		if failedPolls > 0 {
			s.FailingSince = &long
		}
		return s
	}
	since := func(s control.Standing, first *time.Time) control.Standing {
		s.FailingSince = first
		return s
	}
	suspended := control.Standing{Source: control.Source{State: "suspended"}, Failures: 5, FailedPolls: 3, FailingSince: &long, SuspendedAt: &before, SuspendedWhy: "why"}
	classed := func(s control.Standing, classes map[string]int) control.Standing {
		s.FailedClasses = classes
		return s
	}
	state := func(s control.Standing, state string, failedPolls int, since *time.Time, why string) control.Standing {
		s.State, s.FailedPolls, s.SuspendedAt, s.SuspendedWhy = state, failedPolls, since, why
		return s
	}
	probe := noon.Add(limits.Probe)
	for name, c := range map[string]struct {
		was    control.Standing
		limits Limits
		end    End
		want   control.Standing
		due    time.Time
	}{
		"the first failure":                   {available(0, 0), limits, failed, since(available(0, 1), &noon), time.Time{}},
		"the last but one":                    {available(1, 1), limits, failed, available(1, 2), time.Time{}},
		"one too many":                        {available(2, 2), limits, failed, state(available(2, 2), "suspended", 3, &noon, "3 polls in a row failed, the last of them: login_failed: no"), probe},
		"never":                               {available(90, 90), Limits{Probe: time.Hour}, failed, available(90, 91), time.Time{}},
		"something shown ends the row":        {available(2, 2), limits, shown, available(2, 0), time.Time{}},
		"too many, but for too short a time":  {since(available(8, 8), &before), limits, failed, since(available(8, 9), &before), time.Time{}},
		"a complete poll that nobody counted": {available(0, 2), limits, failed, since(available(0, 1), &noon), time.Time{}},
		"the second refusal, but for however short a time": {since(classed(available(1, 1), map[string]int{"authorization": 1}), &before), limits, refused,
			classed(state(since(available(1, 1), &before), "suspended", 2, &noon, "2 polls failed with errors of the class authorization, the last of them: login_failed: no"), map[string]int{"authorization": 2}), probe},
		"a refusal after another error":                          {classed(available(1, 1), map[string]int{"connection": 1}), limits, refused, classed(available(1, 2), map[string]int{"connection": 1, "authorization": 1}), time.Time{}},
		"other errors don't end the row":                         {classed(since(available(2, 2), &before), map[string]int{"authorization": 1, "connection": 1}), limits, lost, classed(since(available(2, 3), &before), map[string]int{"authorization": 1, "connection": 2}), time.Time{}},
		"a listing does":                                         {classed(available(1, 1), map[string]int{"authorization": 1}), limits, shown, available(1, 0), time.Time{}},
		"a member that knows no classes has begun to count anew": {classed(available(1, 1), map[string]int{"authorization": 5}), limits, refused, classed(available(1, 2), map[string]int{"authorization": 1}), time.Time{}},
		"a class without a number":                               {available(0, 0), Limits{After: 3, Probe: time.Hour}, refused, classed(since(available(0, 1), &noon), map[string]int{"authorization": 1}), time.Time{}},
		"more than is allowed":                                   {available(0, 0), limits, crowded, classed(state(since(available(0, 0), &noon), "suspended", 1, &noon, "too_many_entries: 9"), map[string]int{"max_resources": 1}), probe},
		"more than is allowed, and nothing else suspends":        {available(0, 0), Limits{Probe: 6 * time.Hour, Sooner: limits.Sooner}, crowded, classed(state(since(available(0, 0), &noon), "suspended", 1, &noon, "too_many_entries: 9"), map[string]int{"max_resources": 1}), probe},
		"a probe fails":                                          {suspended, limits, failed, state(suspended, "suspended", 4, &before, "why"), probe},
		"a probe fails after a day":                              {since(suspended, &dayBefore), limits, failed, since(state(suspended, "suspended", 4, &before, "why"), &dayBefore), noon.Add(24 * time.Hour)},
		"a probe fails after a month":                            {since(suspended, &monthBefore), limits, failed, since(state(suspended, "suspended", 4, &before, "why"), &monthBefore), noon.Add(48 * time.Hour)},
		"a probe of one that was restored":                       {since(suspended, nil), limits, failed, since(state(suspended, "suspended", 1, &before, "why"), &noon), probe},
		"a probe shows something":                                {suspended, limits, shown, since(state(suspended, "available", 0, nil, ""), nil), time.Time{}},
		"a source in maintenance stays there":                    {state(available(9, 9), "maintenance", 9, nil, ""), limits, failed, state(available(9, 9), "maintenance", 10, nil, ""), time.Time{}},
		"one that was removed meanwhile as well":                 {state(available(9, 9), "removed", 0, nil, ""), limits, shown, since(state(available(9, 9), "removed", 0, nil, ""), nil), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, due := After(c.was, c.limits, c.end)
			if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("it stands otherwise (- want, + got):\n%s", d)
			}
			if !due.Equal(c.due) {
				t.Errorf("it is due at %s at the earliest, want %s", due, c.due)
			}
		})
	}
}
