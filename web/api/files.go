package api

import (
	"context"

	"tributary/queries/report"
)

// oldest is how many of the files that wait a status tells of.
const oldest = 10

// files registers what is asked about files and documents.
func (a *API) files() {
	get(a, "/status", "getStatus", "Where everything stands now", func(ctx context.Context, _ *nothing) (report.Status, error) {
		return report.Stand(ctx, a.deps.Tracker, a.deps.Now(), oldest)
	})
	type file struct {
		Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
		Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
	}
	get(a, "/files/{action}/{name}", "getFile", "The whole story of one file", func(ctx context.Context, in *file) (report.Story, error) {
		stories, err := report.Show(ctx, a.deps.Tracker, in.Name, in.Action)
		if err != nil {
			return report.Story{}, err
		}
		return stories[0], nil
	})
}
