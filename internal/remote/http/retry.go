package http

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

// maxRetryAfter bounds for how long a server may ask to be left alone: whoever asks
// for more is looked at once a day all the same.
const maxRetryAfter = 24 * time.Hour

// comeBack has a refusal say when its server asks to be asked again. It is left alone
// until then where it is in trouble; where it refuses one thing only, such as a file that
// isn't there, the header says nothing of all others.
func comeBack(e *remote.Error, resp *http.Response) {
	again := resp.Header.Get("Retry-After")
	if again == "" {
		return
	}
	e.Err = fmt.Errorf("%w, and asks to come back after %s (seconds, if it is a number)", e.Err, again)
	if e.Class != remote.Busy && e.Class != remote.Connection {
		return
	}
	if e.After = retryAfter(resp, time.Now()); e.After == maxRetryAfter {
		e.Err = fmt.Errorf("%w, of which a day is heeded", e.Err)
	}
}

// retryAfter reads the header Retry-After, of seconds or of a date, which is compared
// with the server's own clock where it shows that.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // more digits than a number has
		}
		return time.Duration(n) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}
