package pages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tributary/queries/finding"
	"tributary/schemas"
)

// findingsThen is what data checks had found, as events tell of it.
type findingsThen struct {
	Lead   lead
	Levels []findingLevel
	Untold []string // centres of whose warnings and notes events don't tell

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
	untold, err := finding.UntoldThen(ctx, s.Tracker)
	if err != nil {
		return page{}, err
	}
	centre, check := r.URL.Query().Get("centre"), r.URL.Query().Get("check")
	other := func(of string) bool { return centre != "" && !strings.EqualFold(of, centre) }
	counts = slices.DeleteFunc(counts, func(c finding.Count) bool { return check != "" && c.Check != check || other(c.Centre) })
	d := findingsThen{All: s.to("/findings"), Narrowed: centre != "" || check != "", Untold: slices.DeleteFunc(untold, other)}
	var documents, odd int
	d.Levels = s.findingLevels(counts, map[string]string{"error": "Errors: documents that had failed, each by what was found first",
		"warn": "Warnings, when the last batch of their centre had ended", "info": "Notes, when the last batch of their centre had ended"}, func(c finding.Count) string {
		if c.Level != "error" {
			odd += int(c.Findings)
			return "" // which they were is told nowhere
		}
		documents += int(c.Findings)
		return s.to("/documents", "phase", string(schemas.Data), "status", string(schemas.Failed), "exception", c.Check, "centre", c.Centre)
	})
	switch {
	case documents > 0:
		d.Lead = lead{"failed", fmt.Sprintf("%s failed for what data checks found.", plural(documents, "document had", "documents had")), ""}
	case odd > 0:
		d.Lead = lead{"late", "No document had failed for what data checks found; something was odd.", ""}
	default:
		d.Lead = lead{"done", "No document had failed for what data checks found.", ""}
	}
	return page{Title: "Findings", At: "/findings", Template: "findingsthen", Data: d}, nil
}
