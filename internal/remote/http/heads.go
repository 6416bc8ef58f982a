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
	return remote.Heads{Request: lines(asked, req.Header, ofOurs), Response: lines(said, resp.Header, telling)}
}

// ofOurs tells whether a request's header is one that a source can't have, or has the value
// that we give it: what a source's headers hold is a secret, whatever they are called.
func ofOurs(name string, values []string) bool {
	switch name {
	case "User-Agent":
		return slices.Equal(values, []string{UserAgent})
	case "Accept":
		return slices.Equal(values, []string{"*/*"})
	}
	return telling(name, values) && slices.Contains(ours(), name)
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

// lines are a head's lines as one, with the values of headers that are shown.
func lines(out []string, header http.Header, shown func(name string, values []string) bool) string {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := "(not kept)"
		if shown(name, header[name]) {
			value = strings.Join(header[name], ", ")
		}
		out = append(out, name+": "+value)
	}
	return remote.Clean(strings.Join(out, "; "))
}

// telling tells whether a header tells of the transfer alone: whatever else one holds may be
// a secret.
func telling(name string, _ []string) bool {
	return slices.Contains([]string{
		"Accept-Encoding", "Accept-Ranges", "Age", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
		"Date", "Etag", "Expires", "If-Range", "Last-Modified", "Range", "Retry-After", "Server", "Transfer-Encoding", "Vary", "Via",
		"X-Amz-Storage-Class", "X-Amz-Version-Id",
	}, name)
}
