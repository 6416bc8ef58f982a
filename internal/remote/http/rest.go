package http

import (
	"net/http"

	"tributary/internal/remote"
)

// brief is up to how many bytes a file may have whose server is not asked about it once
// more after they have come: a server reads so few within some round trips.
const brief = 256 << 10

// atRest is the version of a file of which an answer brings the bytes; nil: that is not
// known. A server has opened the file when it says of which version it is, so what takes
// its place is not what comes. What comes could be others' bytes only of a file that is
// written in place meanwhile: so it must be small, and have been left alone before, by the
// server's own clock.
func atRest(full string, resp *http.Response) *remote.Entry {
	e := remote.Storable(FileOf(full, resp))
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || e.Size < 0 || e.Size > brief || e.ModTime.IsZero() || now.Sub(e.ModTime) < settled {
		return nil
	}
	return &e
}
