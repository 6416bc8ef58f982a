package pages

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/queries/notices"
	"tributary/queries/report"
	"tributary/schemas"
)

// noticesPage is what one rule of notifications tells, and how to be told it.
type noticesPage struct {
	Lead    lead
	Given   map[string]string
	Kinds   []kindOf
	Phases  []string
	Choices report.Choices
	Feed    string // the address of the same as a feed
	Rule    string // the same as the configuration has it
	Targets []targetOf
	Rows    []noticeRow
	Days    int
	Most    int // rows at most
}

// kindOf is a kind of notice, and when there is one, in words.
type kindOf struct {
	Kind, Says string
	Chosen     bool
}

// targetOf is who is told of a rule's kind, by the configuration of who serves the page.
type targetOf struct{ ID, How string }

type noticeRow struct {
	Title, Message, To       string
	Last, LastFull, DateTime string
}

// kinds are those of notices, as people are asked for one.
func kinds(chosen string) (out []kindOf) {
	says := map[string]string{
		config.PhaseReached: "a file or a document is through a phase", config.FileFailed: "a file has failed", config.FindingOpened: "data checks find something",
		config.CentreLate: "a source is late", config.BatchClosed: "a batch is in the warehouse", config.SourceSuspended: "a source is suspended", config.ClockSkewed: "a server's clock is wrong, or right again",
	}
	for _, kind := range config.NotifyKinds() {
		out = append(out, kindOf{kind, cmp.Or(says[kind], kind), kind == chosen})
	}
	return out
}

// noticesFilters are the filters of the page: what a rule may have, each once.
func noticesFilters() []string { return []string{"when", "phase", "centre", "source", "exception"} }

// noticed is the page of what a rule tells.
func (s *Site) noticed(ctx context.Context, r *http.Request) (page, error) {
	asked := url.Values{"when": {config.FileFailed}}
	for _, name := range noticesFilters() {
		if v := r.URL.Query().Get(name); v != "" {
			asked.Set(name, v)
		}
	}
	if asked.Get("when") != config.PhaseReached {
		asked.Del("phase") // which the form sends with every kind
	} else if asked.Get("phase") == "" {
		asked.Set("phase", string(schemas.Overview))
	}
	rule, err := feedRule(asked)
	if err != nil {
		return page{}, err
	}
	if s.Past == nil {
		return page{}, errNotHere
	}
	found, err := notices.Latest(ctx, s.Past, s.Now(), rule)
	if err != nil {
		return page{}, err
	}
	d := noticesPage{Given: map[string]string{}, Kinds: kinds(rule.When), Feed: s.to("/notices.xml") + "?" + asked.Encode(), Rule: written(rule), Targets: targetsOf(s.Notify, rule.When), Days: notices.Days, Most: notices.Most}
	for name := range asked {
		d.Given[name] = asked.Get(name)
	}
	for _, p := range schemas.Phases() {
		d.Phases = append(d.Phases, string(p))
	}
	if d.Choices, err = report.ReadChoices(ctx, s.Tracker); err != nil {
		return page{}, err
	}
	for _, n := range found {
		d.Rows = append(d.Rows, s.noticeRow(n))
	}
	d.Lead = lead{"done", plural(len(found), "notice", "notices") + " of this kind in the last seven days.", ""}
	if len(found) == 0 {
		d.Lead = lead{"pending", "There was no notice of this kind in the last seven days.", ""}
	}
	return page{Title: "Notices", At: "/notices", Template: "notices", Data: d, Command: "tributary notify show", Still: true}, nil
}

func (s *Site) noticeRow(n notice.Notice) noticeRow {
	return noticeRow{Title: n.Title, Message: cut(n.Data.Message), To: s.to(n.Data.Path()), Last: s.recent(n.Time), LastFull: s.full(n.Time), DateTime: n.Time.UTC().Format(time.RFC3339)}
}

// written is a rule as the configuration has it, but for whom it tells.
func written(rule config.NotifyRule) string {
	text := "when: " + rule.When
	if rule.Phase != "" {
		text += ", phase: " + rule.Phase
	}
	for _, x := range []struct {
		name  string
		words []string
	}{{"centres", rule.Centres}, {"sources", rule.Sources}, {"exceptions", rule.Exceptions}} {
		if len(x.words) == 0 {
			continue
		}
		quoted := make([]string, len(x.words))
		for i, w := range x.words {
			quoted[i] = strconv.Quote(w)
		}
		text += ", " + x.name + ": [" + strings.Join(quoted, ", ") + "]"
	}
	return "notify:\n  rules:\n    - {" + text + ", to: [TARGET]}"
}

// targetsOf are the targets that are told of a kind of notice, of some or of all.
func targetsOf(cfg config.Notify, kind string) (out []targetOf) {
	for _, t := range cfg.Targets {
		if !slices.ContainsFunc(cfg.Rules, func(r config.NotifyRule) bool { return r.When == kind && slices.Contains(r.To, t.ID) }) {
			continue
		}
		how := "mail"
		switch {
		case t.Webhook != "":
			how = "webhook"
		case t.Digest != 0:
			how = "mail every " + t.Digest.String()
		}
		out = append(out, targetOf{t.ID, how})
	}
	return out
}
