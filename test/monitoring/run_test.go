package monitoring

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// scrapeEvery is how often the test asks for metrics.
const scrapeEvery = 3 * time.Second

// rare are metrics that a run does not expose in which nothing goes wrong.
func rare() []string {
	return []string{"ALERTS", "tributary_stage_blocked", "tributary_stage_dlq_records_total", "tributary_stage_expired_records_total"}
}

// Every query of the dashboards, and every rule, is executed on what a run of the demo
// exposes. Each finds something there; but what tells of trouble, and rules, which fire
// on nothing of it that is critical.
func TestQueriesOnARun(t *testing.T) {
	if os.Getenv("TRIBUTARY_MONITORING") != "1" {
		t.Skip("make test-monitoring runs it")
	}
	run := scraped(t)
	from, to := run.times()
	t.Logf("%d series in %s", len(run.series()), to.Sub(from))
	for _, q := range queries(t) {
		m, err := answer(t, run.series(), q.expression(), from, to, scrapeEvery)
		if err != nil {
			t.Errorf("%s: %s: %v", q.at, q.text, err)
			continue
		}
		if len(m) == 0 && !run.lacks(t, q.expression()) {
			t.Errorf("%s: %s finds nothing in what a run exposes", q.at, q.text)
		}
	}
	for name, r := range alerts(t) {
		m, err := answer(t, run.series(), r.Expr, to, to, scrapeEvery)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(m) > 0 && r.Labels["severity"] == "critical" {
			t.Errorf("%s: when nothing is wrong its expression says %s", name, m)
		}
		run.lacks(t, r.Expr)
	}
}

// scrapes are series by their labels.
type scrapes map[string]*promql.Series

func (s scrapes) series() (all series) {
	for _, one := range s {
		all = append(all, *one)
	}
	return all
}

// times are when the first scrape was, and the last.
func (s scrapes) times() (from, to time.Time) {
	points := s[labels.FromStrings("__name__", "up", "instance", "demo", "job", "tributary", "role", "all").String()].Floats
	return time.UnixMilli(points[0].T), time.UnixMilli(points[len(points)-1].T)
}

// lacks tells whether the run does not expose a metric that an expression asks for;
// these must be rare.
func (s scrapes) lacks(t *testing.T, expression string) (any bool) {
	t.Helper()
	e, err := language().ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	for _, matchers := range parser.ExtractSelectors(e) {
		for _, m := range matchers {
			if m.Name != "__name__" || slices.ContainsFunc(s.series(), func(one promql.Series) bool { return m.Matches(one.Metric.Get(m.Name)) }) {
				continue
			}
			any = true
			if !slices.Contains(rare(), m.Value) {
				t.Errorf("%s asks for %s, which a run does not expose", expression, m.Value)
			}
		}
	}
	return any
}

// scraped is what the demo exposes while its centres deliver a fortnight.
func scraped(t *testing.T) scrapes {
	t.Helper()
	dir, err := os.MkdirTemp("", "tributary-monitoring-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres must get in
		t.Fatal(err)
	}
	for to, of := range map[string]string{"tributary": "./cmd/tributary", "demo": "./test/demo"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, to), of)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", of, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	demo := exec.CommandContext(ctx, filepath.Join(dir, "demo"), "-binary", filepath.Join(dir, "tributary"), "-dir", filepath.Join(dir, "data"), "-live", "45s")
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	demo.WaitDelay = 5 * time.Minute
	demo.Stderr = t.Output()
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	metrics, over, ended := make(chan string, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := regexp.MustCompile(`Metrics are at (http://\S+/metrics)`).FindStringSubmatch(lines.Text()); m != nil {
				metrics <- m[1]
			}
			if strings.Contains(lines.Text(), "The fortnight is over") {
				close(over)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := demo.Wait(); err != nil && demo.ProcessState.ExitCode() != 0 {
			t.Errorf("the demo: %v", err)
		}
	})
	var at string
	select {
	case at = <-metrics:
	case <-ended:
		t.Fatal("the demo has ended, and has not said where metrics are")
	}
	all := scrapes{}
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for left := 12; left > 0; { // after the fortnight, so that measures of its end are there
		if err := all.scrape(ctx, at); err != nil {
			t.Fatal(err)
		}
		select {
		case <-over:
			left--
		default:
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the fortnight does not end")
		}
	}
	return all
}

// scrape asks for metrics once, and stores them as Prometheus does.
func (s scrapes) scrape(ctx context.Context, at string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	reader := expfmt.NewTextParser(model.UTF8Validation)
	families, err := reader.TextToMetricFamilies(answer.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	now := time.Now().UnixMilli()
	s.add(now, "up", nil, 1)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			switch h := m.GetHistogram(); {
			case h != nil:
				for _, b := range h.GetBucket() {
					s.add(now, name+"_bucket", append([]*dto.LabelPair{{Name: new("le"), Value: new(bound(b.GetUpperBound()))}}, m.GetLabel()...), float64(b.GetCumulativeCount()))
				}
				s.add(now, name+"_sum", m.GetLabel(), h.GetSampleSum())
				s.add(now, name+"_count", m.GetLabel(), float64(h.GetSampleCount()))
			case m.Summary == nil:
				s.add(now, name, m.GetLabel(), m.GetCounter().GetValue()+m.GetGauge().GetValue()+m.GetUntyped().GetValue())
			}
		}
	}
	return nil
}

func bound(le float64) string {
	if math.IsInf(le, 1) {
		return "+Inf"
	}
	return fmt.Sprint(le)
}

// add stores a value with the labels of compose/prometheus/prometheus.yml.
func (s scrapes) add(at int64, name string, of []*dto.LabelPair, value float64) {
	all := []string{"__name__", name, "instance", "demo", "job", "tributary", "role", "all"}
	for _, l := range of {
		all = append(all, l.GetName(), l.GetValue())
	}
	metric := labels.FromStrings(all...)
	if s[metric.String()] == nil {
		s[metric.String()] = &promql.Series{Metric: metric}
	}
	one := s[metric.String()]
	one.Floats = append(one.Floats, promql.FPoint{T: at, F: value})
}
