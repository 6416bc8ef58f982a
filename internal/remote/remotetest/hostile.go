package remotetest

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

// Endless writes a text again and again until nobody takes it any more.
func Endless(text string) func(io.Writer) {
	return func(w io.Writer) {
		chunk := []byte(strings.Repeat(text, 1+(32<<10)/len(text)))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

// Drip writes one byte after the other, slowly, and the end of the line after
// more of them than anybody should wait for.
func Drip(text string, pause time.Duration) func(io.Writer) {
	return func(w io.Writer) {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for _, b := range []byte(text + strings.Repeat(".", 400) + "\r\n") {
			<-tick.C
			if _, err := w.Write([]byte{b}); err != nil {
				return
			}
		}
	}
}

// Fit fails the test unless an error's text can be shown and stored.
func Fit(t *testing.T, err error) {
	t.Helper()
	text := fmt.Sprint(err)
	if len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		t.Errorf("the error's text has %d bytes, or others than it should: %.300q", len(text), text)
	}
}

// Allocated returns how many bytes f allocates, freed ones included.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Within is how long a server may take of which this exception is expected: minutes,
// since a busy machine makes each late, but a short time where it is to be too long.
func Within(exception string, short time.Duration) time.Duration {
	if exception == "timed_out" {
		return short
	}
	return 5 * time.Minute
}

// Converse goes through all that a session does, and returns the first error.
func Converse(t *testing.T, c remote.Config) error {
	s, err := connectors.All().Dial(t.Context(), c)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.List(t.Context(), "add", func(remote.Entry) error { return nil }); err != nil {
		return err
	}
	if _, err := s.Stat(t.Context(), "add/a.zip"); err != nil {
		return err
	}
	_, err = Download(t.Context(), s, "add/a.zip", 4)
	return err
}

// Then writes one thing after the other.
func Then(all ...func(io.Writer)) func(io.Writer) {
	return func(w io.Writer) {
		for _, f := range all {
			f(w)
		}
	}
}

// Starts writes a text.
func Starts(text string) func(io.Writer) { return func(w io.Writer) { _, _ = io.WriteString(w, text) } }

// FetchAll reads add/x.zip to its end.
func FetchAll(t *testing.T, s remote.Session) error {
	t.Helper()
	r, err := s.Open(t.Context(), "add/x.zip", 5)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}
