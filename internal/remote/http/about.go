package http

import "tributary/internal/remote"

// about says what the connectors can, by what is read and how the server is known.
func about(reads, trust string) remote.About {
	return remote.About{
		Reads:    reads,
		Listings: "index pages of Apache httpd, nginx (HTML and JSON), lighttpd and IIS, and pages of plain links; RSS and Atom (`feed`); WebDAV (`webdav`)",
		Times:    "to the minute or the second in index pages, and by `Last-Modified`, for files that may have changed, to the second; WebDAV to the second; of feeds as items and servers say. The zone of index pages is learned",
		LogsIn:   "a user in the url and `password` (basic), `token` (bearer), `cookie` or other `headers`, all of them to the url's scheme, host and port alone; the proxy by `proxy_password`",
		Trust:    trust,
		Resumes:  "by `Range` and `If-Range`, where the server names the version by a strong `ETag`, or by a `Last-Modified` that was a minute old",
		Checks:   "the length that the answer says",
		Sessions: "one request",
		Versions: "`ETag` and `Last-Modified`: a listing or feed is asked for only if it is another",
		Besides:  "no directories below the three; redirects are bounded; robots.txt is heeded unless `robots` says otherwise",
	}
}
