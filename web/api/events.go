package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/topics"
	"tributary/web/access"
	"tributary/web/live"
)

const (
	// maxStreams is how many may read events at once: each reads the log for itself.
	maxStreams = 32
	// retry is after how many seconds one may come again who was refused.
	retry = 30
)

// Follow gives each event of the topic status.changed from a place on, nil: from now on,
// as topics.Stream does.
type Follow func(ctx context.Context, from topics.Place, emit func(*topics.Event, topics.Place) error) error

// events registers the stream of events, which is no operation of huma's: it has no end.
func (a *API) events() {
	text := &huma.Schema{Type: huma.TypeString}
	query := func(name, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Schema: text}
	}
	problem := map[string]*huma.MediaType{"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"}}}
	operation := &huma.Operation{
		OperationID: "streamEvents", Method: http.MethodGet, Path: base + "/events", Summary: "Each change of status as it is told, as server-sent events",
		Description: "The data of an event is a record of the topic status.changed, in JSON; its id is the place in the log behind it, the next offset of each partition. " +
			"Sent back as Last-Event-ID, the stream goes on there, without a gap; 0:0 begins with the oldest. Every 15 seconds of silence there is an id without data. " +
			"After 5 minutes the event again ends the stream: ask anew, with the last id.",
		Parameters: []*huma.Param{
			{Name: "Last-Event-ID", In: "header", Description: "where to go on; from now on where there is none", Schema: text},
			query("after", "the same, for those who can't send the header"),
			query("centre", "only what concerns this centre, by its short name"),
			query("entity", "only changes of this kind, such as file, download, document, batch or session"),
		},
		Responses: map[string]*huma.Response{"200": {Description: "Events", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: text}}}},
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable} {
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: problem}
	}
	a.huma.OpenAPI().AddOperation(operation)
	pattern := "GET " + base + "/events"
	a.routes = append(a.routes, access.Route{Pattern: pattern, Least: a.least, Handler: a.onlyNow(pattern, http.HandlerFunc(a.stream))})
}

// stream answers with events until the reader or the server is gone, or StreamTime over.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"after", "centre", "entity"}, name) {
			a.refuse(w, &refusal{"bad_filter", http.StatusBadRequest, fmt.Sprintf("There is no filter %q.", name)})
			return
		}
	}
	seen := r.Header.Get("Last-Event-ID")
	if seen == "" {
		seen = query.Get("after")
	}
	from, err := topics.ParsePlace(seen)
	switch {
	case err != nil:
		a.refuse(w, &refusal{"bad_place", http.StatusBadRequest, err.Error()})
		return
	case a.deps.Follow == nil:
		a.refuse(w, notHere())
		return
	}
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		w.Header().Set("Retry-After", strconv.Itoa(retry))
		a.refuse(w, &refusal{"busy", http.StatusServiceUnavailable, fmt.Sprintf("%d read events already, which is the most; come again in %d seconds.", maxStreams, retry)})
		return
	}
	centre, entity := query.Get("centre"), query.Get("entity")
	if err := a.follow(r.Context(), w, from, func(e *topics.Event) bool {
		return (centre == "" || field(e, "centre") == centre) && (entity == "" || field(e, "entity") == entity)
	}); err != nil && r.Context().Err() == nil {
		a.deps.Log.Debug("a stream of events has ended", "error", err)
	}
}

// passed is an event on its way to a reader, nil before the first; at is behind it.
type passed struct {
	event *topics.Event
	at    string
}

// follow sends the events that are wanted.
func (a *API) follow(ctx context.Context, w http.ResponseWriter, from topics.Place, wanted func(*topics.Event) bool) error {
	reading, stop := context.WithCancel(ctx)
	events, ended, done := make(chan passed), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- a.deps.Follow(reading, from, func(e *topics.Event, at topics.Place) error {
			select {
			case events <- passed{e, at.String()}:
				return nil
			case <-reading.Done():
				return reading.Err()
			}
		})
	}()
	defer func() {
		stop()
		<-done
	}()
	over := time.NewTimer(live.StreamTime)
	defer over.Stop()
	var began passed
	select { // before that it may still be refused
	case began = <-events:
	case err := <-ended:
		if errors.Is(err, topics.ErrPlace) {
			a.refuse(w, &refusal{"bad_place", http.StatusBadRequest, err.Error()})
			return nil
		}
		a.refuse(w, &refusal{"store_unavailable", http.StatusServiceUnavailable, "The broker does not answer: try again."})
		return err
	}
	s, err := live.Begin(w, ": changes of status\nid: "+began.at+"\n\n")
	if err != nil {
		return err
	}
	beat := time.NewTicker(live.Heartbeat)
	defer beat.Stop()
	for at := began.at; ; {
		text := ""
		select {
		case e := <-events:
			if at = e.at; wanted(e.event) {
				data, err := json.Marshal(e.event)
				if err != nil {
					return fmt.Errorf("an event: %w", err)
				}
				text = "id: " + at + "\ndata: " + string(data) + "\n\n"
			}
		case <-beat.C:
			text = "id: " + at + "\n\n"
		case err := <-ended:
			return errors.Join(err, s.Again()) // whoever asks anew loses nothing
		case <-over.C:
			return s.Again()
		case <-ctx.Done():
			return nil
		}
		if text != "" {
			if err := s.Send(text); err != nil {
				return err
			}
		}
	}
}

// field is a text of an event's body.
func field(e *topics.Event, name string) string {
	for _, f := range e.Body {
		if f.Name == name {
			return fmt.Sprint(f.Value)
		}
	}
	return ""
}

// refuse answers with a problem.
func (a *API) refuse(w http.ResponseWriter, err error) {
	var p *huma.ErrorModel
	if !errors.As(a.problem("streamEvents", err), &p) {
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		a.deps.Log.Debug("a problem can't be told", "error", err)
	}
}
