package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return there(strconv.FormatInt(*n, 10))
}

func (m *param) head() string {
	head := attr("parameterID", m.id)
	if m.unit != nil {
		head += attr("unit", *m.unit)
	}
	if m.seq != nil {
		head += attr("sequenceID", strconv.FormatInt(*m.seq, 10))
	}
	return head
}

// write writes a parameter of any kind, below its procedure.
func (m *param) write(p *page) {
	switch m.kind {
	case media:
		m.files[0].write(p, 8, m)
	case sampled:
		m.writeSamples(p)
	case filmed:
		m.writeFilm(p)
	case ontology:
		p.enter("measurement", 8, there("ontology"), there(m.id), number(m.seq), "-", "-", maybe(m.status))
		p.printf(`        <%s%s>`, m.kind, m.head())
		for _, v := range m.values {
			p.enter("ontology_term", 10, there(v.text))
			p.printf(`          <term>%s</term>`, esc(v.text))
			p.leave()
		}
		m.close(p)
	case series:
		p.enter("measurement", 8, there("series"), there(m.id), number(m.seq), maybe(m.unit), "-", maybe(m.status))
		p.printf(`        <%s%s>`, m.kind, m.head())
		for _, v := range m.values {
			p.enter("series_value", 10, maybe(v.increment), given(v.status), there(v.text))
			p.printf(`          <value incrementValue="%s"%s>%s</value>`, esc(*v.increment), attr("incrementStatus", v.status), esc(v.text))
			p.leave()
		}
		m.close(p)
	case metadata:
		p.enter("measurement", 8, there("metadata"), there(m.id), number(m.seq), "-", m.first(), maybe(m.status))
		p.printf(`        <%s%s>`, m.kind, m.head())
		m.writeStatus(p)
		m.writeValue(p)
		p.printf(`        </%s>`, m.kind)
		p.leave()
	default:
		p.enter("measurement", 8, there("simple"), there(m.id), number(m.seq), maybe(m.unit), m.first(), maybe(m.status))
		p.printf(`        <%s%s>`, m.kind, m.head())
		m.writeValue(p)
		m.close(p)
	}
}

func (m *param) first() string {
	if len(m.values) == 0 {
		return "-"
	}
	return there(m.values[0].text)
}

func (m *param) writeValue(p *page) {
	for _, v := range m.values {
		p.printf(`          <value>%s</value>`, esc(v.text))
	}
}

func (m *param) writeStatus(p *page) {
	if m.status != nil {
		p.printf(`          <parameterStatus>%s</parameterStatus>`, esc(*m.status))
	}
}

// close ends a parameter whose status comes last.
func (m *param) close(p *page) {
	m.writeStatus(p)
	p.printf(`        </%s>`, m.kind)
	p.leave()
}

// write writes a file, whatever holds it.
func (f *mediaFile) write(p *page, indent int, of *param) {
	name := map[string]string{media: media, sampled: "mediaFile", filmed: "value"}[of.kind]
	kind := map[string]string{media: "single", sampled: "sample", filmed: "series"}[of.kind]
	status := "-"
	head := ""
	if of.kind == media {
		head, status = attr("parameterID", of.id), maybe(of.status)
	}
	head += attr("localId", f.local) + attr("incrementValue", f.increment) + attr("URI", f.uri) + attr("fileType", f.fileType) + attr("link", f.link)
	p.enter("media", indent, there(kind), there(of.id), status, given(f.local), given(f.increment), there(f.uri), given(f.fileType), given(f.link))
	p.printf(`%*s<%s%s>`, indent, "", name, head)
	if of.kind == media {
		of.writeStatus(p)
	}
	if of.kind == sampled {
		conditions(p, indent+2, f.meta)
	}
	for _, a := range f.shows {
		a.write(p, indent+2)
	}
	if of.kind != sampled {
		conditions(p, indent+2, f.meta)
	}
	p.printf(`%*s</%s>`, indent, "", name)
	p.leave()
}

func conditions(p *page, indent int, list []param) {
	for i := range list {
		m := &list[i]
		p.enter("media_metadata", indent, there(m.id), number(m.seq), maybe(m.status), m.first())
		inner := ""
		if m.status != nil {
			inner = fmt.Sprintf(`<parameterStatus>%s</parameterStatus>`, esc(*m.status))
		}
		for _, v := range m.values {
			inner += fmt.Sprintf(`<value>%s</value>`, esc(v.text))
		}
		p.printf(`%*s<procedureMetadata%s>%s</procedureMetadata>`, indent, "", m.head(), inner)
		p.leave()
	}
}

func (a *association) write(p *page, indent int) {
	head := attr("parameterID", a.parameter)
	if a.seq != nil {
		head += attr("sequenceID", strconv.FormatInt(*a.seq, 10))
	}
	p.enter("parameter_association", indent, there(a.parameter), number(a.seq), given(a.link))
	p.printf(`%*s<parameterAssociation%s%s>`, indent, "", head, attr("link", a.link))
	for _, d := range a.dims {
		p.enter("dimension", indent+2, there(d.id), there(d.origin), given(d.unit), there(d.value))
		p.printf(`%*s<dim%s%s%s>%s</dim>`, indent+2, "", attr("id", d.id), attr("origin", d.origin), attr("unit", d.unit), d.value)
		p.leave()
	}
	p.printf(`%*s</parameterAssociation>`, indent, "")
	p.leave()
}

func (m *param) writeSamples(p *page) {
	p.enter("media_parameter", 8, there("sample"), there(m.id), maybe(m.status))
	p.printf(`        <%s%s>`, m.kind, attr("parameterID", m.id))
	sample, section := "", ""
	end := func(what string, indent int, open *string) {
		if *open != "" {
			p.printf(`%s</%s>`, strings.Repeat(" ", indent), what)
			p.leave()
		}
		*open = ""
	}
	for i := range m.files {
		f := &m.files[i]
		if f.sample != sample || f.section != section {
			end("mediaSection", 12, &section)
		}
		if f.sample != sample {
			end("mediaSample", 10, &sample)
			p.enter("media_sample", 10, there(f.sample))
			p.printf(`          <mediaSample%s>`, attr("localId", f.sample))
			sample = f.sample
		}
		if section == "" {
			p.enter("media_section", 12, there(f.section))
			p.printf(`            <mediaSection%s>`, attr("localId", f.section))
			section = f.section
		}
		f.write(p, 14, m)
	}
	end("mediaSection", 12, &section)
	end("mediaSample", 10, &sample)
	m.close(p)
}

func (m *param) writeFilm(p *page) {
	p.enter("media_parameter", 8, there("series"), there(m.id), maybe(m.status))
	p.printf(`        <%s%s>`, m.kind, attr("parameterID", m.id))
	for i := range m.files {
		m.files[i].write(p, 10, m)
	}
	m.writeStatus(p)
	conditions(p, 10, m.meta)
	p.printf(`        </%s>`, m.kind)
	p.leave()
}
