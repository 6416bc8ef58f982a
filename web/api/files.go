package api

import (
	"context"
	"errors"

	"tributary/queries/report"
)

// files registers what is asked about files and documents.
func (a *API) files() {
	type standing struct {
		Oldest int `query:"oldest" default:"10" minimum:"0" maximum:"1000" doc:"how many of the files that wait to tell of, and of the downloads that take long"`
	}
	get(a, "/status", "getStatus", "Where everything stands now", func(ctx context.Context, in *standing) (report.Status, error) {
		s, err := report.Stand(ctx, a.deps.Tracker, a.deps.Now(), in.Oldest)
		if err == nil && a.deps.Status != nil {
			err = a.deps.Status(ctx, &s)
		}
		return s, err
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
		if a.deps.Priority != nil {
			stories[0].Priority, err = a.deps.Priority(ctx, in.Action, in.Name)
		}
		return stories[0], err
	})
	type document struct {
		file
		Entry string `query:"entry" required:"true" maxLength:"1024" doc:"the document's name in the file"`
	}
	get(a, "/files/{action}/{name}/document", "getDocument", "One document of a file, with its errors", func(ctx context.Context, in *document) (report.DocumentFacts, error) {
		d, _, err := report.DocumentOf(ctx, a.deps.Tracker, in.Action, in.Name, in.Entry)
		if errors.Is(err, report.ErrNotFound) {
			err = notFound("document", "The file shows no such document.")
		}
		return d, err
	})
}
