package ftp_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

// A server without MLST is asked for the time alone of a file that has come whole, on the
// connection that the file still has. What it doesn't tell has to be asked of Stat, and
// the session goes on.
func TestFTPAfterAFile(t *testing.T) {
	when := time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC)
	for about, tt := range map[string]struct {
		features, mdtm string
		read           int64
		want           *remote.Entry
		asked          bool
	}{
		"all has come":         {" MDTM\r\n", "213 20190304050607", 5, &remote.Entry{Name: "a.zip", Size: 4, ModTime: when, Precision: time.Second}, true},
		"some has come":        {" MDTM\r\n", "213 20190304050607", 3, nil, false},
		"the time is none":     {" MDTM\r\n", "213 when?", 5, nil, true},
		"the file is gone":     {" MDTM\r\n", "550 no such file", 5, nil, true},
		"no time is known":     {"", "500 what?", 5, nil, false},
		"MLST tells all there": {" MDTM\r\n MLST type*;size*;modify*;\r\n", "213 20190304050607", 5, nil, false},
	} {
		t.Run(about, func(t *testing.T) {
			server := &script{
				replies: map[string]string{"FEAT": "211-F\r\n" + tt.features + "211 End", "RETR": "150 here|226 done", "MDTM": tt.mdtm, "SIZE": "213 4"},
				data:    map[string]string{"RETR": "data"},
			}
			s := ftpSession(t, server)
			body, err := s.Open(t.Context(), "add/a.zip", 4)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, body, tt.read); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, remote.After(t.Context(), body)); diff != "" {
				t.Errorf("the file afterwards (-want +got):\n%s", diff)
			}
			if err := body.Close(); err != nil {
				t.Error(err)
			}
			if remote.After(t.Context(), body) != nil {
				t.Error("it tells of a file that is closed")
			}
			asked := slices.ContainsFunc(server.commands(), func(c string) bool { return strings.HasPrefix(c, "MDTM") })
			if asked != tt.asked || slices.ContainsFunc(server.commands(), func(c string) bool { return strings.HasPrefix(c, "SIZE") }) {
				t.Errorf("asked %q", server.commands())
			}
		})
	}
}
