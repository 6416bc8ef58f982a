package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/test/collector"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// The collector of a run that was killed, and of the one that went on, has one trace
// for each file: the one that the file's events name. In each, what follows stands
// below what it follows from.
func TestOneTracePerFile(t *testing.T) {
	long(t, "TestPhases", "TestAnotherMemberGoesOn")
	t.Parallel()
	c := collector.New(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true,
		Extra: shortLeases + "traces:\n  endpoint: " + c.URL + "\n"})
	p := s.start("up", "--once")
	eventually(t, onceWithin, func() string {
		if len(c.Spans()) == 0 {
			return "no span came"
		}
		return ""
	})
	t.Logf("killed with %d spans exported: %t", len(c.Spans()), p.kill(true))
	killed := time.Now()
	s.once()

	traces := map[string][]collector.Span{} // by file
	for _, span := range c.Spans() {
		file := span.Attributes["tributary.action"] + "/" + span.Attributes["file.name"]
		traces[file] = append(traces[file], span)
	}
	type named struct{ Subject, Traceparent string }
	events := sql[named](s, "history", "SELECT DISTINCT action || '/' || file_name AS subject, traceparent FROM once WHERE file_name <> ''")
	if len(events) != len(traces) || len(events) == 0 {
		t.Errorf("%d files have traces, and events name %d", len(traces), len(events))
	}
	for _, e := range events {
		spans := traces[e.Subject]
		if len(spans) == 0 {
			t.Errorf("%s has no trace", e.Subject)
			continue
		}
		checkTrace(t, e.Subject, e.Traceparent, spans)
	}

	var loaded []collector.Span
	for _, spans := range traces {
		if slices.ContainsFunc(spans, func(s collector.Span) bool { return s.Name == "overview" }) {
			loaded = spans
		}
	}
	if loaded == nil {
		t.Fatal("no file came into the warehouse")
	}
	// What was killed before it was told is done again, after what followed from it: each
	// run's spans are in order.
	before := map[bool]time.Time{}
	for _, name := range []string{"file", "plan", "download", "unzip wait", "unzip", "xml_name", "xsd", "order", "upload", "data wait", "data", "context", "overview"} {
		first := slices.IndexFunc(loaded, func(s collector.Span) bool { return s.Name == name })
		if first < 0 {
			t.Errorf("a file that came into the warehouse has no span %s", name)
			continue
		}
		at := loaded[first].Start
		if again := at.After(killed); at.Before(before[again]) {
			t.Errorf("the span %s begins at %s, before the one of the phase before, at %s", name, at, before[again])
		} else {
			before[again] = at
		}
	}
}

// checkTrace holds the spans of a file against the trace that its events name.
func checkTrace(t *testing.T, file, traceparent string, spans []collector.Span) {
	t.Helper()
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		t.Errorf("the events of %s name the trace context %q", file, traceparent)
		return
	}
	byID := map[string]collector.Span{}
	for _, s := range spans {
		if s.Trace != parts[1] {
			t.Errorf("%s: the span %s is of the trace %s, and its events name %s", file, s.Name, s.Trace, parts[1])
		}
		if old, twice := byID[s.ID]; twice && (old.Name != s.Name || old.Parent != s.Parent) {
			t.Errorf("%s: the spans %s and %s have one id", file, old.Name, s.Name)
		}
		byID[s.ID] = s
	}
	if root, ok := byID[parts[2]]; !ok || root.Parent != "" {
		t.Errorf("%s: the events name the root %s, which is none", file, parts[2])
	}
	for _, s := range byID {
		if _, ok := byID[s.Parent]; !ok && s.ID != parts[2] {
			t.Errorf("%s: the span %s stands below %s, which is missing", file, s.Name, cmp.Or(s.Parent, "nothing"))
		}
	}
}
