package sftp

import (
	"encoding/binary"
	"io"
	"testing"

	"tributary/internal/remote"
)

// again reads the same text again and again.
type again struct {
	text []byte
	at   int
}

func (a *again) Read(b []byte) (int, error) {
	n := copy(b, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

// What the SFTP library makes of a packet takes more memory than the packet:
// attributes that a server invents are four times as large.
func TestNamesAreCountedAsTheyAreKept(t *testing.T) {
	packet := func(count uint32, size int) *again {
		b := binary.BigEndian.AppendUint32(nil, uint32(size-4))
		b = append(b, fxpName, 0, 0, 0, 1)
		b = binary.BigEndian.AppendUint32(b, count)
		return &again{text: append(b, make([]byte, size-len(b))...)}
	}
	for about, tc := range map[string]struct {
		packet *again
		most   int64
	}{
		"attributes": {packet(1, maxPacket), remote.MaxHeld / 4},
		"no names":   {packet(0, 13), remote.MaxHeld / remote.EntryCost * 13},
		"entries":    {packet(10_000, 120_013), remote.MaxHeld / remote.EntryCost * 12},
	} {
		f := &frameReader{r: tc.packet}
		n, err := io.Copy(io.Discard, io.LimitReader(f, 1<<28))
		if remote.Exception(err) != "listing_too_long" || n > tc.most {
			t.Errorf("%s: %d bytes, %v; want at most %d and listing_too_long", about, n, err, tc.most)
		}
	}
}

// Whatever a server sends, a packet is read within its bounds.
func FuzzNamePacket(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 128, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		_, _ = eachName(body, func(e remote.Entry) error {
			if n++; n > len(body) {
				t.Fatal("more entries than bytes")
			}
			if e.Kind == remote.File && !remote.SafeName(e.Name) {
				t.Errorf("%q is a file", e.Name)
			}
			return nil
		})
	})
}
