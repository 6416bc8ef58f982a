package pages

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"tributary/queries/finding"
	"tributary/schemas"
)

// findingsThen are the documents that had failed for what data checks found.
type findingsThen struct {
	Lead   lead
	Checks []findingCheck

	Narrowed bool   // to a check, or a centre
	All      string // the page of all of them
}

// findingsThen is the page of findings as events tell of them: what the warehouse holds
// says what is found now, and not what was.
func (s *Site) findingsThen(ctx context.Context, r *http.Request) (page, error) {
	counts, err := finding.CountsThen(ctx, s.Tracker)
	if err != nil {
		return page{}, err
	}
	centre, check := r.URL.Query().Get("centre"), r.URL.Query().Get("check")
	d := findingsThen{All: s.to("/findings"), Narrowed: centre != "" || check != ""}
	documents := int64(0)
	for _, c := range counts {
		if check != "" && c.Check != check || centre != "" && !strings.EqualFold(c.Centre, centre) {
			continue
		}
		if n := len(d.Checks); n == 0 || d.Checks[n-1].Check != c.Check {
			d.Checks = append(d.Checks, findingCheck{Check: c.Check, Meaning: s.meaning(c.Check)})
		}
		x := &d.Checks[len(d.Checks)-1]
		x.Findings, documents = x.Findings+c.Findings, documents+c.Findings
		x.Where = append(x.Where, where{Name: c.Centre, Files: c.Findings, To: s.to("/documents", "phase", string(schemas.Data), "status", string(schemas.Failed), "exception", c.Check, "centre", c.Centre)})
	}
	d.Lead = lead{"done", "No document had failed for what data checks found.", ""}
	if documents > 0 {
		d.Lead = lead{"failed", fmt.Sprintf("%s failed for what data checks found.", plural(int(documents), "document had", "documents had")), ""}
	}
	return page{Title: "Findings", At: "/findings", Template: "findingsthen", Data: d}, nil
}
