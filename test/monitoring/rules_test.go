package monitoring

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

const (
	root     = "../.."
	runbooks = "docs/runbooks"
)

// alerts are the rules, by name, as Prometheus reads and checks them.
func alerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(filepath.Join(root, "compose/prometheus/rules.yml"), false, model.UTF8Validation, language(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if _, twice := all[r.Alert]; twice || r.Alert == "" {
				t.Fatalf("%s: %q is twice there, or no alert", g.Name, r.Alert)
			}
			all[r.Alert] = r
		}
	}
	return all
}

// Every alert says how bad it is, what it is in words, and which page tells what to
// do; every page is of an alert.
func TestEveryAlertHasAPage(t *testing.T) {
	all := alerts(t)
	for name, r := range all {
		page := filepath.Join(runbooks, name+".md")
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity is %q", name, s)
		}
		if r.Annotations["summary"] == "" || r.Annotations["runbook"] != page {
			t.Errorf("%s: summary %q, runbook %q, want %s", name, r.Annotations["summary"], r.Annotations["runbook"], page)
		}
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil || !strings.HasPrefix(string(text), "# "+name+"\n") {
			t.Errorf("%s: %v, or it is another alert's", page, err)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, runbooks, "Tributary*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if _, is := all[strings.TrimSuffix(filepath.Base(page), ".md")]; !is {
			t.Errorf("%s is the page of no alert", page)
		}
	}
}

// fires tells whether an alert fires on series, which have a value each minute for so
// long: what it asks for must be so for its whole time.
func fires(t *testing.T, r rulefmt.Rule, of series, minutes int) bool {
	t.Helper()
	from := time.UnixMilli(0)
	m, err := answer(t, of, r.Expr, from, from.Add(time.Duration(minutes)*time.Minute), time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	for _, s := range m {
		if longest(s.Floats) >= time.Duration(r.For) {
			return true
		}
	}
	return false
}

// longest is for how long points follow each other minute by minute.
func longest(points []promql.FPoint) (most time.Duration) {
	begun := 0
	for i := range points {
		if i > 0 && points[i].T-points[i-1].T > time.Minute.Milliseconds() {
			begun = i
		}
		most = max(most, time.Duration(points[i].T-points[begun].T)*time.Millisecond)
	}
	return most
}

// Every alert fires on a series that it is for, and not on one that is nearly it.
func TestEveryAlertFires(t *testing.T) {
	all := alerts(t)
	for name := range all {
		if len(firing()[name].on) == 0 || len(firing()[name].notOn) == 0 {
			t.Errorf("%s is tried on nothing", name)
		}
	}
	for name, try := range firing() {
		r, is := all[name]
		if !is {
			t.Errorf("there is no alert %s", name)
			continue
		}
		minutes := 0
		for _, one := range append(described(t, try.on...), described(t, try.notOn...)...) {
			minutes = max(minutes, len(one.Floats))
		}
		if !fires(t, r, described(t, try.on...), minutes) {
			t.Errorf("%s does not fire on %s", name, try.on)
		}
		if fires(t, r, described(t, try.notOn...), minutes) {
			t.Errorf("%s fires on %s", name, try.notOn)
		}
	}
}
