package sftp_test

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// A small file is opened, read, described and closed by four requests: what it is
// afterwards is asked by its handle, where the server answers to that.
func TestSFTPAfterASmallFile(t *testing.T) {
	when := time.Unix(1700000000, 0).UTC()
	for about, tt := range map[string]struct {
		described func(io.Writer, []byte) // nil: as a file of four bytes
		want      *remote.Entry
	}{
		"it is described":         {nil, &remote.Entry{Size: 4, ModTime: when, Precision: time.Second}},
		"the server can't":        {answerWith(fxStatus, u32(8), str("no"), str("")), nil},
		"it keeps times secret":   {answerWith(fxAttrs, u32(1), []byte{0, 0, 0, 0, 0, 0, 0, 4}), nil},
		"there is more than came": {answerWith(fxAttrs, attrs(5)), nil},
	} {
		t.Run(about, func(t *testing.T) {
			var requests atomic.Int32
			e := &evil{names: oneFile, heard: func() { requests.Add(1) }}
			if tt.described != nil {
				e.strike = map[byte]func(io.Writer, []byte){fxFstat: tt.described}
			}
			s := remotetest.Dial(t, e.start(t))
			requests.Store(0)
			body, err := s.Open(t.Context(), "add/a.zip", 4)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(body)
			if err != nil || string(data) != "data" {
				t.Errorf("it brings %q, %v", data, err)
			}
			if diff := cmp.Diff(tt.want, remote.After(t.Context(), body)); diff != "" {
				t.Errorf("the file afterwards (-want +got):\n%s", diff)
			}
			if err := body.Close(); err != nil {
				t.Error(err)
			}
			if got := requests.Load(); tt.want != nil && got != 4 {
				t.Errorf("it took %d requests", got)
			}
		})
	}
}
