package http

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tributary/internal/remote"
)

// Heads are those of the transfer.
func (r *Reader) Heads() remote.Heads { return r.heads }

// headsOf notes a response, and the request that it answers.
func headsOf(resp *http.Response) remote.Heads {
	req := resp.Request
	asked := []string{req.Method + " " + withoutSecrets(req.URL)}
	said := []string{resp.Proto + " " + resp.Status}
	return remote.Heads{Request: lines(asked, req.Header), Response: lines(said, resp.Header)}
}

// withoutSecrets is a URL as it may be shown: queries are how storage is opened to
// whoever knows them.
func withoutSecrets(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery != "" {
		return shown.String() + "?…"
	}
	return shown.String()
}

// lines are a head's lines as one. Values are shown of headers that tell of the
// transfer alone: whatever else a header holds may be a secret.
func lines(out []string, header http.Header) string {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := "(not kept)"
		if slices.Contains(telling(), name) {
			value = strings.Join(header[name], ", ")
		}
		out = append(out, name+": "+value)
	}
	return remote.Clean(strings.Join(out, "; "))
}

// telling are the headers of which values are kept.
func telling() []string {
	return []string{
		"Accept", "Accept-Encoding", "Accept-Ranges", "Age", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
		"Date", "Etag", "Expires", "If-Range", "Last-Modified", "Range", "Retry-After", "Server", "Transfer-Encoding", "User-Agent", "Vary", "Via",
		"X-Amz-Storage-Class", "X-Amz-Version-Id",
	}
}
