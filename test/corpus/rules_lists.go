package corpus

import (
	"regexp"
	"slices"
	"strings"
)

// What a value or an increment of each type looks like.
var formats = map[string]*regexp.Regexp{
	"BOOL":   regexp.MustCompile(`(?i)^(true|false|1|0)$`),
	"INT":    regexp.MustCompile(`^[+-]?\d+$`),
	"FLOAT":  regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`),
	"DATE":   regexp.MustCompile(`^\d{4}-\d\d-\d\d$`), // none comes close
	"REPEAT": regexp.MustCompile(`^0*[1-9]\d*$`),
	// No increment of a generated series is a time.
	"DATETIME": regexp.MustCompile(`^\d{4}-\d\d-\d\dT`),
}

func formed(kind, text string) bool {
	f := formats[kind]
	return f == nil || f.MatchString(text)
}

// code tells whether a status, whose words may follow a colon, is known where
// it stands.
func (l *lists) code(status, scope string) bool {
	code, _, _ := strings.Cut(status, ":")
	of, known := l.codes[strings.TrimSpace(code)]
	return known && (of == "" || of == scope)
}

// checkSpecimen judges a specimen by the lists.
func (l *lists) checkSpecimen(r *record, found func(bool, string, string)) {
	s := r.own()
	baseline := s.text("is_baseline") == "true"
	strain, name := strings.TrimSpace(s.text("strain_id")), strings.TrimSpace(s.text("colony_id"))
	found(baseline && strain != "" && !l.strains[strain], "specimen_strain_unknown", "error")
	c, known := l.colonies[name]
	found(!baseline && name != "" && !known, "specimen_colony_unknown", "error")
	found(!baseline && known && !c.active, "specimen_colony_inactive", "error")
	found(!baseline && known && c.centre != "" && !strings.EqualFold(c.centre, s.text("production_centre")), "specimen_colony_centre", "error")
	status := s.text("status_code")
	found(!blank(status) && !l.code(status, "specimen"), "specimen_status_unknown", "error")
}

// use is an element that carries a parameter.
type use struct {
	row     *tuple
	element string
}

func (r *record) uses() []use {
	var out []use
	r.each("measurement", func(t *tuple) {
		element := t.text("kind") + "Parameter"
		if t.text("kind") == "metadata" {
			element = metadata
		}
		out = append(out, use{t, element})
	})
	r.each("media", func(t *tuple) {
		if t.text("kind") == "single" {
			out = append(out, use{t, media})
		}
	})
	r.each("media_parameter", func(t *tuple) {
		out = append(out, use{t, map[string]string{"sample": sampled, "series": filmed}[t.text("kind")]})
	})
	r.each("media_metadata", func(t *tuple) { out = append(out, use{t, metadata}) })
	return out
}

// checkRun judges a run by the lists.
func (l *lists) checkRun(r *record, found func(bool, string, string, *tuple)) {
	own := r.own()
	if own.text("kind") == lineRun {
		name := strings.TrimSpace(own.text("colony_id"))
		c, known := l.colonies[name]
		found(name != "" && !known, "line_colony_unknown", "error", own)
		found(known && !c.active, "line_colony_inactive", "error", own)
	}
	statuses := 0
	r.each("run_status", func(t *tuple) {
		statuses++
		found(!blank(t.text("status_code")) && !l.code(t.text("status_code"), "procedure"), "run_status_unknown", "error", t)
	})
	uses := r.uses()
	for _, u := range uses {
		status := u.row.text("status")
		found(!blank(status) && !l.code(status, "parameter"), "parameter_status_unknown", "error", u.row)
	}
	r.each("series_value", func(t *tuple) {
		status := t.text("increment_status")
		found(!blank(status) && !l.code(status, "parameter"), "parameter_status_unknown", "error", t)
	})
	pipeline := own.text("pipeline")
	known := l.names[pipeline]
	found(!known, "pipeline_unknown", "error", own)
	procedure, has := own.of("procedure_id")
	if !has || statuses > 0 {
		return
	}
	has = l.names[pipeline+" "+procedure]
	found(known && !has, "procedure_unknown", "error", own)
	named := map[string]bool{}
	for _, u := range uses {
		id := u.row.text("parameter_id")
		named[id] = true
		anywhere := l.names[id]
		found(!anywhere, "parameter_undefined", "error", u.row)
		d := l.parameters[[3]string{id, procedure, pipeline}]
		found(has && anywhere && d == nil, "parameter_wrong_procedure", "error", u.row)
		if d == nil {
			continue
		}
		found(d.kind != "" && d.kind != u.element, "parameter_wrong_kind", "error", u.row)
		if u.row.table == "measurement" {
			d.judge(r, u.row, found)
		}
	}
	missing := slices.ContainsFunc(l.order, func(d *defined) bool {
		return d.pipeline == pipeline && d.procedure == procedure && d.required && !named[d.id]
	})
	found(missing, "parameter_missing", "error", own)
}

// judge compares a parameter's values with its definition.
func (d *defined) judge(r *record, m *tuple, found func(bool, string, string, *tuple)) {
	unit := strings.TrimSpace(m.text("unit"))
	found(d.unit != "" && unit != "" && unit != d.unit, "unit_differs", "warn", m)
	excused := !blank(m.text("status"))
	value := func(t *tuple) {
		v := strings.TrimSpace(t.text("value"))
		if v == "" || excused {
			return
		}
		found(len(d.options) > 0 && !slices.Contains(d.options, v), "value_not_an_option", "error", t)
		found(!formed(d.valueType, v), "value_type_mismatch", "error", t)
	}
	switch m.text("kind") {
	case "simple", "metadata":
		value(m)
	case "ontology":
		r.each("ontology_term", func(t *tuple) {
			term := strings.TrimSpace(t.text("term"))
			if t.parent == m.ordinal && !excused && term != "" && len(d.options) > 0 {
				found(!slices.ContainsFunc(d.options, func(o string) bool { return strings.HasPrefix(term, o) }), "ontology_term_unknown", "error", t)
			}
		})
	case "series":
		n, places := 0, map[string]bool{}
		r.each("series_value", func(t *tuple) {
			if t.parent != m.ordinal {
				return
			}
			n++
			value(t)
			increment := strings.TrimSpace(t.text("increment"))
			places[increment] = true
			if increment != "" {
				found(!formed(d.incrementType, increment), "series_increment_type", "error", t)
				found(len(d.increments) > 0 && !slices.Contains(d.increments, increment), "series_increment_undefined", "error", t)
			}
		})
		lacks := slices.ContainsFunc(d.increments, func(i string) bool { return !places[i] })
		found(!excused && n > 0 && lacks, "series_increment_missing", "error", m)
		found(!excused && n > 0 && n < d.minIncrements, "series_too_short", "error", m)
	}
}
