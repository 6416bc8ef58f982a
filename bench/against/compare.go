package main

import (
	"fmt"
	"strings"
)

// allowed is how much more than before a part may take.
const allowed = 1.15

// verdict is what came of a comparison.
type verdict struct {
	table string
	worse []string
}

func (v verdict) err() error {
	if len(v.worse) == 0 {
		return nil
	}
	return fmt.Errorf("more than %.2f of what it took before: %s", allowed, strings.Join(v.worse, "; "))
}

// compare compares parts with what they were. Parts that are others, or count other work,
// can't be compared.
func compare(was, is parts) (v verdict, err error) {
	if len(was) != len(is) {
		return v, fmt.Errorf("the work has %d parts, and had %d", len(is), len(was))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %25s %33s %27s\n", "", "processor, ms", "allocated, KB", "pieces of memory")
	for i, n := range is {
		w := was[i]
		if w.Name != n.Name || w.Done != n.Done {
			return v, fmt.Errorf("%s does %d, and %s did %d", n.Name, n.Done, w.Name, w.Done)
		}
		fmt.Fprintf(&b, "%-10s", n.Name)
		for _, of := range []struct {
			what    string
			was, is float64
		}{{"time of the processor", w.Seconds * 1000, n.Seconds * 1000}, {"bytes", float64(w.Bytes) / 1000, float64(n.Bytes) / 1000}, {"pieces of memory", float64(w.Pieces), float64(n.Pieces)}} {
			ratio := of.is / of.was
			fmt.Fprintf(&b, " %10.0f → %8.0f %5.2f", of.was, of.is, ratio)
			if ratio > allowed {
				v.worse = append(v.worse, fmt.Sprintf("%s: %s, %.2f", n.Name, of.what, ratio))
			}
		}
		b.WriteString("\n")
	}
	v.table = strings.TrimRight(b.String(), "\n")
	return v, nil
}
