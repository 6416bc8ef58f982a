package remote

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds for how long a server may ask to be left alone: whoever asks
// for more is looked at once a day all the same.
const maxRetryAfter = 24 * time.Hour

// RetryAfter is how long the server asks to be left alone, up to a day; 0: it doesn't.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.after
	}
	return 0
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
