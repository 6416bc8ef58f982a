package standing

import (
	"fmt"
	"strings"

	"tributary/schemas"
	"tributary/sql/control"
)

// twinsText says for people which names a source shows that some file systems take for one.
func twinsText(t control.Twins) string {
	var b strings.Builder
	for _, action := range schemas.Actions() {
		d, has := t[action]
		if !has {
			continue
		}
		fmt.Fprintf(&b, "name_twin: %d names in %s differ from another only in case or in how accents are written", d.Names, action)
		told := 0
		for _, together := range d.First {
			b.WriteString("\n ")
			for _, name := range together {
				fmt.Fprintf(&b, " %+q", name) // in which accents differ
				told++
			}
		}
		if told < d.Names {
			fmt.Fprintf(&b, "\n  and %d more", d.Names-told)
		}
		b.WriteString("\n")
	}
	return b.String()
}
