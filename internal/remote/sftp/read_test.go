package sftp_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// numbered is a file whose bytes tell where they are.
func numbered(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return data
}

// question is a request to read.
type question struct {
	id  []byte
	off uint64
	n   uint32
}

// answer is what a server gives of a file, no more than most bytes.
func (q question) answer(file []byte, most int) []byte {
	if q.off >= uint64(len(file)) {
		return pack(fxStatus, q.id, u32(1), str(""), str(""))
	}
	rest := file[q.off:]
	return pack(fxData, q.id, str(string(rest[:min(int(q.n), len(rest), most)])))
}

// Of a large file 16 pieces are on their way at once. Whatever the order in which they
// come, and however little of each, they are put together as they belong, also where it
// isn't known how long the file is.
func TestSFTPPiecesOfALargeFile(t *testing.T) {
	const atOnce = 16
	file := numbered(1<<20 + 12345)
	for name, most := range map[string]int{"whole": 1 << 20, "short": 5000, "hardly any": 400} {
		for _, size := range []int64{int64(len(file)), int64(len(file)) / 2, -1} {
			var waiting []question
			held := true
			e := &evil{names: oneFile, read: func(w io.Writer, id []byte, off uint64, n uint32) {
				waiting = append(waiting, question{slices.Clone(id), off, n})
				if held && len(waiting) < atOnce {
					return
				}
				held = false // what comes from now on is asked for as answers come
				for _, q := range slices.Backward(waiting) {
					_, _ = w.Write(q.answer(file, most))
				}
				waiting = nil
			}}
			s := remotetest.Dial(t, e.start(t))
			got, err := remotetest.Download(t.Context(), s, "add/a.zip", size)
			if err != nil || !bytes.Equal(got, file) {
				t.Errorf("%s, listed with %d bytes: %d bytes of %d came, %v", name, size, len(got), len(file), err)
			}
		}
	}
}

// What no file gives ends the session: it is neither waited for nor taken for the file.
func TestSFTPAnswersThatAreNoPiece(t *testing.T) {
	for name, give := range map[string]func(q question) []byte{
		"nothing":                    func(q question) []byte { return pack(fxData, q.id, str("")) },
		"more than it was asked for": func(q question) []byte { return pack(fxData, q.id, str(string(make([]byte, q.n+1)))) },
	} {
		e := &evil{names: oneFile, read: func(w io.Writer, id []byte, off uint64, n uint32) { _, _ = w.Write(give(question{id, off, n})) }}
		for _, whole := range []bool{true, false} {
			s := remotetest.Dial(t, e.start(t))
			r, err := s.Open(t.Context(), "add/a.zip", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if whole {
				_, err = io.Copy(io.Discard, r)
			} else {
				_, err = r.Read(make([]byte, 100))
			}
			if remote.Exception(err) != "protocol_error" || !remote.SessionLost(err) {
				t.Errorf("%s: %v (%s), want protocol_error and a lost session", name, err, remote.Exception(err))
			}
			_ = r.Close()
		}
	}
}

// Who can't take a file's bytes is told its own error, and the session goes on.
func TestSFTPDestinationFails(t *testing.T) {
	file := numbered(1 << 20)
	e := &evil{names: oneFile, read: func(w io.Writer, id []byte, off uint64, n uint32) {
		_, _ = w.Write(question{id, off, n}.answer(file, 1<<20))
	}}
	s := remotetest.Dial(t, e.start(t))
	for range 2 * s.Concurrency() { // each gives back its place
		r, err := s.Open(t.Context(), "add/a.zip", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(full{}, r); !errors.Is(err, errFull) || n != 7 {
			t.Errorf("%d bytes, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, err := remotetest.Download(t.Context(), s, "add/a.zip", 1<<20); err != nil || !bytes.Equal(got, file) {
		t.Errorf("the next one: %d bytes, %v", len(got), err)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 7, errFull }
