package api

import (
	"context"

	"tributary/queries/report"
)

// origins registers what is asked about where files come from.
func (a *API) origins() {
	get(a, "/centres", "listCentres", "Every centre, and how its files and documents stand", func(ctx context.Context, _ *nothing) ([]report.Centre, error) {
		return all(func(each func(report.Centre) error) error { return report.Centres(ctx, a.deps.Tracker, each) })
	})
	get(a, "/sources", "listSources", "Every source, and how its last poll ended", func(ctx context.Context, _ *nothing) ([]report.Source, error) {
		return all(func(each func(report.Source) error) error { return report.Sources(ctx, a.deps.Tracker, each) })
	})
	type source struct {
		Source string `path:"source" maxLength:"200" doc:"the source's id"`
	}
	get(a, "/sources/{source}/revisions", "listSourceRevisions", "How a source was from time to time, the oldest first", func(ctx context.Context, in *source) ([]report.SourceRevision, error) {
		return all(func(each func(report.SourceRevision) error) error {
			return report.SourceRevisions(ctx, a.deps.Tracker, in.Source, each)
		})
	})
	get(a, "/sources/{source}/errors", "listSourceErrors", "The errors of a source by class, since it became available the last time", func(ctx context.Context, in *source) ([]report.SourceErrors, error) {
		return all(func(each func(report.SourceErrors) error) error {
			return report.SourceErrorList(ctx, a.deps.Tracker, in.Source, each)
		})
	})
}
