package insert

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"

	"tributary/schemas"
)

func TestLargeDocument(t *testing.T) {
	list := make([]string, 0, 20000)
	for i := range 20000 {
		list = append(list, "m"+string(rune('a'+i%26))+strconv.Itoa(i)+"=x")
	}
	b := newBench(t)
	good := b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", list...)})
	if good.Size <= smallDocument {
		t.Fatal("the document is not large")
	}
	twice := b.event(doc{inc: 1, entry: "2.xml", xml: mice("H", append(list, list[7])...)})
	after := b.event(doc{inc: 1, entry: "3.xml", xml: mice("H", "z=1", "ma0=y")})
	again := b.event(doc{inc: 2, entry: "4.xml", xml: mice("H", list...)})
	b.must(good, twice, after, again, b.batchEnd("batch"))
	same(t, "loaded", b.texts("SELECT count(*) FROM warehouse.current_specimen"), []string{"20001"})
	same(t, "told", b.told()[:4], []string{"1.xml upload done  0", "2.xml upload failed duplicate_key 0", "3.xml upload done  0", "4.xml upload done  0"})
	same(t, "contents", b.texts("SELECT position, count(*) FROM warehouse.specimen GROUP BY 1 ORDER BY 1"), []string{"1 20000", "3 2"})
	same(t, "counts", b.texts(counts), []string{"specimen  already_present info 19999", "specimen  resubmitted warn 2"})
}

// A record that is too large to be kept while it is read is stored in parts.
func TestLargeRecord(t *testing.T) {
	var s strings.Builder
	head, tail, _ := strings.Cut(experiments("e1 m1 1"), "<simpleParameter ")
	s.WriteString(head)
	value := strings.Repeat("v", 60000)
	const values = maxRecord/60000*5/2 + 1
	for range values {
		s.WriteString(`<simpleParameter parameterID="PAR"><value>` + value + `</value></simpleParameter>`)
	}
	s.WriteString("<simpleParameter " + tail)
	b := newBench(t)
	b.must(b.event(doc{inc: 1, kind: "experiment", entry: "1.xml", xml: s.String()}))
	b.must(b.event(doc{inc: 2, kind: "experiment", entry: "2.xml", xml: s.String()}))
	same(t, "told", b.told(), []string{"1.xml upload done  0", "2.xml upload done  0"})
	same(t, "values", b.texts("SELECT position, count(*) FROM warehouse.measurement GROUP BY 1 ORDER BY 1"), []string{fmt.Sprint(1, values+1), fmt.Sprint(2, values+1)})
	same(t, "current", b.texts("SELECT count(*) FROM warehouse.current_measurement"), []string{fmt.Sprint(values + 1)})
}

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
