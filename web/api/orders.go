package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/producers/poll"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/compared"
	"tributary/web/order"
)

// keysKept is how long an Idempotency-Key is known.
const keysKept = 24 * time.Hour

// wish is what an order says beside what it is about.
type wish struct {
	Reason   string `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
	Seen     string `json:"seen,omitempty" maxLength:"2000" doc:"what the answer to a dry run of this order had as seen: where that is another by now, nothing is ordered (definition_changed)"`
	DryRun   bool   `json:"dry_run,omitempty" doc:"only tell what would be done"`
	Priority *int   `json:"priority,omitempty" minimum:"0" maximum:"9" doc:"of a file, for the order priority; 9 comes first"`
	Link     int64  `json:"link,omitempty" minimum:"1" doc:"the number of a centre's link, for the order revoke-link"`
	Until    string `json:"until,omitempty" maxLength:"60" doc:"the end of a source's maintenance: a moment (RFC 3339), or how long that is from now (6h, 2d); empty: until it is resumed"`
}

// Keyed is how a program says that it may have sent an order before.
type Keyed struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" doc:"a text of your own for this order: sent again within a day, with the same content, the order is not given again, and is answered as before"`
}

type fileOrder struct {
	Keyed

	Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
	Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
	Body   wish
}

type documentOrder struct {
	Keyed

	Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
	Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
	SHA256 string `path:"sha256" pattern:"^[0-9a-f]{64}$" doc:"of the document's bytes that were looked at: if the file shows others by now, the order is refused"`
	Entry  string `path:"entry" maxLength:"4096" doc:"the document's name, its slashes percent-encoded"`
	Body   wish
}

type thingOrder struct {
	Keyed

	ID   string `path:"id" maxLength:"200" doc:"its id, or the number of a replay"`
	Body wish
}

// orders registers what may be ordered.
func (a *API) orders() {
	things := map[string]string{order.Files: "File", order.Documents: "Document", order.Sources: "Source", order.Centres: "Centre", order.DeadLetters: "DeadLetter", order.Replays: "Replay"}
	nouns := map[string]string{order.Files: " a file", order.Documents: " a document", order.Sources: " a source", order.Centres: " a centre", order.DeadLetters: " a dead letter"} // of replays the verb has it
	for i := range a.deps.Orders {
		o := &a.deps.Orders[i]
		a.least = o.Least
		operation := huma.Operation{OperationID: operationID(o.Name) + things[o.On], Method: http.MethodPost, Path: base + o.Path(),
			Summary: o.Verb + nouns[o.On], Description: o.About,
			Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}}
		if o.On == order.Documents {
			huma.Register(a.huma, operation, func(ctx context.Context, in *documentOrder) (*struct{ Body order.Outcome }, error) {
				return a.ordered(ctx, o, order.DocumentSubject(in.Action, in.Name, in.SHA256, in.Entry), in.IdempotencyKey, in.Body)
			})
			continue
		}
		if o.On == order.Files {
			huma.Register(a.huma, operation, func(ctx context.Context, in *fileOrder) (*struct{ Body order.Outcome }, error) {
				return a.ordered(ctx, o, in.Action+"/"+in.Name, in.IdempotencyKey, in.Body)
			})
			continue
		}
		huma.Register(a.huma, operation, func(ctx context.Context, in *thingOrder) (*struct{ Body order.Outcome }, error) {
			return a.ordered(ctx, o, in.ID, in.IdempotencyKey, in.Body)
		})
	}
	a.replay()
	a.least = access.Reader
}

// operationID is the name of an order as operations are named: stopActing for stop-acting.
func operationID(name string) string {
	first, next, more := strings.Cut(name, "-")
	if !more {
		return name
	}
	return first + strings.ToUpper(next[:1]) + next[1:]
}

// ordered gives an order, once for each key.
func (a *API) ordered(ctx context.Context, o *order.Order, subject, key string, w wish) (*struct{ Body order.Outcome }, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Time(timeout))
	defer cancel()
	asked := order.Asked{Decision: control.Decision{By: access.From(ctx).Name, Reason: w.Reason, At: a.deps.Now()}, Subject: subject, Value: w.Until, Seen: w.Seen, Dry: w.DryRun}
	if w.Priority != nil {
		asked.Value += string(rune('0' + *w.Priority))
	}
	if w.Link != 0 {
		asked.Value += strconv.FormatInt(w.Link, 10)
	}
	give := func() (order.Outcome, error) { return o.Give(ctx, asked) }
	var out order.Outcome
	var err error
	if key == "" || w.DryRun {
		out, err = give()
	} else {
		out, err = once(ctx, a, key, []any{o.On, o.Name, subject, w}, give)
	}
	switch {
	case err != nil:
		return nil, a.notGiven(o.Name, err)
	case !out.Done:
		return nil, problem("order_refused", http.StatusConflict, out.Detail)
	}
	if !w.DryRun {
		a.deps.Log.InfoContext(ctx, "ordered by the API", "order", o.Name, "about", subject, "by", asked.By)
	}
	return &struct{ Body order.Outcome }{out}, nil
}

// notGiven says why an order was not given.
func (a *API) notGiven(id string, err error) error {
	bad, away, unfit := (*order.Error)(nil), (*poll.UnreachableError)(nil), (*huma.ErrorModel)(nil)
	switch {
	case errors.As(err, &unfit):
		return unfit
	case errors.As(err, &bad) && bad.Overtaken():
		return problem("definition_changed", http.StatusPreconditionFailed, bad.Error())
	case errors.As(err, &away):
		return problem("order_refused", http.StatusConflict, away.Error())
	case errors.As(err, &bad):
		return problem("bad_order", http.StatusBadRequest, bad.Error())
	case errors.Is(err, order.ErrBusy), errors.Is(err, compared.ErrBusy):
		return problem("busy", http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, order.ErrNotHere):
		return problem("not_here", http.StatusServiceUnavailable, err.Error())
	}
	return a.problem(id, err)
}

func problem(name string, status int, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Type: "/problems/" + name, Title: http.StatusText(status), Status: status, Detail: detail}
}

// once gives an order unless it was given with this key before; then it answers as it
// did. An order of which nothing has come may be sent again.
func once[T any](ctx context.Context, a *API, key string, asked any, give func() (T, error)) (out T, err error) {
	content, err := json.Marshal(asked)
	if err != nil {
		return out, err
	}
	digest := sha256.Sum256(content)
	person := access.From(ctx).Name
	earlier, err := control.BeginAPIRequest(ctx, a.deps.Control, control.APIRequest{Person: person, Key: key, Digest: digest[:], At: a.deps.Now()}, a.deps.Now().Add(-keysKept))
	switch {
	case err != nil:
		return out, err
	case earlier != nil && !bytes.Equal(earlier.Digest, digest[:]):
		return out, problem("key_used", http.StatusUnprocessableEntity, "This Idempotency-Key was sent with another order: take a new one for each order.")
	case earlier != nil && earlier.Answer == nil:
		return out, problem("order_unfinished", http.StatusConflict, "This order is being given, or how that ended is not known: look at what it is about, and send it with another key if it was not done.")
	case earlier != nil:
		return out, json.Unmarshal(earlier.Answer, &out)
	}
	var answer []byte
	if out, err = give(); err == nil {
		if answer, err = json.Marshal(out); err != nil {
			return out, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout) // what was done is noted, also for who has hung up
	defer cancel()
	return out, errors.Join(err, control.EndAPIRequest(ctx, a.deps.Control, person, key, answer))
}
