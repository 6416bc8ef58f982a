package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"tributary/queries/finding"
)

// findingsShown is how many findings of one check and centre a page lists.
const findingsShown = 100

// findings are the page of open findings: by check and centre, or those of one of each.
type findings struct {
	Lead   lead
	Levels []findingLevel
	Of     *findingsOf
}

// findingLevel are the checks with findings of one level.
type findingLevel struct {
	Title  string
	Checks []findingCheck
}

type findingCheck struct {
	Check, Meaning string
	Findings       int64
	Where          []where
}

// findingsOf are the open findings of one check and centre.
type findingsOf struct {
	Check, Centre, Meaning string
	Rows                   []finding.Finding
	More                   string // the next page; empty: there is none
}

func (s *Site) findings(ctx context.Context, r *http.Request) (page, error) {
	if s.then != nil {
		return s.findingsThen(ctx, r)
	}
	if s.Warehouse == nil {
		return page{}, errNotHere
	}
	q := r.URL.Query()
	p := page{Title: "Findings", At: "/findings", Template: "findings"}
	if q.Get("check") != "" || q.Get("centre") != "" {
		d, err := s.findingsOf(ctx, q.Get("centre"), q.Get("check"), q.Get("after"))
		p.Data = d
		return p, err
	}
	counts, err := finding.Counts(ctx, s.Warehouse)
	if err != nil {
		return page{}, err
	}
	p.Data = s.newFindings(counts)
	return p, nil
}

// findingLevels arranges counts, which come by level and check, under the titles of levels;
// to says where each leads.
func (s *Site) findingLevels(counts []finding.Count, titles map[string]string, to func(finding.Count) string) (out []findingLevel) {
	level := ""
	for _, c := range counts {
		if c.Level != level {
			out, level = append(out, findingLevel{Title: titles[c.Level]}), c.Level
		}
		l := &out[len(out)-1]
		if n := len(l.Checks); n == 0 || l.Checks[n-1].Check != c.Check {
			l.Checks = append(l.Checks, findingCheck{Check: c.Check, Meaning: s.meaning(c.Check)})
		}
		check := &l.Checks[len(l.Checks)-1]
		check.Findings += c.Findings
		check.Where = append(check.Where, where{Name: c.Centre, Files: c.Findings, To: to(c)})
	}
	return out
}

// newFindings are open findings, of all checks and centres.
func (s *Site) newFindings(counts []finding.Count) findings {
	titles := map[string]string{"error": "Errors: their documents have failed until these are corrected", "warn": "Warnings", "info": "Notes"}
	d, errs := findings{}, int64(0)
	d.Levels = s.findingLevels(counts, titles, func(c finding.Count) string {
		if c.Level == "error" {
			errs += c.Findings
		}
		return s.to("/findings", "centre", c.Centre, "check", c.Check)
	})
	switch {
	case errs > 0:
		d.Lead = lead{"failed", fmt.Sprintf("%s open in what was loaded.", plural(int(errs), "error is", "errors are")), ""}
	case len(counts) > 0:
		d.Lead = lead{"late", "Nothing that was loaded is wrong; something is odd.", ""}
	default:
		d.Lead = lead{"done", "No finding is open.", ""}
	}
	return d
}

func (s *Site) findingsOf(ctx context.Context, centre, check, after string) (findings, error) {
	if centre == "" || check == "" {
		return findings{}, fmt.Errorf("%w: name a centre and a check, or neither", errBadFilter)
	}
	all, err := finding.Open(ctx, s.Warehouse, centre, check, after, findingsShown+1)
	var bad *finding.KeyError
	if errors.As(err, &bad) {
		return findings{}, errors.Join(errBadFilter, err)
	}
	if err != nil {
		return findings{}, err
	}
	of := &findingsOf{Check: check, Centre: centre, Meaning: s.meaning(check), Rows: all}
	if len(all) > findingsShown {
		of.Rows = all[:findingsShown]
		of.More = s.to("/findings", "centre", centre, "check", check, "after", of.Rows[findingsShown-1].Key)
	}
	d := findings{Of: of, Lead: lead{"failed", "Open findings of " + check + " in data of " + centre + ".", ""}}
	switch {
	case len(all) == 0:
		d.Lead = lead{"done", "No finding of " + check + " is open in data of " + centre + ".", ""}
	case all[0].Level != "error":
		d.Lead.Status = "late"
	}
	return d, nil
}

// meaning is what a check finds; empty where nobody here knows it.
func (s *Site) meaning(check string) string {
	if s.Meaning == nil {
		return ""
	}
	return s.Meaning(check)
}
