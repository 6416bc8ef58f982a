package http_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// A server that doesn't begin in the middle, or whose answer need not be of the
// same version, is left to be asked for the whole, over the same session.
func TestHTTPGoesOnOnlyWithTheSameVersion(t *testing.T) {
	const date, before = "Thu, 01 Jan 2026 12:00:00 GMT", "Thu, 01 Jan 2026 11:59:00 GMT"
	const rest = "Content-Range: bytes 4-9/10\n"
	for about, tt := range map[string]struct {
		whole, part string // heads of the answers, after the status
		status      int    // of the part
		want        bool   // to go on
	}{
		"a strong ETag":               {"ETag: \"a\"", rest + "ETag: \"a\"", 206, true},
		"none in the part":            {"ETag: \"a\"", rest, 206, true},
		"another in the part":         {"ETag: \"a\"", rest + "ETag: \"b\"", 206, false},
		"a weak ETag":                 {"ETag: W/\"a\"", rest, 206, false},
		"an ETag with a space":        {"ETag: \"a b\"", rest, 206, false},
		"an ETag without end":         {"ETag: \"" + strings.Repeat("x", 600) + "\"", rest, 206, false},
		"a time of a minute before":   {"Date: " + date + "\nLast-Modified: " + before, rest + "Last-Modified: " + before, 206, true},
		"another time in the part":    {"Date: " + date + "\nLast-Modified: " + before, rest + "Last-Modified: " + date, 206, false},
		"a time of just now":          {"Date: " + date + "\nLast-Modified: " + strings.Replace(before, ":00 ", ":01 ", 1), rest, 206, false},
		"nothing that names it":       {"X: y", rest, 206, false},
		"another part":                {"ETag: \"a\"", "Content-Range: bytes 3-9/10", 206, false},
		"no part":                     {"ETag: \"a\"", "X: y", 206, false},
		"the whole":                   {"ETag: \"a\"", "ETag: \"a\"", 200, false},
		"the range is beyond the end": {"ETag: \"a\"", "Content-Range: bytes */3", 416, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
				head, status := tt.whole, 200
				if from := r.Header.Get("Range"); from != "" {
					head, status = tt.part, tt.status
					if from != "bytes=4-" || r.Header.Get("If-Range") == "" {
						t.Errorf("asked for %q if %q", from, r.Header.Get("If-Range"))
					}
				}
				for line := range strings.SplitSeq(head, "\n") {
					name, value, _ := strings.Cut(line, ": ")
					w.Header().Set(name, value)
				}
				w.WriteHeader(status)
				fmt.Fprint(w, "456789")
			})
			session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
			body, err := session.Open(t.Context(), "add/a.zip", 10)
			if err != nil {
				t.Fatal(err)
			}
			version := remote.Version(body)
			if err := body.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := remotetest.GoOn(t, session, version)
			if tt.want && (err != nil || got != "456789") || !tt.want && !errors.Is(err, remote.ErrNotResumed) {
				t.Errorf("going on from %q brings %q, %v", version, got, err)
			}
			if err != nil && remote.SessionLost(err) {
				t.Errorf("the session is lost: %v", err)
			}
			if err := remotetest.FetchAll(t, session); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
