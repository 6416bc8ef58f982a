package ftp_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/wait"
)

// A transfer that is broken off ends with whatever the server says of it, also with the
// code that began it, as Pure-FTPd says. One that isn't ends so never.
func TestFTPTransfersThatAreBrokenOff(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		whole bool   // it is read to its end
		want  string // the exception of what is asked for next, or of reading
	}{
		"refused":                 {"150 here|426 broken", false, ""},
		"done all the same":       {"150 here|226 done", false, ""},
		"with what began it":      {"150 here|150 0.004 seconds", false, ""},
		"with another beginning":  {"150 here|125 0.004 seconds", false, "connection_lost"},
		"read to its end":         {"150 here|150 0.004 seconds", true, "protocol_error"},
		"and the server hangs up": {"150 here|", false, "connection_lost"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ftpSession(t, &script{replies: map[string]string{"RETR": tc.reply, "LIST": "150 here|226 done"},
				data: map[string]string{"RETR": "some bytes", "LIST": "-rw-r--r-- 1 u g 1 Mar  4  2019 a.zip\r\n"}})
			r, err := s.Open(t.Context(), "a.zip", -1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = io.ReadFull(r, make([]byte, 4)); err == nil && tc.whole {
				_, err = io.ReadAll(r)
			}
			_ = r.Close()
			if !tc.whole {
				_, err = remotetest.Entries(s, t, "add")
			}
			if got := remote.Exception(err); got != tc.want {
				t.Errorf("%v (%s), want %q", err, got, tc.want)
			}
		})
	}
}

// A server that says nothing of a transfer that was broken off, as Pure-FTPd within TLS, is
// asked where it is: what it answers to that ends the transfer, or what comes before.
func TestFTPTransfersOfWhichNothingIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string // to the question where it is
		want   string // the exception of what is asked for next
	}{
		"it answers":                     {"257 \"/home\"\r\n", ""},
		"it was late, and answers":       {"426 broken\r\n257 \"/home\"\r\n", ""},
		"it was late, and knows no PWD":  {"226 done\r\n502 no\r\n", "connection_lost"},
		"it ends it after all, as began": {"150 0.004 seconds\r\n257 \"/home\"\r\n", ""},
		"it says nothing any more":       {"", "connection_lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var began atomic.Bool
			s := &script{replies: map[string]string{"RETR": "150 here|426 broken", "LIST": "150 here|226 done"},
				data: map[string]string{"RETR": "some bytes", "LIST": "-rw-r--r-- 1 u g 1 Mar  4  2019 a.zip\r\n"},
				strike: map[string]func(io.Writer){
					"after RETR": func(io.Writer) { began.Store(true) },
					"PWD": func(w io.Writer) {
						if !began.Load() {
							_, _ = io.WriteString(w, "257 \"/home\"\r\n")
							return
						}
						_, _ = io.WriteString(w, tc.answer)
					},
				}}
			c := remote.Config{URL: s.start(t), Password: "x"}
			soon := time.Minute
			if tc.answer == "" {
				soon = 500 * time.Millisecond
			}
			var session remote.Session
			wait.Longer(t, soon, func(silence time.Duration) (err error) {
				c.IdleTimeout = silence
				began.Store(false)
				if session, err = connectors.All().Dial(t.Context(), c); err != nil {
					return err
				}
				t.Cleanup(func() { _ = session.Close() })
				r, err := session.Open(t.Context(), "a.zip", -1)
				if err != nil {
					return err
				}
				defer r.Close()
				_, err = io.ReadFull(r, make([]byte, 4))
				return err
			})
			if _, err := remotetest.Entries(session, t, "add"); remote.Exception(err) != tc.want {
				t.Errorf("%v (%s), want %q", err, remote.Exception(err), tc.want)
			}
		})
	}
}

// A listing that the caller has broken off is read to its end, or costs the session:
// Pure-FTPd sends what it could not before the next one, as if it were in that directory.
func TestFTPListingsThatAreBrokenOff(t *testing.T) {
	for name, tc := range map[string]struct {
		entries int
		want    string // the exception of the next listing
	}{
		"little is left":            {5_000, ""},
		"much is left":              {50_000, "connection_lost"},
		"it has no end (by itself)": {1 << 30, "connection_lost"},
	} {
		t.Run(name, func(t *testing.T) {
			left := "" // what the server could not send, as it keeps it
			list := func(w io.Writer) {
				lines := []byte(left + strings.Repeat("-rw-r--r-- 1 u g 1 Mar  4  2019 a.zip\r\n", 100))
				for range max(1, tc.entries/100) {
					if _, err := w.Write(lines); err != nil {
						left = string(lines)
						return
					}
				}
				tc.entries = 1
			}
			s := ftpSession(t, &script{replies: map[string]string{"LIST": "150 here|226 done"}, strike: map[string]func(io.Writer){"data of LIST": list}})
			own := errors.New("own")
			if err := s.List(t.Context(), "add", func(remote.Entry) error { return own }); !errors.Is(err, own) {
				t.Fatalf("%v, want the caller's own error", err)
			}
			got, err := remotetest.Entries(s, t, "edit")
			if is := remote.Exception(err); is != tc.want || is == "" && len(got) != 100 {
				t.Errorf("the next listing: %d entries, %v (%s), want 100 or %q", len(got), err, is, tc.want)
			}
		})
	}
}
