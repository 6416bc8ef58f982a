package api

import (
	"context"
	"errors"

	"tributary/queries/asof"
	"tributary/queries/expect"
	"tributary/queries/explained"
	"tributary/queries/report"
	"tributary/web/order"
)

// files registers what is asked about files and documents.
func (a *API) files() {
	type standing struct {
		Momentary
		Oldest int `query:"oldest" default:"10" minimum:"0" maximum:"1000" doc:"how many of the files that wait to tell of, and of the downloads that take long"`
	}
	getAt(a, "/status", "getStatus", "Where everything stands", func(*standing) asof.Scope { return asof.Scope{} }, func(ctx context.Context, t tracked, in *standing) (report.Status, error) {
		s, err := expect.Stand(ctx, t.Querier, t.now, in.Oldest)
		s.AsOf = t.at
		if err == nil && a.deps.Status != nil && t.at == nil {
			err = a.deps.Status(ctx, &s)
		}
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
		if a.deps.Priority != nil && t.at == nil {
			stories[0].Priority, err = a.deps.Priority(ctx, in.Action, in.Name)
		}
		return stories[0], err
	})
	get(a, "/held-files", "listHeldFiles", "The files that are held, those held longest first: at most 10,000", func(ctx context.Context, _ *nothing) ([]order.HeldFile, error) {
		if a.deps.Control == nil {
			return nil, notHere()
		}
		return all(func(each func(order.HeldFile) error) error { return order.Held(ctx, a.deps.Control, each) })
	})
	type document struct {
		Momentary
		Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
		Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
		Entry  string `query:"entry" required:"true" maxLength:"1024" doc:"the document's name in the file"`
	}
	getAt(a, "/files/{action}/{name}/document", "getDocument", "One document of a file, with its errors", func(in *document) asof.Scope { return asof.Scope{Name: in.Name} }, func(ctx context.Context, t tracked, in *document) (report.DocumentFacts, error) {
		d, _, err := report.DocumentOf(ctx, t.Querier, in.Action, in.Name, in.Entry)
		if errors.Is(err, report.ErrNotFound) {
			err = notFound("document", "The file shows no such document.")
		}
		d.AsOf = t.at
		return d, err
	})
	getAt(a, "/files/{action}/{name}/document/errors", "explainDocument", "What is wrong with a document: each error with its rule in plain words, what to do, and the lines around it", func(in *document) asof.Scope { return asof.Scope{Name: in.Name} }, func(ctx context.Context, t tracked, in *document) (explained.Document, error) {
		if a.deps.Explained == nil {
			return explained.Document{}, notHere()
		}
		d, meanings, err := report.DocumentOf(ctx, t.Querier, in.Action, in.Name, in.Entry)
		if errors.Is(err, report.ErrNotFound) {
			err = notFound("document", "The file shows no such document.")
		}
		if err != nil {
			return explained.Document{}, err
		}
		d.AsOf = t.at
		return a.deps.Explained(ctx, d, meanings), nil
	})
}
