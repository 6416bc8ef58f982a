package filter_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tributary/queries/report"
	"tributary/web/filter"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]struct {
		filter  report.Filter
		command string
	}{
		"":                           {report.Filter{}, "tributary files"},
		"q=bcm&theme=dark":           {report.Filter{Contains: "bcm"}, "tributary files --q bcm"},
		"q=Bcm.*":                    {report.Filter{Name: "Bcm.*"}, "tributary files 'Bcm.*'"},
		"centre=it's&sort=newest":    {report.Filter{Centre: "it's", Sort: "newest"}, `tributary files --centre 'it'\''s' --sort newest`},
		"since=2h&until=2026-11-22":  {report.Filter{Since: now.Add(-2 * time.Hour), Until: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, "tributary files --since 2h --until 2026-11-22"},
		"waiting=1&sha256=abcdef":    {report.Filter{Waiting: true, SHA256: "abcdef"}, "tributary files --waiting --sha256 abcdef"},
		"waiting=false&limit=7":      {report.Filter{Limit: 7}, "tributary files"},
		"action=add&phase=xsd":       {report.Filter{Action: "add", Phase: "xsd"}, "tributary files --phase xsd --action add"},
		"session=17&status=failed":   {report.Filter{Session: "17", Status: "failed"}, "tributary files --status failed --session 17"},
		"source=a&exception=b&after": {report.Filter{Source: "a", Exception: "b"}, "tributary files --exception b --source a"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := filter.Parse(values, now)
		if d := cmp.Diff(want.filter, got, cmpopts.IgnoreUnexported(report.Filter{})); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", query, err, d)
		}
		if c := filter.Command("files", values, got); c != want.command {
			t.Errorf("%s: %s, want %s", query, c, want.command)
		}
	}
	for query, want := range map[string]string{
		"since=soon": "since", "until=1": "until", "waiting=perhaps": "waiting", "limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "phase=x": "phase",
		"q=" + strings.Repeat("x", 21<<10): "q", "after=" + strings.Repeat("x", 21<<10): "after", "q=%00": "q",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = filter.Parse(values, now)
		var bad *report.FilterError
		if !errors.As(err, &bad) || bad.Filter != want || len(err.Error()) > 400 {
			t.Errorf("%.40s: %v", query, err)
		}
	}
}
