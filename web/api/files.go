package api

import (
	"context"

	"tributary/queries/asof"
	"tributary/queries/report"
)

// oldest is how many of the files that wait a status tells of.
const oldest = 10

// files registers what is asked about files and documents.
func (a *API) files() {
	getAt(a, "/status", "getStatus", "Where everything stands", func(*Momentary) asof.Scope { return asof.Scope{} }, func(ctx context.Context, t tracked, _ *Momentary) (report.Status, error) {
		s, err := report.Stand(ctx, t.Querier, t.now, oldest)
		s.AsOf = t.at
		return s, err
	})
	type file struct {
		Momentary
		Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
		Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
	}
	getAt(a, "/files/{action}/{name}", "getFile", "The whole story of one file", func(in *file) asof.Scope { return asof.Scope{Name: in.Name} }, func(ctx context.Context, t tracked, in *file) (report.Story, error) {
		stories, err := report.Show(ctx, t.Querier, in.Name, in.Action)
		if err != nil {
			return report.Story{}, err
		}
		stories[0].AsOf = t.at
		return stories[0], nil
	})
}
