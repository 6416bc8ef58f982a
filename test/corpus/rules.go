package corpus

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hit is a finding: a check, and the row that it is about.
type hit struct {
	test, level string
	row         *tuple
}

// The projects that documents may name.
var projects = strings.Split("MGP Legacy,EUCOMM-EUMODIC,UCD-KOMP,MGP,MARC,EUCOMMToolsCre,RIKEN BRC,DTCC,BaSH,Monterotondo,JAX,Helmholtz GMC,DTCC-Legacy,MRC,NorCOMM2,Phenomin,KMPC", ",")

// blank tells that there is nothing in a text but white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// padded tells that an identifier is none.
func padded(s string) bool { return s == "" || strings.TrimSpace(s) != s }

// check judges the data of a current record.
func (b *books) check(r *record) []hit {
	if r.Type == "specimen" {
		return b.checkSpecimen(r)
	}
	return b.checkRun(r)
}

var (
	dpc     = regexp.MustCompile(`^E?(\d+(\.\d*)?)$`)
	theiler = regexp.MustCompile(`^(TS)?(\d+)[abcd]?$`)
)

func stageOf(unit, stage string) bool {
	if unit == "Theiler" {
		m := theiler.FindStringSubmatch(stage)
		if m == nil {
			return false
		}
		n, err := strconv.Atoi(m[2])
		return err == nil && n >= 1 && n < 26
	}
	m := dpc.FindStringSubmatch(stage)
	if m == nil {
		return false
	}
	days, err := strconv.ParseFloat(m[1], 64)
	return err == nil && days < 20
}

func (b *books) checkSpecimen(r *record) []hit {
	var out []hit
	s, fileDate := r.own(), r.Doc.Version.FileDate
	found := func(is bool, test, level string) {
		if is {
			out = append(out, hit{test, level, s})
		}
	}
	baseline := s.text("is_baseline") == "true"
	found(padded(s.text("specimen_id")), "specimen_id_malformed", "error")
	found(baseline && blank(s.text("strain_id")), "specimen_strain_missing", "error")
	found(!baseline && blank(s.text("colony_id")), "specimen_colony_missing", "error")
	found(!slices.Contains(projects, s.text("project")), "specimen_project_unknown", "warn")
	found(s.text("phenotyping_centre") != r.centre, "specimen_centre_differs", "warn")
	found(s.text("dob") > fileDate, "specimen_dob_future", "error")
	dob, has := s.of("dob")
	found(has && dob < "1990", "specimen_dob_implausible", "warn")
	found(s.text("kind") == "embryo" && !stageOf(s.text("stage_unit"), s.text("stage")), "embryo_stage_invalid", "error")
	status, has := s.of("status_code")
	found(has && blank(status) || s.text("status_date") > fileDate, "specimen_status_invalid", "error")
	if b.lists != nil {
		b.lists.checkSpecimen(r, found)
	}
	return out
}

func (b *books) checkRun(r *record) []hit {
	var out []hit
	own, fileDate := r.own(), r.Doc.Version.FileDate
	found := func(is bool, test, level string, row *tuple) {
		if is {
			out = append(out, hit{test, level, row})
		}
	}
	malformed := false
	for _, name := range []string{"experiment_id", "colony_id", "procedure_id"} {
		v, has := own.of(name)
		malformed = malformed || has && padded(v)
	}
	found(malformed, "run_id_malformed", "error", own)
	found(!slices.Contains(projects, own.text("project")), "run_project_unknown", "warn", own)
	found(r.day() > fileDate, "run_date_future", "error", own)
	found(r.day() != "" && r.day() < "1990", "run_date_implausible", "warn", own)
	_, has := own.of("procedure_id")
	statuses := 0
	r.each("run_status", func(t *tuple) {
		statuses++
		found(blank(t.text("status_code")) || t.text("status_date") > fileDate, "run_status_invalid", "error", t)
	})
	found(own.text("kind") == experimentRun && !has && statuses == 0, "experiment_without_result", "error", own)
	named := map[string]bool{}
	r.each("run_specimen", func(t *tuple) {
		id := t.text("specimen_id")
		s := b.known[r.centre+" "+id]
		found(s == nil, "specimen_unknown", "error", t)
		found(s != nil && own.text("date_of_experiment") < s.own().text("dob"), "experiment_before_birth", "error", t)
		found(named[id], "run_specimen_repeated", "warn", t)
		named[id] = true
	})
	r.checkParameters(found)
	r.checkFiles(found)
	if b.lists != nil {
		b.lists.checkRun(r, found)
	}
	return out
}

// checkParameters judges simple and ontology parameters, series and metadata.
func (r *record) checkParameters(found func(bool, string, string, *tuple)) {
	places := map[string]bool{}
	r.each("measurement", func(t *tuple) {
		place := t.text("parameter_id") + " " + t.text("sequence_id")
		found(places[place], "parameter_repeated", "error", t)
		places[place] = true
		reason := !blank(t.text("status"))
		switch t.text("kind") {
		case "simple", "metadata":
			found(blank(t.text("value")) && !reason, "value_empty", "error", t)
		case "series":
			found(r.below("series_value", t) == 0 && !reason, "series_empty", "error", t)
		}
		increments := map[string]bool{}
		r.each("series_value", func(v *tuple) {
			if v.parent != t.ordinal {
				return
			}
			increment := strings.TrimSpace(v.text("increment"))
			value, status := !blank(v.text("value")), !blank(v.text("increment_status"))
			found(increment == "", "series_increment_empty", "error", v)
			found(increment != "" && increments[increment], "series_increment_repeated", "error", v)
			increments[increment] = true
			found(value && status, "series_value_and_status", "error", v)
			found(!value && !status && !reason, "series_value_empty", "error", v)
		})
		r.each("ontology_term", func(v *tuple) {
			found(v.parent == t.ordinal && blank(v.text("term")) && !reason, "ontology_term_empty", "error", v)
		})
	})
	for _, table := range []string{"measurement", "media", "media_parameter", "media_metadata"} {
		r.each(table, func(t *tuple) {
			found((table != "media" || t.text("kind") == "single") && padded(t.text("parameter_id")), "parameter_id_malformed", "error", t)
		})
	}
}

// checkFiles judges media of all kinds.
func (r *record) checkFiles(found func(bool, string, string, *tuple)) {
	r.each("media_parameter", func(t *tuple) {
		found(blank(t.text("status")) && r.below("media_sample", t)+r.below("media", t) == 0, "media_empty", "error", t)
	})
	r.each("media", func(t *tuple) {
		found(blank(t.text("uri")) && blank(t.text("status")), "media_uri_empty", "error", t)
	})
	r.each("parameter_association", func(t *tuple) {
		there := false
		seq, has := t.of("sequence_id")
		r.each("measurement", func(m *tuple) {
			kind := m.text("kind")
			there = there || (kind == "simple" || kind == "ontology") && m.text("parameter_id") == t.text("parameter_id") && (!has || m.text("sequence_id") == seq)
		})
		found(!there, "association_unknown", "error", t)
	})
}
