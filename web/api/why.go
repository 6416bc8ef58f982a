package api

import (
	"context"
	"errors"
	"net/http"

	"tributary/queries/why"
)

// Reasons are why a file is where it is, at each source that is asked.
type Reasons struct {
	Answers []why.Answer `json:"answers" doc:"each with a verdict whose names are stable"`
	More    int          `json:"more" doc:"how many more sources could show it: name one"`
}

// why registers why files are where they are.
func (a *API) why() {
	type file struct {
		Path   string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"a file's name, action/name, a path below a source's base, or a file's id; nothing need be known of it"`
		Source string `query:"source" maxLength:"200" doc:"at this source; without it, at each that shows it, or else that could"`
	}
	get(a, "/why", "askWhy", "Why a file is where it is, or why it was not taken", func(ctx context.Context, in *file) (Reasons, error) {
		if a.deps.Why == nil {
			return Reasons{}, notHere()
		}
		if !clean(in.Path) || !clean(in.Source) {
			return Reasons{}, &refusal{"bad_filter", http.StatusBadRequest, "path: this is no path."}
		}
		answers, more, err := a.deps.Why(ctx, in.Source, in.Path)
		if errors.Is(err, why.ErrUnknownID) {
			err = notFound("file", err.Error())
		}
		return Reasons{answers, more}, err
	})
}
