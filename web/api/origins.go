package api

import (
	"cmp"
	"context"

	"tributary/queries/asof"
	"tributary/queries/expect"
	"tributary/queries/report"
)

// sourceAt is a source, as it is or was.
type sourceAt struct {
	Momentary
	Source string `path:"source" maxLength:"200" doc:"the source's id"`
}

func (s *sourceAt) scope() asof.Scope { return asof.Scope{Source: s.Source, Polls: true} }

// origins registers what is asked about where files come from.
func (a *API) origins() {
	getAt(a, "/centres", "listCentres", "Every centre, and how its files and documents stand", ofAll[Momentary], func(ctx context.Context, t tracked, _ *Momentary) ([]report.Centre, error) {
		return all(func(each func(report.Centre) error) error { return report.Centres(ctx, t.Querier, each) })
	})
	getAt(a, "/sources", "listSources", "Every source, and how its last poll ended", ofAll[Momentary], func(ctx context.Context, t tracked, _ *Momentary) ([]report.Source, error) {
		sources, err := all(func(each func(report.Source) error) error { return report.Sources(ctx, t.Querier, each) })
		for i := range sources {
			if sources[i].Counts == nil {
				sources[i].Counts = map[string]string{} // there was no poll
			}
		}
		return sources, err
	})
	type expected struct {
		Momentary
		Source string `query:"source" maxLength:"200" doc:"only of this source"`
		After  string `query:"after" maxLength:"200" doc:"only sources whose ids come after this one: the last of the answer before"`
		Limit  int    `query:"limit" minimum:"1" maximum:"100" doc:"how many sources at most; without it all of them"`
	}
	getAt(a, "/expected", "listExpected", "What is to be expected of sources, and what is late, short or unusually large", func(in *expected) asof.Scope { return asof.Scope{Source: in.Source, Polls: true} }, func(ctx context.Context, t tracked, in *expected) ([]expect.Expectation, error) {
		if in.Limit > 0 || in.After != "" {
			return expect.Page(ctx, t.Querier, in.Source, in.After, cmp.Or(in.Limit, expect.MaxPage))
		}
		return all(func(each func(expect.Expectation) error) error {
			return expect.Sources(ctx, t.Querier, in.Source, each)
		})
	})
	type revisions struct {
		Source string `path:"source" maxLength:"200" doc:"the source's id"`
		After  string `query:"after" maxLength:"100" doc:"the next of the page before"`
		Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"how many rows at most"`
	}
	get(a, "/sources/{source}/revisions", "listSourceRevisions", "How a source was from time to time, the newest first, with how each differs from the one before", func(ctx context.Context, in *revisions) (report.Page[report.SourceRevision], error) {
		return report.SourceRevisionPage(ctx, a.deps.Tracker, in.Source, in.After, in.Limit)
	})
	getAt(a, "/sources/{source}/errors", "listSourceErrors", "The errors of a source by class, since it became available the last time", (*sourceAt).scope, func(ctx context.Context, t tracked, in *sourceAt) ([]report.SourceErrors, error) {
		return all(func(each func(report.SourceErrors) error) error {
			return report.SourceErrorList(ctx, t.Querier, in.Source, each)
		})
	})
}
