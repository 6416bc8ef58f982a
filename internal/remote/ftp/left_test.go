package ftp_test

import (
	"io"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
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
