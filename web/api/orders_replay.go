package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tributary/recovery/replay"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// replayWish is a replay that a program asks for.
type replayWish struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" doc:"a text of your own for this replay: sent again within a day, with the same content, it is not asked for again, and is answered as before"`
	Body           struct {
		From   string `json:"from,omitempty" enum:"download,unzip,xsd,upload,data" doc:"the phase to begin with; only with stale it may be left out, for the first in which anything is"`
		Where  string `json:"where,omitempty" maxLength:"65536" doc:"a condition in SQL on the tracker's view file; true means all files"`
		Since  string `json:"since,omitempty" maxLength:"60" doc:"only files of which something was heard since then: a moment, or how long ago (7d)"`
		Until  string `json:"until,omitempty" maxLength:"60" doc:"only files of which nothing was heard since then"`
		Stale  bool   `json:"stale,omitempty" doc:"only files of which something was judged or loaded by other schemas, mapping or checks than those of now; where nothing was, nothing is asked for, and the answer has no replay"`
		Shadow string `json:"shadow,omitempty" maxLength:"63" doc:"keep the results beside the live ones, under this name"`
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
		DryRun bool   `json:"dry_run,omitempty" doc:"only tell what it would be"`
	}
}

// replay registers how a replay is asked for.
func (a *API) replay() {
	a.least = access.Wrangler
	operation := huma.Operation{OperationID: "requestReplay", Method: http.MethodPost, Path: base + "/replays", Summary: "Process files again from a phase on",
		Description: "What is chosen is processed again, and replaces the results of the same versions only.",
		Errors:      []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}}
	huma.Register(a.huma, operation, func(ctx context.Context, in *replayWish) (*struct{ Body replay.Requested }, error) {
		ctx, cancel := context.WithTimeout(ctx, replay.Timeout)
		defer cancel()
		if in.Body.From == "" && !in.Body.Stale {
			return nil, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "body.from", Message: "expected a phase, or stale to be true"})
		}
		w := order.Wanted{From: in.Body.From, Where: in.Body.Where, Since: in.Body.Since, Until: in.Body.Until, Shadow: in.Body.Shadow, Stale: in.Body.Stale}
		by := control.Decision{By: access.From(ctx).Name, Reason: in.Body.Reason, At: a.deps.Now()}
		give := func() (replay.Requested, error) {
			if a.deps.Request == nil {
				return replay.Requested{}, order.ErrNotHere
			}
			return a.deps.Request(ctx, w, by, in.Body.DryRun)
		}
		ask := give
		if in.IdempotencyKey != "" && !in.Body.DryRun {
			ask = func() (replay.Requested, error) {
				return once(ctx, a, in.IdempotencyKey, []any{"replay", in.Body}, give)
			}
		}
		out, err := ask()
		if err != nil {
			return nil, a.notGiven(operation.OperationID, err)
		}
		if !in.Body.DryRun {
			a.deps.Log.InfoContext(ctx, "ordered by the API", "order", "replay", "about", out.Replay, "by", by.By)
		}
		return &struct{ Body replay.Requested }{out}, nil
	})
}
