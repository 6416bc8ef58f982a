package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"tributary/producers/poll"
	"tributary/sql/control"
	"tributary/web/access"
)

// announced are files of a source that are to be taken up at once.
type announced struct {
	Keyed

	ID   string `path:"id" maxLength:"200" doc:"the source's id"`
	Body struct {
		Paths  []string `json:"paths" minItems:"1" maxItems:"100" doc:"of files that the source shows: add/NAME, edit/NAME or delete/NAME"`
		Reason string   `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
	}
}

// announcements registers how files are announced.
func (a *API) announcements() {
	a.least = access.Operator
	defer func() { a.least = access.Reader }()
	huma.Register(a.huma, changing("announceFiles", "/sources/{id}/announce", "Look at files of a source, and have those that are there taken up at once, without waiting for a poll or for them to settle"), func(ctx context.Context, in *announced) (*struct{ Body []poll.ByHand }, error) {
		by := control.Decision{By: access.From(ctx).Name, Reason: in.Body.Reason, At: a.deps.Now()}
		give := func() ([]poll.ByHand, error) { return a.deps.Definitions.Announce(ctx, in.ID, in.Body.Paths, by) }
		var out []poll.ByHand
		var err error
		if in.IdempotencyKey == "" {
			out, err = give()
		} else {
			out, err = once(ctx, a, in.IdempotencyKey, []any{"announce", in.ID, in.Body}, give)
		}
		if err != nil {
			return nil, a.notGiven("announceFiles", err)
		}
		a.deps.Log.InfoContext(ctx, "ordered by the API", "order", "announce", "about", in.ID, "by", by.By)
		return &struct{ Body []poll.ByHand }{out}, nil
	})
}
