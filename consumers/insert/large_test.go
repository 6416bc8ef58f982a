//go:build !race

package insert

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
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
