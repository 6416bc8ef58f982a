package ftp_test

import (
	"errors"
	"slices"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
)

// A server that refuses REST, or RETR after it, is asked for the whole on the same
// connection; one that has lost the file says so.
func TestFTPWithoutREST(t *testing.T) {
	for about, tt := range map[string]struct {
		rest, retr string
		resumed    bool
		exception  string
	}{
		"it goes on":             {"350 go on", "150 here|226 done", true, ""},
		"REST is not known":      {"502 no", "150 here|226 done", false, "transfer_failed"},
		"REST is not allowed":    {"550 no", "150 here|226 done", false, "transfer_failed"},
		"RETR can't begin there": {"350 go on", "554 beyond the end", false, "transfer_failed"},
		"the file is gone":       {"350 go on", "550 no such file", false, "file_gone"},
		"it hangs up":            {"421 bye", "150 here|226 done", false, "connection_lost"},
	} {
		t.Run(about, func(t *testing.T) {
			server := machine()
			server.replies["REST"], server.replies["RETR"] = tt.rest, tt.retr
			s, err := connectors.All().Dial(t.Context(), remote.Config{URL: server.start(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got, err := remotetest.GoOn(t, s, "")
			if tt.resumed != (err == nil) || remote.Exception(err) != tt.exception || tt.resumed && got != "data" {
				t.Errorf("it brings %q, %v (%s)", got, err, remote.Exception(err))
			}
			if want := tt.exception == "transfer_failed"; errors.Is(err, remote.ErrNotResumed) != want {
				t.Errorf("%v: to be fetched from the beginning: %v", err, !want)
			}
			if !slices.Contains(server.commands(), "REST 4") {
				t.Errorf("asked %v", server.commands())
			}
			if tt.exception != "transfer_failed" || tt.retr[0] != '1' {
				return
			}
			if data, err := remotetest.Download(t.Context(), s, "add/a.zip", 4); err != nil || string(data) != "data" {
				t.Errorf("afterwards: %q, %v", data, err)
			}
		})
	}
}
