package api

import (
	"context"
	"errors"
	"net/http"

	"tributary/queries/finding"
)

// Check is how many findings of a check are open for a centre, and what it finds.
type Check struct {
	finding.Count
	Meaning string `json:"meaning" doc:"what the check finds; empty where nobody here knows"`
}

// findings registers what is asked about the findings of data checks.
func (a *API) findings() {
	get(a, "/findings", "countFindings", "How many findings of data checks are open, by check and centre, the gravest first", func(ctx context.Context, _ *nothing) ([]Check, error) {
		if a.deps.Warehouse == nil {
			return nil, notHere()
		}
		counts, err := finding.Counts(ctx, a.deps.Warehouse)
		out := make([]Check, len(counts))
		for i, c := range counts {
			out[i] = Check{Count: c, Meaning: a.meaning(c.Check)}
		}
		return out, err
	})
	type of struct {
		Centre string `path:"centre" maxLength:"200" doc:"the centre whose data it is"`
		Check  string `path:"check" maxLength:"200" doc:"the check's name"`
		After  string `query:"after" maxLength:"100" doc:"next of the part before"`
		Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"how many rows at most"`
	}
	get(a, "/findings/{centre}/{check}", "listFindings", "Open findings of a check in data of a centre, in the order of their documents", func(ctx context.Context, in *of) (part[finding.Finding], error) {
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

func (a *API) meaning(check string) string {
	if a.deps.Meaning == nil {
		return ""
	}
	return a.deps.Meaning(check)
}
