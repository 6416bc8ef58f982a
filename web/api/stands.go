package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"tributary/producers/sources"
	"tributary/queries/asof"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/sql/control"
)

// pendingTold is how many files that wait a centre is told with.
const pendingTold = 20

// CentreStory is a centre, where its files stand, what has failed of them and whose
// turn that is, and what waits.
type CentreStory struct {
	report.CentreStanding
	Failing []report.Failing `json:"failing"`
	Pending []report.Pending `json:"pending" doc:"the oldest"`
}

// SourceStory is a source, and what is to be expected of it.
type SourceStory struct {
	report.Source
	Suspended  *report.Suspended   `json:"suspended,omitempty" doc:"absent where it is not"`
	Definition string              `json:"definition" doc:"JSON with the keys of the configuration; empty where nobody told"`
	Expected   *expect.Expectation `json:"expected,omitempty"`
}

// Ignored is what a source shows and nobody takes up.
type Ignored struct {
	Total int64             `json:"total" doc:"also those of which the names are not kept (poll.max_ignored)"`
	Rows  []control.Ignored `json:"rows" doc:"as the server listed them"`
	Next  int               `json:"next,omitempty" doc:"the after of the next part; absent: no other name is kept"`
}

// Standing is how a source stands in control.
type Standing struct {
	Standing json.RawMessage `json:"standing" doc:"an object, as tributary sources show -o json writes it"`
	Text     string          `json:"text" doc:"the same for people"`
}

// stands registers how work goes, and how single centres and sources stand.
func (a *API) stands() {
	type span struct {
		Momentary
		Span string `query:"span" enum:"1h,24h,7d" default:"1h" doc:"the time that ends now, or at the moment"`
	}
	getAt(a, "/pace", "getPace", "How work went over a time, and what is usual", ofAll[span], func(ctx context.Context, t tracked, in *span) (report.Pace, error) {
		over, _ := report.FindSpan(in.Span)
		return report.ReadPace(ctx, t.Querier, t.now, over)
	})
	type of struct {
		Momentary
		Centre string `query:"centre" maxLength:"200" doc:"of this centre's files only, and of no polls"`
	}
	getAt(a, "/failures", "listFailures", "What has failed, by exception: whose turn it is, and the next step", func(in *of) asof.Scope { return asof.Scope{Centre: in.Centre} }, func(ctx context.Context, t tracked, in *of) ([]report.Failing, error) {
		if err := report.Known(ctx, t.Querier, in.Centre, ""); err != nil {
			return nil, err
		}
		return report.Failures(ctx, t.Querier, t.now, in.Centre)
	})
	type centre struct {
		Momentary
		Centre string `path:"centre" maxLength:"200" doc:"the centre's short name; capitals don't matter"`
	}
	getAt(a, "/centres/{centre}", "getCentre", "How one centre stands", func(in *centre) asof.Scope { return asof.Scope{Centre: in.Centre} }, func(ctx context.Context, t tracked, in *centre) (c CentreStory, err error) {
		if c.CentreStanding, err = report.StandingOf(ctx, t.Querier, in.Centre); err != nil {
			return c, err
		}
		if c.Failing, err = report.Failures(ctx, t.Querier, t.now, c.Centre); err != nil {
			return c, err
		}
		c.Pending, err = report.PendingOf(ctx, t.Querier, c.Centre, pendingTold)
		return c, err
	})
	a.source()
}

// source registers what is asked about one source.
func (a *API) source() {
	type source struct {
		Source string `path:"source" maxLength:"200" doc:"the source's id"`
	}
	getAt(a, "/sources/{source}", "getSource", "How one source stands, and when it is expected to show more", (*sourceAt).scope, func(ctx context.Context, t tracked, in *sourceAt) (s SourceStory, err error) {
		if s.Source, s.Suspended, err = report.FindSource(ctx, t.Querier, in.Source); err != nil {
			return s, err
		}
		if s.Source.Definition != nil {
			s.Definition = *s.Source.Definition
		}
		return s, expect.Sources(ctx, t.Querier, in.Source, func(e expect.Expectation) error {
			s.Expected = &e
			return nil
		})
	})
	a.orNull("Expectation", "interval_seconds", "files", "bytes", "largest_bytes", "bytes_per_second", "load_seconds")
	get(a, "/sources/{source}/standing", "getSourceStanding", "How a source is defined, by whom, when it is polled next, and what its last check found", func(ctx context.Context, in *source) (Standing, error) {
		if a.deps.Standing == nil {
			return Standing{}, notHere()
		}
		s, err := a.deps.Standing(ctx, in.Source)
		if errors.Is(err, sources.ErrUnknown) {
			err = &refusal{"unknown_source", http.StatusNotFound, err.Error()}
		}
		return s, err
	})
	type ignored struct {
		Source string `path:"source" maxLength:"200" doc:"the source's id"`
		After  int    `query:"after" minimum:"0" maximum:"1000000000" doc:"the next of the part before"`
		Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"how many rows at most"`
	}
	get(a, "/sources/{source}/ignored", "listSourceIgnored", "What the last complete listing of a source showed and nobody takes up, and why", func(ctx context.Context, in *ignored) (Ignored, error) {
		if a.deps.Control == nil {
			return Ignored{}, notHere()
		}
		if err := report.Known(ctx, a.deps.Tracker, "", in.Source); err != nil {
			return Ignored{}, err
		}
		total, rows, err := control.IgnoredOf(ctx, a.deps.Control, in.Source, in.After, in.Limit+1)
		out := Ignored{Total: total, Rows: rows}
		if out.Rows == nil {
			out.Rows = []control.Ignored{}
		}
		if len(rows) > in.Limit {
			out.Rows, out.Next = rows[:in.Limit], in.After+in.Limit
		}
		return out, err
	})
	type polls struct {
		Momentary
		Source string    `path:"source" maxLength:"200" doc:"the source's id"`
		Before time.Time `query:"before" doc:"ended before this moment (RFC 3339), as next of the part before says"`
		Limit  int       `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"how many rows at most"`
	}
	getAt(a, "/sources/{source}/polls", "listSourcePolls", "How polls of a source ended, the newest first", func(in *polls) asof.Scope { return asof.Scope{Source: in.Source, Polls: true} }, func(ctx context.Context, t tracked, in *polls) (part[report.Poll], error) {
		if err := readable(in.Before); err != nil {
			return part[report.Poll]{}, err
		}
		rows, err := report.Polls(ctx, t.Querier, in.Source, in.Before, in.Limit+1)
		for i := range rows {
			countsAsObject(&rows[i])
		}
		return parted(rows, in.Limit, func(p report.Poll) string { return moment(p.Ended) }), err
	})
}

// clean is a text that Postgres takes.
func clean(text string) bool { return !strings.Contains(text, "\x00") }
