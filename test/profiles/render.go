package profiles

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"time"
)

// Lines on which elements begin: the declaration is line 1, the root line 2.
const firstLine = 3

// render writes the document, an element a line.
func (d *doc) render() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `<?xml version="1.0" encoding="UTF-8"?>`)
	if d.kind == "stations" {
		fmt.Fprintf(&b, "<stations network=%s>\n", quoted(d.network))
		for _, s := range d.stations {
			fmt.Fprintf(&b, "  <station code=%s height=%s%s>", quoted(s.code), quoted(s.height), attribute("opened", nonEmpty(s.opened)))
			if s.title != "" {
				fmt.Fprintf(&b, "<title>%s</title>", escaped(s.title))
			}
			for _, e := range s.sensors {
				fmt.Fprintf(&b, "<sensor quantity=%s>%s</sensor>", quoted(e.quantity), escaped(e.model))
			}
			fmt.Fprintln(&b, "</station>")
		}
		fmt.Fprintln(&b, "</stations>")
		return b.Bytes()
	}
	fmt.Fprintf(&b, "<report network=%s day=%s observer=%s>\n", quoted(d.network), quoted(d.date.Format(time.DateOnly)+d.zone), quoted("A. Šmid"))
	for _, o := range d.observations {
		fmt.Fprintf(&b, "  <o at=%s station=%s quantity=%s%s%s/>\n", quoted(o.at), quoted(o.station), quoted(o.quantity), attribute("value", o.value), attribute("quality", o.quality))
	}
	d.faultLine = firstLine + len(d.observations)
	switch {
	case d.zone != "":
		d.faultLine = firstLine - 1
	case d.fault == "xsd_invalid":
		fmt.Fprintln(&b, `  <o at="noon" station="01" quantity="luck"/>`)
	case d.fault == "xml_not_well_formed":
		fmt.Fprintln(&b, `  <o></p>`)
	}
	fmt.Fprintln(&b, "</report>")
	return b.Bytes()
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writes to memory
	return b.String()
}

func quoted(s string) string { return `"` + escaped(s) + `"` }

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func attribute(name string, value *string) string {
	if value == nil {
		return ""
	}
	return " " + name + "=" + quoted(*value)
}
