package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// query is an expression of a dashboard, with Grafana's variables in it.
type query struct{ at, text string }

// expression is the query as Grafana would ask it.
func (q query) expression() string {
	return strings.NewReplacer("$__rate_interval", "1m", "$source", ".*").Replace(q.text)
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr string }
}

// queries are those of all dashboards, each of which is as Grafana wants it: a panel's
// id is its own, it says what it shows, and lies on no other.
func queries(t *testing.T) (all []query) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "compose/grafana/dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	uids := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID, Title string
			Panels     []panel
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if uids[board.UID] || board.UID == "" || board.Title == "" {
			t.Errorf("%s: uid %q, title %q", file, board.UID, board.Title)
		}
		uids[board.UID] = true
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range board.Panels {
			at := filepath.Base(file) + ": " + p.Title
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: the id %d is another panel's, or there is no title", at, p.ID)
			}
			ids[p.ID] = true
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if other := cells[cell]; other != "" || cell[0] >= 24 {
						t.Fatalf("%s lies on %q, or beyond the edge", at, other)
					}
					cells[cell] = p.Title
				}
			}
			if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
				t.Errorf("%s says or asks nothing", at)
			}
			for _, target := range p.Targets {
				all = append(all, query{at, target.Expr})
			}
		}
	}
	return all
}

// known are the metrics of the reference with their labels.
func known(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{
		"up": {}, "ALERTS": {"alertname", "alertstate"}, "process_resident_memory_bytes": {},
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(tributary_\\w+)(?:\\{([^}]*)\\})?` \\| (\\w+) ").FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = strings.Split(m[2], ",")
		if m[3] == "histogram" {
			all[m[1]+"_bucket"] = append(strings.Split(m[2], ","), "le")
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d metrics in the reference", len(all))
	}
	return all
}

// Every metric and every label in a rule or a query is one that the reference has, or
// that Prometheus adds.
func TestQueriesAskForWhatThereIs(t *testing.T) {
	metrics := known(t)
	asked := queries(t)
	for name, r := range alerts(t) {
		asked = append(asked, query{name, r.Expr})
	}
	for _, q := range asked {
		e, err := language().ParseExpr(q.expression())
		if err != nil {
			t.Errorf("%s: %v", q.at, err)
			continue
		}
		labels := []string{"job", "instance", "role"}
		for _, s := range parser.ExtractSelectors(e) {
			for _, m := range s {
				if m.Name == "__name__" {
					more, is := metrics[m.Value]
					if !is {
						t.Errorf("%s asks for %s, which nobody exposes", q.at, m.Value)
					}
					labels = append(labels, more...)
				}
			}
		}
		for _, name := range named(e) {
			if !slices.Contains(labels, name) {
				t.Errorf("%s asks for the label %s, which none of its metrics has", q.at, name)
			}
		}
	}
}

// named are the labels that an expression matches, or groups by.
func named(e parser.Expr) (all []string) {
	for _, s := range parser.ExtractSelectors(e) {
		for _, m := range s {
			if m.Name != "__name__" {
				all = append(all, m.Name)
			}
		}
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, is := n.(*parser.AggregateExpr); is && !a.Without {
			all = append(all, slices.DeleteFunc(slices.Clone(a.Grouping), func(l string) bool { return l == "stage" && relabelled(a) })...)
		}
		return nil
	})
	return all
}

// relabelled tells whether an expression makes labels of its own.
func relabelled(a *parser.AggregateExpr) bool {
	c, is := a.Expr.(*parser.Call)
	return is && c.Func.Name == "label_replace"
}
