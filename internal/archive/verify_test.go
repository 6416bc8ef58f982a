package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
)

// large is an archive that several processors check: eight documents of 1 MiB each, of
// which those in wrong have another checksum than their header says.
func large(t *testing.T, wrong ...int) *Archive {
	t.Helper()
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	parts := make([]part, 8)
	for i := range parts {
		parts[i] = part{name: fmt.Sprintf("%d.xml", i), data: bytes.Repeat([]byte{byte(i)}, 1<<20), method: methodDeflate}
	}
	for _, i := range wrong {
		parts[i].crc = ptr(uint32(7))
	}
	b := layout{parts: parts}.bytes(t)
	a, err := Open(bytes.NewReader(b), int64(len(b)), Limits{MaxRatio: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVerifyOfALargeArchive(t *testing.T) {
	a := large(t)
	if err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, m := range a.Members() {
		sum := sha256.Sum256(bytes.Repeat([]byte{byte(i)}, 1<<20))
		if want := hex.EncodeToString(sum[:]); m.SHA256 != want {
			t.Errorf("%s has sha256 %s, want %s", m.Name, m.SHA256, want)
		}
	}
}

// The last entry of an archive that is wrong is as soon checked as the first, when four
// check them; which is told must not depend on who was first.
func TestTheFirstWrongEntryIsTold(t *testing.T) {
	for range 20 {
		var refused *RefusedError
		if err := large(t, 2, 3, 4, 7).Verify(t.Context()); !errors.As(err, &refused) || refused.Entry != "2.xml" || refused.Exception != CRCMismatch {
			t.Fatalf("got %v, want %s of 2.xml", err, CRCMismatch)
		}
	}
}

// Who calls Verify recovers from what panics in it, whichever goroutine that was.
func TestVerifyPanicsWhereItIsCalled(t *testing.T) {
	a := large(t)
	a.r = panicking{a.r, a.Members()[5].Offset}
	defer func() {
		if p, ok := recover().(*panicked); !ok || p.entry != "5.xml" || p.value != "no such page" {
			t.Fatalf("recovered %v, want the panic of 5.xml", p)
		}
	}()
	_ = a.Verify(t.Context())
	t.Fatal("Verify has returned")
}

type panicking struct {
	io.ReaderAt
	at int64
}

func (p panicking) ReadAt(b []byte, off int64) (int, error) {
	if off == p.at {
		panic("no such page")
	}
	return p.ReaderAt.ReadAt(b, off)
}
