package traces

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tributary/internal/config"
	"tributary/schemas"
	"tributary/test/collector"
)

// What a collector answers decides whether spans are taken, dropped, or sent again.
func TestAnswers(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	body := func(text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, text); return true }
	}
	partial := func(rejected uint64) string {
		inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), rejected)
		inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), "too old")
		return string(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	}
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, r *http.Request) bool {
		block := []byte(strings.Repeat("x", 64<<10))
		for r.Context().Err() == nil {
			n, err := w.Write(block)
			if sent.Add(int64(n)); err != nil {
				break
			}
		}
		return true
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		taken  int
		err    string // begins so; empty: none
		drops  bool
	}{
		"as the protocol says":             {nil, 3, "", false},
		"garbage":                          {body("\xff\xff<html>"), 3, "", false},
		"a body without end":               {endless, 3, "", false},
		"a partial success":                {body(partial(2)), 1, "", false},
		"more refused than sent":           {body(partial(1 << 62)), 0, "", false},
		"less than none refused":           {body(partial(1 << 63)), 3, "", false},
		"the request is none":              {status(http.StatusBadRequest), 0, "the collector refuses spans: HTTP status 400", true},
		"too large":                        {status(http.StatusRequestEntityTooLarge), 0, "the collector refuses spans: HTTP status 413", true},
		"an error of its own":              {status(http.StatusInternalServerError), 0, "the collector refuses spans: HTTP status 500", true},
		"busy":                             {status(http.StatusServiceUnavailable), 0, "the collector has no time: HTTP status 503", false},
		"too many requests":                {status(http.StatusTooManyRequests), 0, "the collector has no time: HTTP status 429", false},
		"nobody that it knows":             {status(http.StatusUnauthorized), 0, "the collector answers with HTTP status 401: correct traces.endpoint or traces.authorization", false},
		"another page":                     {status(http.StatusNotFound), 0, "the collector answers with HTTP status 404: correct traces.endpoint", false},
		"a redirect":                       {elsewhere, 0, "the collector answers with HTTP status 307: correct traces.endpoint", false},
		"headers without end":              {wordy, 0, "the collector at traces.endpoint can't be reached", false},
		"a connection that is broken off":  {hangUp, 0, "the collector at traces.endpoint can't be reached", false},
		"a body that is broken off, taken": {cutOff, 3, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			at := collector.New(t)
			at.Answer(c.answer)
			t.Setenv("TRACES_TOKEN", "Bearer hunter2")
			client := dial(t, config.Traces{Endpoint: at.URL, Authorization: "env:TRACES_TOKEN"})
			r, err := requests("1", []span{{name: "a", start: *seconds(1), end: *seconds(2)}, {name: "b", start: *seconds(1), end: *seconds(2)}, {name: "c", start: *seconds(1), end: *seconds(2)}})
			if err != nil || len(r) != 1 {
				t.Fatal(len(r), err)
			}
			taken, err := client.send(t.Context(), r[0])
			var refused *refusal
			if taken != c.taken || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) || errors.As(err, &refused) != c.drops {
				t.Errorf("took %d, error %v; want %d, %q, dropped %t", taken, err, c.taken, c.err, c.drops)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the secret: %v", err)
			}
			headers := at.Headers()
			if len(headers) != 1 || headers[0].Get("Authorization") != "Bearer hunter2" {
				t.Errorf("%d requests came, want one, with what authorizes it", len(headers))
			}
		})
	}
	if n := sent.Load(); n > 64<<20 { // what the kernel holds of it included
		t.Errorf("%d bytes of an answer without end were read", n)
	}
}

// dial is a client whose connections end with the test.
func dial(t *testing.T, cfg config.Traces) *exporter {
	t.Helper()
	c, err := newExporter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.CloseIdleConnections)
	return c
}

func elsewhere(w http.ResponseWriter, r *http.Request) bool {
	http.Redirect(w, r, "/v1/traces?stolen", http.StatusTemporaryRedirect)
	return true
}

func wordy(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
	return true
}

func hangUp(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

func cutOff(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, "x")
	return true
}

// However many and large spans are, a request has bounds.
func TestRequestsHaveBounds(t *testing.T) {
	var all []span
	long := schemas.Message{ID: strings.Repeat("i", 5000), Stage: "s", Time: *seconds(1)}
	for range 1500 {
		s := subjectOf(long, &schemas.StatusChanged{FileRef: schemas.FileRef{File: "f", FileName: strings.Repeat("n", 5000)}, Status: "failed", Exception: strings.Repeat("x", 5000), Message: strings.Repeat("m", 5000)})
		all = append(all, s.outcomeSpan([8]byte{1}, [8]byte{}, "s", *seconds(1), *seconds(2)))
	}
	rs, err := requests("1", all)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range rs {
		n += r.spans
		if r.spans > maxSpans || len(r.body) > maxBytes+maxBytes/8 {
			t.Errorf("a request has %d spans and %d bytes", r.spans, len(r.body))
		}
	}
	if n != len(all) || len(rs) < 4 {
		t.Errorf("%d requests have %d spans of %d", len(rs), n, len(all))
	}
}
