package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// MadeLink is a link that was made. It is told once.
type MadeLink struct {
	Path string `json:"path" doc:"of the link, below the address of this server; nobody can ask for it again"`
}

// links registers the links by which people of a centre see what is theirs. They are ended
// by an order about the centre.
func (a *API) links() {
	a.least = access.Wrangler
	type of struct {
		ID string `path:"id" maxLength:"200" doc:"the centre's short name; capitals don't matter"`
	}
	get(a, "/centres/{id}/links", "listCentreLinks", "The links by which people of a centre see what is theirs, the newest first", func(ctx context.Context, in *of) ([]order.Link, error) {
		is, err := report.StandingOf(ctx, a.deps.Tracker, in.ID)
		if err != nil {
			return nil, err
		}
		all, err := a.deps.Definitions.Links(ctx, is.Centre)
		if err != nil {
			return nil, a.notGiven("listCentreLinks", err)
		}
		return all, nil
	})
	type wanted struct {
		ID   string `path:"id" maxLength:"200" doc:"the centre's short name; capitals don't matter"`
		Body struct {
			Expires string `json:"expires,omitempty" maxLength:"20" doc:"for how long it is good, such as 90d, which is the default; 366d at most"`
			Reason  string `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
		}
	}
	type made struct {
		CacheControl string `header:"Cache-Control"`
		Body         MadeLink
	}
	operation := sending(reading("/centres/{id}/links", "makeCentreLink", "Make a link by which people of a centre see what is theirs"))
	operation.Description = "Whoever has it sees the centre's own files, errors and weeks without an account, and nothing of others. The answer is not kept: there is no Idempotency-Key, and a link whose answer was lost is revoked by its number."
	operation.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, operation, func(ctx context.Context, in *wanted) (*made, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		by := control.Decision{By: access.From(ctx).Name, Reason: in.Body.Reason, At: a.deps.Now()}
		path, err := a.deps.Definitions.MakeLink(ctx, in.ID, in.Body.Expires, by)
		if err != nil {
			return nil, a.notGiven(operation.OperationID, err)
		}
		a.deps.Log.InfoContext(ctx, "ordered by the API", "order", "link", "about", in.ID, "by", by.By)
		return &made{"private, no-store", MadeLink{a.deps.Prefix + path}}, nil
	})
	a.least = access.Reader
}
