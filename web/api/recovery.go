package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/sql/control"
	"tributary/web/compared"
)

// LetterStory is all that is known of a dead letter.
type LetterStory struct {
	deadletter.Story

	Event json.RawMessage `json:"event,omitempty" doc:"the original event, an object"`
	Text  string          `json:"text" doc:"the same for people"`
}

// recovery registers what is asked about dead letters and replays.
func (a *API) recovery() {
	a.letters()
	a.manyLetters()
	type list struct {
		Momentary
		Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"how many at most"`
	}
	getAt(a, "/replays", "listReplays", "Replays and how far each is, the newest first", func(*list) asof.Scope { return asof.Scope{Replays: true} }, func(ctx context.Context, t tracked, in *list) ([]*replay.Status, error) {
		if t.at != nil {
			return replaysThen(ctx, t, "", in.Limit)
		}
		if a.deps.Replays == nil {
			return nil, notHere()
		}
		all, err := a.deps.Replays(ctx, in.Limit)
		if all == nil {
			all = []*replay.Status{}
		}
		return all, err
	})
	type one struct {
		Momentary
		Replay string `path:"replay" maxLength:"200" doc:"its number, its run's id or its shadow's name"`
	}
	getAt(a, "/replays/{replay}", "getReplay", "One replay, and how its files ended", func(*one) asof.Scope { return asof.Scope{Replays: true} }, func(ctx context.Context, t tracked, in *one) (*replay.Status, error) {
		if !clean(in.Replay) {
			return nil, notFound("replay", "There is no such replay.")
		}
		if t.at != nil {
			all, err := replaysThen(ctx, t, in.Replay, 1)
			if err == nil && len(all) == 0 {
				return nil, notFound("replay", "There was no such replay.")
			}
			if err != nil {
				return nil, err
			}
			return all[0], nil
		}
		if a.deps.Replay == nil {
			return nil, notHere()
		}
		r, err := a.deps.Replay(ctx, in.Replay)
		if errors.Is(err, control.ErrNoReplay) {
			err = notFound("replay", err.Error())
		}
		return r, err
	})
	type some struct {
		Replay string `path:"replay" maxLength:"200" doc:"the number of the shadow's replay, its run's id or the shadow's name"`
		After  int64  `query:"after" minimum:"0" doc:"the next of the part before"`
		Limit  int    `query:"limit" default:"100" minimum:"0" maximum:"250" doc:"how many files are listed at most; 0: none, and all of the part is counted"`
	}
	type part struct {
		Replay string `path:"replay" maxLength:"200" doc:"the number of the shadow's replay, its run's id or the shadow's name"`
		After  int64  `query:"after" minimum:"0" doc:"the next of the part before"`
	}
	register(a, http.MethodGet, compared.Timeout, "/replays/{replay}/compare/documents", "listShadowChanges", "Documents that a shadow would change, all of some of its files at a time", func(ctx context.Context, in *part) (compared.Documents, error) {
		if a.deps.Shadows == nil {
			return compared.Documents{}, notHere()
		}
		if !clean(in.Replay) {
			return compared.Documents{}, notFound("replay", "There is no such replay.")
		}
		d, err := a.deps.Shadows.ReadDocuments(ctx, in.Replay, in.After)
		return d, notCompared(err)
	})
	register(a, http.MethodGet, compared.Timeout, "/replays/{replay}/compare", "compareShadow", "What a shadow would change: how many documents, and of which files. Each part counts its own files: all of them are the shadow", func(ctx context.Context, in *some) (compared.Part, error) {
		if a.deps.Shadows == nil {
			return compared.Part{}, notHere()
		}
		if !clean(in.Replay) {
			return compared.Part{}, notFound("replay", "There is no such replay.")
		}
		p, err := a.deps.Shadows.Read(ctx, in.Replay, in.After, in.Limit)
		return p, notCompared(err)
	})
}

// notCompared names why a shadow was not compared.
func notCompared(err error) error {
	switch {
	case errors.Is(err, control.ErrNoReplay):
		return notFound("replay", err.Error())
	case compared.Absent(err):
		return notFound("shadow", err.Error())
	case errors.Is(err, compared.ErrBusy):
		return &refusal{"busy", http.StatusServiceUnavailable, err.Error()}
	}
	return err
}

func (a *API) letters() {
	type list struct {
		Momentary
		Where []string `query:"where,explode" maxItems:"20" doc:"a condition as key=value, as of tributary dlq list; given again, all must hold"`
		Topic string   `query:"topic" maxLength:"200" doc:"only those of records of this topic"`
		Group string   `query:"group" maxLength:"200" doc:"only those given up by this stage or group"`
		All   bool     `query:"all" doc:"those that were dropped, too"`
		Limit int      `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"how many at most"`
	}
	getAt(a, "/dead-letters", "listDeadLetters", "What stages could not work on and gave up, the newest first; of a moment the files that stood quarantined, without ids, since events tell of no other letters", func(*list) asof.Scope {
		return asof.Scope{Exception: quarantined}
	}, func(ctx context.Context, t tracked, in *list) ([]deadletter.Row, error) {
		if t.at != nil {
			if len(in.Where) > 0 || in.Topic != "" || in.Group != "" {
				return nil, &refusal{"bad_filter", http.StatusBadRequest, "Of a moment dead letters can't be narrowed: events tell which files stood quarantined, and no more."}
			}
			return lettersThen(ctx, t, in.Limit, in.All)
		}
		if a.deps.Letters == nil {
			return nil, notHere()
		}
		f := &deadletter.Filter{Topic: in.Topic, Stage: in.Group}
		if err := f.Where(in.Where, func(s string) (time.Time, error) { return asof.ParseMoment(s, a.deps.Now()) }); err != nil {
			return nil, &refusal{"bad_filter", http.StatusBadRequest, err.Error()}
		}
		rows, err := all(func(each func(deadletter.Row) error) error { return a.deps.Letters(ctx, f, in.Limit, in.All, each) })
		if errors.Is(err, deadletter.ErrNotFound) {
			err = notFound("stage", err.Error())
		}
		return rows, err
	})
	type one struct {
		ID string `path:"id" maxLength:"200" doc:"as the list has it, such as validate:2:17"`
	}
	get(a, "/dead-letters/{id}", "getDeadLetter", "The whole story of one dead letter", func(ctx context.Context, in *one) (LetterStory, error) {
		if a.deps.Letter == nil {
			return LetterStory{}, notHere()
		}
		_, _, _, err := deadletter.ParseID(in.ID)
		if err != nil {
			return LetterStory{}, &refusal{"bad_filter", http.StatusBadRequest, err.Error()}
		}
		told := LetterStory{}
		if told.Story, err = a.deps.Letter(ctx, in.ID); errors.Is(err, deadletter.ErrNotFound) {
			err = notFound("dead_letter", err.Error())
		}
		var text, event bytes.Buffer
		if err == nil {
			err = told.Story.WriteText(&text)
		}
		if err == nil && told.Story.Event != nil {
			err = report.NewEncoder(&event).Encode(told.Story.Event)
			told.Event = event.Bytes()
		}
		told.Text = text.String()
		return told, err
	})
}
