package mapping

import (
	"bufio"
	"io"
	"strings"
)

// output writes XML.
type output struct {
	w       *bufio.Writer
	err     error    // the first of w's
	open    bool     // the last start tag has no > yet
	spaces  []string // default namespaces of the open elements
	mixed   []bool   // of the open elements: white space in them would be text
	written []bool   // of the open elements: they have children

	// What reading would change stands as a reference.
	plain, attributes, contents *strings.Replacer
}

func newOutput(w io.Writer) output {
	return output{w: bufio.NewWriterSize(w, 32<<10), plain: strings.NewReplacer(),
		attributes: strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\t", "&#9;", "\n", "&#10;", "\r", "&#13;"),
		contents:   strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")}
}

func (o *output) text(s string) { o.escaped(o.plain, s) }

// escaped writes a text with what r replaces in it.
func (o *output) escaped(r *strings.Replacer, s string) {
	if o.err == nil {
		_, o.err = r.WriteString(o.w, s)
	}
}

func (o *output) flush() error {
	if o.err != nil {
		return o.err
	}
	return o.w.Flush()
}

// begin ends the start tag before what comes in it.
func (o *output) begin() {
	if o.open {
		o.text(">")
		o.open = false
	}
}

func (o *output) start(pt *part) {
	o.begin()
	depth := len(o.spaces)
	if depth == 0 || !o.mixed[depth-1] {
		o.indent(depth)
	}
	if depth > 0 {
		o.written[depth-1] = true
	}
	o.text("<" + pt.element.Name)
	above := ""
	if depth > 0 {
		above = o.spaces[depth-1]
	}
	if pt.element.Namespace != above {
		o.attribute("xmlns", pt.element.Namespace)
	}
	o.spaces = append(o.spaces, pt.element.Namespace)
	o.mixed = append(o.mixed, pt.element.Text != nil || pt.element.Mixed || len(pt.node.text) > 0)
	o.written = append(o.written, false)
	o.open = true
}

func (o *output) indent(depth int) {
	o.text("\n")
	for range depth {
		o.text("  ")
	}
}

func (o *output) attribute(name, text string) {
	o.text(" " + name + `="`)
	o.escaped(o.attributes, text)
	o.text(`"`)
}

func (o *output) content(text string) {
	if text == "" {
		return
	}
	o.begin()
	o.escaped(o.contents, text)
}

func (o *output) end(pt *part) {
	last := len(o.spaces) - 1
	switch {
	case o.open:
		o.text("/>")
		o.open = false
	default:
		if o.written[last] && !o.mixed[last] {
			o.indent(last)
		}
		o.text("</" + pt.element.Name + ">")
	}
	o.spaces, o.mixed, o.written = o.spaces[:last], o.mixed[:last], o.written[:last]
}
