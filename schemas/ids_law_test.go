package schemas

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// No two lists of parts share an id, whatever stands in the parts: names that
// strangers chose are among them, and may hold what separates parts.
func TestNoTwoListsShareAnID(t *testing.T) {
	parts := rapid.SliceOfN(rapid.StringMatching(`[a0-3:]{0,3}`), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		if same := slices.Equal(a, b); (ID(a...) == ID(b...)) != same {
			t.Fatalf("%q and %q: equal %v, the same id %v", a, b, same, !same)
		}
	})
	// What is cut elsewhere reads the same when it is put together, with any
	// separator that is not protected.
	for _, separator := range []string{"", "0", "1", ":", "1:", "0:", "\x00", "/"} {
		if ID("a", "b") == ID("a"+separator+"b") || ID("a"+separator+"b", "c") == ID("a", "b"+separator+"c") {
			t.Errorf("with %q between them, different lists of parts share an id", separator)
		}
	}
}

// An id is the UUIDv5 that any library makes of the parts: other programs announce files
// by it, and what is stored has it.
func TestIDsAreUUIDsOfVersion5(t *testing.T) {
	namespace := uuid.MustParse("5d2a1cb4-3c0e-5f27-9b0e-0b7f3f0c7f41")
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "parts")
		if rapid.Bool().Draw(t, "long") {
			parts = append(parts, strings.Repeat("x", rapid.IntRange(0, 1000).Draw(t, "length")))
		}
		text := ""
		for _, p := range parts {
			text += fmt.Sprint(len(p)) + ":" + p
		}
		if want := uuid.NewSHA1(namespace, []byte(text)); UUID(parts...) != want || ID(parts...) != want.String() {
			t.Fatalf("%q: %s, want %s", parts, ID(parts...), want)
		}
	})
}

// Whatever tells events apart is in their id, and nothing else is: the same
// cause has the same id again.
func TestEventIDsFollowFromTheirCause(t *testing.T) {
	base := []string{"unzip", LiveRun, "input", "document", "1", "sha"}
	id := func(p []string) string { return EventID(p[0], p[1], p[2], p[3], p[4:]...) }
	if id(base) != id(slices.Clone(base)) {
		t.Error("the same cause has two ids")
	}
	for i := range base {
		other := slices.Clone(base)
		other[i] += "x"
		if id(base) == id(other) {
			t.Errorf("part %d (%s) is not in the id", i, base[i])
		}
	}
	if id(base) == id(base[:len(base)-1]) || id(base) == ID(base...) {
		t.Error("another list of parts has the id of the event")
	}
}

// Every event of a file names the trace of the file, and one of no file or of
// several none; a traceparent that is given stays.
func TestEventsNameTheTrace(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	scope, file := Scope{Run: LiveRun, Session: "s"}, FileRef{File: "f"}
	trace := TraceID(LiveRun, "s", "f")
	root := RootSpanID(trace)
	own := "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(root[:]) + "-01"
	for _, x := range []struct {
		topic string
		given string
		body  any
		want  string
	}{
		{FileDiscoveredTopic, "", &FileDiscovered{Scope: scope, FileRef: file}, own},
		{DownloadRequestedTopic, "", &DownloadRequested{Scope: scope, Files: []RequestFile{{FileRef: file}}}, ""},
		{DownloadFinishedTopic, "", &DownloadFinished{Scope: scope, FileRef: file}, own},
		{UnzipFinishedTopic, "", &UnzipFinished{Scope: scope, FileRef: file}, own},
		{DocumentExtractedTopic, "", &DocumentExtracted{Scope: scope, FileRef: file}, own},
		{DocumentValidatedTopic, "", &DocumentValidated{Scope: scope, FileRef: file}, own},
		{DocumentOrderedTopic, "", &DocumentOrdered{Scope: scope, FileRef: file}, own},
		{StatusChangedTopic, "", &StatusChanged{Scope: scope, FileRef: file}, own},
		{StatusChangedTopic, "", &StatusChanged{Scope: scope}, ""},
		{StatusChangedTopic, "00-1-2-01", &StatusChanged{Scope: scope, FileRef: file}, "00-1-2-01"},
	} {
		r, err := c.Encode(Message{ID: "id", Topic: x.topic, Traceparent: x.given, Body: x.body})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header(headerTrace); got != x.want {
			t.Errorf("an event of %s names %q, want %q", x.topic, got, x.want)
		}
	}
	if TraceID("run", "a", "f") != TraceID("run", "b", "f") || TraceID("run", "a", "f") == TraceID(LiveRun, "a", "f") || TraceID(LiveRun, "a", "f") == TraceID(LiveRun, "b", "f") {
		t.Error("a replay has one trace per file, and the live run one per session and file")
	}
}
