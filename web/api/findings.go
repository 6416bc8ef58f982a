package api

import (
	"context"
	"errors"
	"net/http"

	"tributary/queries/asof"
	"tributary/queries/finding"
	"tributary/queries/report"
	"tributary/schemas"
)

// Check is how many findings of a check are open for a centre, and what it finds.
type Check struct {
	finding.Count
	Meaning string `json:"meaning" doc:"what the check finds; empty where nobody here knows"`
}

// What is said of findings as of a moment.
const (
	countsThen   = "; of a moment, as errors, the documents that had failed for them, each by what was found first, and of warnings and notes how many were open when each centre's last batch ended (where an older program applied that end, events don't tell)"
	findingsThen = "; of a moment the documents that had failed for them, each by what was found first: which records had warnings and notes events don't tell"
)

// findings registers what is asked about the findings of data checks.
func (a *API) findings() {
	getAt(a, "/findings", "countFindings", "How many findings of data checks are open, by check and centre, the gravest first"+countsThen, func(*Momentary) asof.Scope {
		return asof.Scope{Failed: string(schemas.Data), Findings: true}
	}, func(ctx context.Context, t tracked, _ *Momentary) ([]Check, error) {
		counts, err := a.countFindings(ctx, t)
		out := make([]Check, len(counts))
		for i, c := range counts {
			out[i] = Check{Count: c, Meaning: a.meaning(c.Check)}
		}
		return out, err
	})
	getAt(a, "/findings/{centre}/{check}", "listFindings", "Open findings of a check in data of a centre, in the order of their documents"+findingsThen, func(in *found) asof.Scope {
		return asof.Scope{Failed: string(schemas.Data), Centre: in.Centre}
	}, func(ctx context.Context, t tracked, in *found) (part[finding.Finding], error) {
		if t.at != nil {
			return findingsAt(ctx, t, in)
		}
		if a.deps.Warehouse == nil {
			return part[finding.Finding]{}, notHere()
		}
		rows, err := finding.Open(ctx, a.deps.Warehouse, in.Centre, in.Check, in.After, in.Limit+1)
		var bad *finding.KeyError
		if errors.As(err, &bad) {
			err = &refusal{"bad_filter", http.StatusBadRequest, bad.Error()}
		}
		return parted(rows, in.Limit, func(f finding.Finding) string { return f.Key }), err
	})
}

// found are the findings that are listed.
type found struct {
	Momentary
	Centre string `path:"centre" maxLength:"200" doc:"the centre whose data it is"`
	Check  string `path:"check" maxLength:"200" doc:"the check's name"`
	After  string `query:"after" maxLength:"20480" doc:"next of the part before"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"how many rows at most"`
}

func (a *API) countFindings(ctx context.Context, t tracked) ([]finding.Count, error) {
	switch {
	case t.at != nil:
		return finding.CountsThen(ctx, t.Querier)
	case a.deps.Warehouse == nil:
		return nil, notHere()
	}
	return finding.Counts(ctx, a.deps.Warehouse)
}

// findingsAt lists the documents that had failed for what a check found, in the order of
// their files. Their list goes on as that of documents does.
func findingsAt(ctx context.Context, t tracked, in *found) (part[finding.Finding], error) {
	p, err := report.DocumentPage(ctx, t.Querier, report.Filter{Phase: string(schemas.Data), Status: string(schemas.Failed), Exception: in.Check, Centre: in.Centre, Sort: "name", After: in.After, Limit: in.Limit})
	out := part[finding.Finding]{Rows: []finding.Finding{}, Next: p.Next}
	for _, d := range p.Rows {
		f := finding.Finding{Check: in.Check, Level: "error", Centre: in.Centre, File: d.File, Action: d.Action, Document: d.Document}
		if len(d.Errors) > 0 {
			f.Line, f.Column, f.Message = known(d.Errors[0].Line), known(d.Errors[0].Column), known(d.Errors[0].Message)
		}
		out.Rows = append(out.Rows, f)
	}
	return out, err
}

func (a *API) meaning(check string) string {
	if a.deps.Meaning == nil {
		return ""
	}
	return a.deps.Meaning(check)
}
