package http_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// Of which version bytes are an answer tells where they are few, and the file has been
// left alone before; else the server has to be asked once more.
func TestHTTPWhoseBytesCome(t *testing.T) {
	now := time.Date(2024, 7, 1, 10, 30, 17, 0, time.UTC)
	for about, tt := range map[string]struct {
		bytes    int // -1: the answer doesn't tell
		modified string
		date     string // empty: as it is
		known    bool
	}{
		"of a minute before":     {7, now.Add(-time.Minute).Format(http.TimeFormat), "", true},
		"of less than a minute":  {7, now.Add(-59 * time.Second).Format(http.TimeFormat), "", false},
		"of a time to come":      {7, now.Add(time.Hour).Format(http.TimeFormat), "", false},
		"without a time":         {7, "", "", false},
		"of a time that is none": {7, "0", "", false},
		"of an unknown now":      {7, now.Add(-time.Hour).Format(http.TimeFormat), "soon", false},
		"without a length":       {-1, now.Add(-time.Hour).Format(http.TimeFormat), "", false},
		"empty":                  {0, now.Add(-time.Hour).Format(http.TimeFormat), "", true},
		"small":                  {256 << 10, now.Add(-time.Hour).Format(http.TimeFormat), "", true},
		"large":                  {256<<10 + 1, now.Add(-time.Hour).Format(http.TimeFormat), "", false},
	} {
		s := remotetest.NewSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", now.Format(http.TimeFormat))
			if tt.date != "" {
				w.Header().Set("Date", tt.date)
			}
			if tt.modified != "" {
				w.Header().Set("Last-Modified", tt.modified)
			}
			if tt.bytes >= 0 {
				w.Header().Set("Content-Length", fmt.Sprint(tt.bytes))
			}
			if tt.bytes < 0 {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write(make([]byte, max(tt.bytes, 0)))
		})
		session := remotetest.Dial(t, remote.Config{URL: s.URL, IgnoreRobots: true})
		shown, err := session.Stat(t.Context(), "add/x.zip")
		if err != nil {
			t.Fatal(err)
		}
		r, err := session.Open(t.Context(), "add/x.zip", -1)
		if err != nil {
			t.Fatal(err)
		}
		got, want := remote.Whose(r), &shown
		if !tt.known {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-HEAD +GET):\n%s", about, diff)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != int64(max(tt.bytes, 0)) {
			t.Errorf("%s: %d bytes, %v", about, n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
