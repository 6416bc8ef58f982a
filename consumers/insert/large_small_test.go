package insert

import (
	"bytes"
	"hash/crc32"
	"testing"

	"tributary/schemas"
)

// Large documents give what small ones give.
func TestLargeIsLikeSmall(t *testing.T) {
	events := func(b *bench) []*schemas.DocumentOrdered {
		out := b.version(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a", "m2=a")}, doc{inc: 1, entry: "2.xml", kind: "experiment", xml: experiments("e1 m1 1", "e2 m3 -1")})
		out = append(out, b.batchEnd("batch"))
		out = append(out, b.version(doc{inc: 2, entry: "3.xml", action: schemas.Edit, xml: mice("H", "m3=a", "m1=a")})...)
		out = append(out, b.version(doc{inc: 3, entry: "4.xml", action: schemas.Delete, xml: mice("H", "m2=a", "m4=a")})...)
		out = append(out, b.version(doc{inc: 4, entry: "5.xml", xml: mice("H", "m1=a", "m2=b")})...)
		return append(out, b.batchEnd("batch"))
	}
	small, large := newBench(t), newBench(t)
	for _, e := range events(small) {
		small.must(e)
	}
	for _, e := range events(large) {
		if e.What == schemas.PositionDocument {
			// Spaces in front, which stand for nothing, so that lines stay.
			archive := large.blobs[e.Archive]
			text := append(bytes.Repeat([]byte(" "), smallDocument), archive[e.Offset:e.Offset+e.Size]...)
			if i := bytes.Index(text, []byte("?>")); i > 0 {
				text = append(text[smallDocument:i+2:i+2], append(text[:smallDocument:smallDocument], text[i+2:]...)...)
			}
			e.Offset, e.Size, e.Packed, e.CRC32 = int64(len(archive)), int64(len(text)), int64(len(text)), int64(crc32.ChecksumIEEE(text))
			large.blobs[e.Archive] = append(archive, text...)
		}
		large.must(e)
	}
	same(t, "state", large.state(), small.state())
	same(t, "claims", large.texts(rawClaims), small.texts(rawClaims))
	same(t, "hash", large.hash(), small.hash())
	same(t, "told", large.told(), small.told())
}
