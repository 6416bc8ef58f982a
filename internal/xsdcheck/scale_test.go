package xsdcheck

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// generated is a document made while it is read: a head, as many copies of a
// unit as its size asks for, and a tail.
type generated struct {
	head, unit, tail string
	units            int
	rest             string
	stage            int
	onUnit           func(n int)
}

func (g *generated) Read(p []byte) (int, error) {
	for g.rest == "" {
		switch {
		case g.stage == 0:
			g.rest = g.head
		case g.stage <= g.units:
			g.rest = g.unit
			if g.onUnit != nil {
				g.onUnit(g.stage)
			}
		case g.stage == g.units+1:
			g.rest = g.tail
		default:
			return 0, io.EOF
		}
		g.stage++
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// large generates a valid experiment document of about size bytes.
func large(size int) *generated {
	experiment := func() string {
		var b strings.Builder
		b.WriteString("<experiment experimentID=\"e\" dateOfExperiment=\"2020-01-01\">\n<specimenID>s</specimenID>\n<procedure procedureID=\"IMPC_X_001\">\n")
		for i := range 28 {
			fmt.Fprintf(&b, "<simpleParameter parameterID=\"IMPC_X_001_%03d\" unit=\"g\">\n  <value>%d.5</value>\n</simpleParameter>\n", i, i)
		}
		b.WriteString("</procedure>\n</experiment>\n")
		return b.String()
	}
	unit := strings.Repeat(experiment(), 16)
	return &generated{
		head:  "<?xml version=\"1.0\"?>\n<centreProcedureSet xmlns=\"http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/procedure\">\n<centre centreID=\"H\" pipeline=\"p\" project=\"p\">\n",
		unit:  unit,
		tail:  "</centre>\n</centreProcedureSet>\n",
		units: max(size/len(unit), 1),
	}
}

// TestMemoryStaysFlat validates 200 MB and looks at the heap on the way.
func TestMemoryStaysFlat(t *testing.T) {
	size := 200 << 20
	if testing.Short() {
		size = 20 << 20
	}
	s := ours(t, "experiment")
	const bound = 16 << 20
	before := heap()
	var highest uint64
	document := large(size)
	document.onUnit = func(n int) {
		if n%(document.units/10) == 0 {
			highest = max(highest, heap())
		}
	}
	result, err := s.Validate(context.Background(), document)
	if err != nil || !result.Valid {
		t.Fatalf("%+v, %v", result, err)
	}
	if result.Bytes < int64(size)*9/10 {
		t.Errorf("only %d bytes were read", result.Bytes)
	}
	if highest == 0 || highest > before+bound {
		t.Errorf("the heap grew from %d to %d bytes; %d more are allowed", before, highest, bound)
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestConcurrentUse has goroutines share two schemas; what one validates must
// not colour what another does. It means most with the race detector.
func TestConcurrentUse(t *testing.T) {
	specimens, experiments := ours(t, "specimen"), ours(t, "experiment")
	good, bad := complete(t, "specimen"), small("", "", "<bad/>")
	wrong := strings.Replace(complete(t, "experiment"), `fromLIMS="0"`, ``, 1)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				for _, test := range []struct {
					schema   *Schema
					document string
					errors   int
				}{{specimens, good, 0}, {experiments, wrong, 1}, {specimens, bad, 1}, {specimens, "<", 1}, {experiments, complete(t, "experiment"), 0}} {
					result, err := test.schema.Validate(context.Background(), strings.NewReader(test.document))
					if err != nil || len(result.Errors) != test.errors {
						t.Errorf("%d errors wanted: %+v, %v", test.errors, result, err)
					}
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkValidate(b *testing.B) {
	for name, document := range map[string]string{
		"specimen":   complete(b, "specimen"),
		"experiment": complete(b, "experiment"),
		"invalid":    strings.ReplaceAll(complete(b, "experiment"), ` parameterID=`, ` parameter=`),
		"latin1":     latin1(strings.Replace(complete(b, "experiment"), "UTF-8", "ISO-8859-1", 1)),
	} {
		s := ours(b, kindOf(document))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(document)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Validate(b.Context(), strings.NewReader(document)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("large", func(b *testing.B) {
		const size = 20 << 20
		s := ours(b, "experiment")
		b.SetBytes(size)
		for b.Loop() {
			if result, err := s.Validate(b.Context(), large(size)); err != nil || !result.Valid {
				b.Fatal(result, err)
			}
		}
	})
}
