package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/question"
)

// Replay asks for a replay, or only says what it would be (order.Deps).
type Replay func(ctx context.Context, w order.Wanted, by control.Decision, dry bool) (replay.Requested, error)

// newReplay is the page on which a replay is asked for.
type newReplay struct {
	order.Wanted
	Reason    string
	Phases    []string
	Would     *replay.Requested // what it would be; nil: nobody has asked
	Wrong     string
	MaxReason int
}

// wanted is the form for a replay, as far as it is filled in. Its address may bring what
// is chosen: nothing is asked of the tracker before the form is sent.
func (s *Site) wanted(_ context.Context, r *http.Request) (page, error) {
	if s.Replay == nil {
		return page{}, errNotHere
	}
	d := newReplay{Phases: schemas.ReplayPhases(), MaxReason: control.MaxReason, Reason: r.FormValue("reason"),
		Wanted: order.Wanted{From: r.FormValue("from"), Where: r.FormValue("where"), Since: r.FormValue("since"), Until: r.FormValue("until"), Shadow: r.FormValue("shadow")}}
	if len(d.Where) > question.MaxStatement {
		return page{}, fmt.Errorf("%w: the condition is larger than %s", errBadFilter, size(question.MaxStatement))
	}
	return page{Title: "New replay", At: "/replays", Template: "newreplay", Still: true, Data: d, Command: d.Command()}, nil
}

// replayOffer offers who may to replay the files of a condition; of what else the form
// is filled with, names and values follow.
func (s *Site) replayOffer(ctx context.Context, verb, where string, more ...string) []offer {
	if s.Replay == nil || access.From(ctx).Role < access.Wrangler {
		return nil
	}
	return []offer{{Verb: verb, To: s.to("/replays/new", append([]string{"where", where}, more...)...)}}
}

// quoted is a text in SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// replay tries a replay, or asks for it and goes to the list.
func (s *Site) replay(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), replay.Timeout)
	defer cancel()
	p, asked, status, err := s.tried(ctx, r)
	if err == nil && asked != nil {
		s.Log.InfoContext(ctx, "ordered on the pages", "order", "replay", "about", asked.Replay, "by", access.From(ctx).Name)
		s.say(w, fmt.Sprintf("Replay %d is asked for: %s.", asked.Replay, plural(int(asked.Files), "file", "files")))
		http.Redirect(w, r, s.to("/replays"), http.StatusSeeOther)
		return
	}
	s.answer(w, r.WithContext(ctx), p, status, err, "")
}

// tried is the form with what the replay would be, or with what is wrong with it; or
// the replay if it was asked for.
func (s *Site) tried(ctx context.Context, r *http.Request) (p page, asked *replay.Requested, status int, err error) {
	if p, err = s.wanted(ctx, r); err != nil {
		return p, nil, 0, err
	}
	d, ok := p.Data.(newReplay)
	if !ok {
		return p, nil, 0, errNoPage
	}
	dry := r.PostFormValue("do") != "request"
	var got replay.Requested
	err = s.asker.One(ctx, func() (err error) {
		got, err = s.Replay(ctx, d.Wanted, control.Decision{By: access.From(ctx).Name, Reason: d.Reason, At: s.Now()}, dry)
		return err
	})
	status = http.StatusOK
	bad := (*order.Error)(nil)
	switch {
	case errors.As(err, &bad):
		d.Wrong, status, err = bad.Error(), http.StatusBadRequest, nil
	case err == nil && dry:
		d.Would = &got
	case err == nil:
		return p, &got, 0, nil
	}
	p.Data = d
	return p, nil, status, err
}
