// Package collector is a collector of traces for tests: it takes OTLP over HTTP as
// the protocol says and keeps every span that it was sent.
package collector

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it came. Texts and numbers of attributes are texts here.
type Span struct {
	Trace, ID, Parent string // hexadecimal; Parent is empty of a root
	Name              string
	Start, End        time.Time
	Failed            string // the message of a status that is an error
	Message           string // of the exception
	Attributes        map[string]string
}

// Collector is one that listens until the test ends.
type Collector struct {
	URL string

	mu       sync.Mutex
	spans    []Span
	wrong    []string
	headers  []http.Header
	answered func(http.ResponseWriter, *http.Request) bool
}

// New starts a collector, which is stopped when the test ends. What it gets that is
// not as the protocol says fails the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	c.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, w := range c.wrong {
			t.Error(w)
		}
	})
	return c
}

// Answer lets a function answer requests; where it returns false, they are taken
// and answered as ever. Nil: they are from now on.
func (c *Collector) Answer(answer func(http.ResponseWriter, *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = answer
}

// Spans are all that were taken, in the order in which they came.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers are those of all requests, those that were not taken included.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.headers = append(c.headers, r.Header.Clone())
	answer := c.answered
	c.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	if err := c.receive(r); err != nil {
		c.mu.Lock()
		c.wrong = append(c.wrong, err.Error())
		c.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) receive(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return fmt.Errorf("%s %s of %q is no export of traces", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	// Byte for byte an ExportTraceServiceRequest, whose package would link gRPC.
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		return fmt.Errorf("a request can't be read: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range data.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				if len(s.GetTraceId()) != 16 || len(s.GetSpanId()) != 8 || s.GetName() == "" || s.GetStartTimeUnixNano() == 0 || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
					return fmt.Errorf("no span: %s", s)
				}
				c.spans = append(c.spans, read(s))
			}
		}
	}
	return nil
}

func read(s *tracepb.Span) Span {
	out := Span{Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(),
		Start: time.Unix(0, int64(s.GetStartTimeUnixNano())).UTC(), End: time.Unix(0, int64(s.GetEndTimeUnixNano())).UTC(), Attributes: map[string]string{}}
	for _, a := range s.GetAttributes() {
		value := a.GetValue().GetStringValue()
		if value == "" {
			value = fmt.Sprint(a.GetValue().GetIntValue())
		}
		out.Attributes[a.GetKey()] = value
	}
	if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Failed = s.GetStatus().GetMessage()
	}
	for _, e := range s.GetEvents() {
		for _, a := range e.GetAttributes() {
			if a.GetKey() == "exception.message" {
				out.Message = a.GetValue().GetStringValue()
			}
		}
	}
	return out
}
