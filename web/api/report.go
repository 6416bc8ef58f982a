package api

import (
	"context"
	"errors"
	"strings"

	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/queries/report"
)

// CentreReport is what a centre is told about its files.
type CentreReport struct {
	Text string `json:"text" doc:"plain text, or one page of HTML that needs nothing else"`
}

// report registers the report that a centre is sent.
func (a *API) report() {
	type wanted struct {
		Centre string `path:"centre" maxLength:"200" doc:"the centre's short name; capitals don't matter"`
		Format string `query:"format" enum:"text,html" default:"text"`
		Since  string `query:"since" maxLength:"100" doc:"only files for which something happened since: RFC 3339, a date, or how long ago, such as 7d"`
		Errors int    `query:"errors" default:"-1" minimum:"-1" maximum:"10000" doc:"how many errors of each document at most; -1: as many as usual"`
		Files  int    `query:"files" default:"-1" minimum:"-1" maximum:"10000" doc:"how many files of each sort at most; -1: as many as usual"`
	}
	get(a, "/centres/{centre}/report", "getCentreReport", "The report that a centre is sent about its files", func(ctx context.Context, in *wanted) (CentreReport, error) {
		if a.deps.Warehouse == nil || a.deps.Advice == nil {
			return CentreReport{}, notHere()
		}
		limits := centrereport.DefaultLimits()
		if in.Errors >= 0 {
			limits.Errors = in.Errors
		}
		if in.Files >= 0 {
			limits.Files = in.Files
		}
		o := centrereport.Options{Centre: in.Centre, Now: a.deps.Now().UTC(), Limits: limits, Explain: a.deps.Advice}
		if in.Since != "" {
			at, err := asof.ParseMoment(in.Since, o.Now)
			if err == nil {
				err = readable(at)
			}
			if err != nil {
				return CentreReport{}, &report.FilterError{Filter: "since", Value: in.Since, Want: "write a moment as " + asof.Moments}
			}
			o.Since = at
		}
		r, err := centrereport.Read(ctx, a.deps.Tracker, a.deps.Warehouse, o)
		if errors.Is(err, centrereport.ErrNoCentre) {
			err = notFound("centre", err.Error())
		}
		if err != nil {
			return CentreReport{}, err
		}
		var text strings.Builder
		if in.Format == "html" {
			err = r.WriteHTML(&text)
		} else {
			err = r.WriteText(&text)
		}
		return CentreReport{text.String()}, err
	})
}
