package http_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
	"tributary/internal/remote/writing"
)

// Whatever a server answers, a change is done or is an error; what is there is never
// replaced, and no directory is deleted.
func TestWebDAVChangesThatAreNotDone(t *testing.T) {
	remove := func(w writing.Writer, t *testing.T) error { return w.Remove(t.Context(), "add/a.zip") }
	move := func(w writing.Writer, t *testing.T) error { return w.Move(t.Context(), "add/a.zip", "done/a.zip") }
	mark := func(w writing.Writer, t *testing.T) error { return w.Mark(t.Context(), "add/b.zip.done") }
	makes := func(w writing.Writer, t *testing.T) error { return w.MakeDirectory(t.Context(), "done") }
	for about, tt := range map[string]struct {
		change func(writing.Writer, *testing.T) error
		there  string // beside /add/a.zip, a directory if it ends in a slash
		answer int
		want   string // the exception
		asked  bool   // for the change
	}{
		"it is gone":                        {remove, "", http.StatusNotFound, "file_gone", true},
		"it may not be":                     {remove, "", http.StatusForbidden, "permission_denied", true},
		"it is locked":                      {remove, "", http.StatusLocked, "transfer_failed", true},
		"a part of it is":                   {remove, "", http.StatusMultiStatus, "transfer_failed", true},
		"it is to be asked for elsewhere":   {remove, "", http.StatusTemporaryRedirect, "transfer_failed", true},
		"the server has no WebDAV to write": {remove, "", http.StatusMethodNotAllowed, "transfer_failed", true},
		"the server is busy":                {remove, "", http.StatusServiceUnavailable, "server_busy", true},
		"it is a directory by now":          {remove, "/add/a.zip/", http.StatusNoContent, "transfer_failed", false},
		"a directory would be moved":        {move, "/add/a.zip/", http.StatusCreated, "transfer_failed", false},
		"something is where it would go":    {move, "/done/a.zip", http.StatusNoContent, "target_exists", false},
		"something has come there":          {move, "", http.StatusPreconditionFailed, "target_exists", true},
		"where it would go is no directory": {move, "", http.StatusConflict, "transfer_failed", true},
		"it is marked":                      {mark, "/add/b.zip.done", http.StatusNoContent, "", false},
		"somebody has marked it":            {mark, "", http.StatusPreconditionFailed, "", true},
		"it can't be marked":                {mark, "", http.StatusInsufficientStorage, "connection_lost", true},
		"the directory is there":            {makes, "/done/", http.StatusMethodNotAllowed, "", true},
		"a file is where it would be":       {makes, "/done", http.StatusMethodNotAllowed, "transfer_failed", true},
	} {
		t.Run(about, func(t *testing.T) {
			asked := false
			site := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
				name := strings.TrimSuffix(r.URL.Path, "/")
				dir := tt.there == name+"/"
				switch {
				case r.Method != "PROPFIND":
					asked = true
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(tt.answer)
				case name != "/add/a.zip" && name != tt.there && !dir:
					w.WriteHeader(http.StatusNotFound)
				default:
					w.WriteHeader(http.StatusMultiStatus)
					kind := map[bool]string{true: "<D:collection/>"}[dir]
					_, _ = io.WriteString(w, `<D:multistatus xmlns:D="DAV:"><D:response><D:href>`+name+`</D:href><D:propstat><D:prop><D:resourcetype>`+kind+`</D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`)
				}
			})
			_, w := remotetest.WriterOf(t, remote.Config{URL: site.URL, IgnoreRobots: true, WebDAV: true})
			err := tt.change(w, t)
			if got := remote.Exception(err); got != tt.want || asked != tt.asked {
				t.Errorf("%v (%s), want %q; asked for the change: %v", err, got, tt.want, asked)
			}
			if (tt.want == "target_exists") != errors.Is(err, fs.ErrExist) {
				t.Errorf("that something is there is told wrongly: %v", err)
			}
		})
	}
}
