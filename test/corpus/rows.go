package corpus

import "strings"

// tuple is a row that an element makes: where it stands, and its columns as
// text, each behind a = sign, or - where there is nothing.
type tuple struct {
	table          string
	ordinal        int // among the rows of the document, from 1
	parent, record int // ordinals; 0 for none
	line, column   int // where the element begins
	begins, ends   int // in bytes of UTF-8
	columns        []string
	isRecord       bool
}

// Columns are the columns of each table, in the order of the oracle's rows.
var Columns = map[string][]string{
	"submission": {"centre", "pipeline", "project"},
	"specimen": {"kind", "centre", "specimen_id", "colony_id", "strain_id", "is_baseline", "gender", "zygosity", "litter_id", "pipeline", "project",
		"phenotyping_centre", "production_centre", "dob", "dob_zone", "stage", "stage_unit", "status_code", "status_date", "status_date_zone"},
	"related_specimen":       {"specimen_id", "relationship"},
	"genotype":               {"gene_symbol", "mgi_gene_id", "mgi_allele_id", "mother_zygosity", "father_zygosity"},
	"chromosomal_alteration": {},
	"chromosome":             {"kind", "segment_start", "segment_end", "species"},
	"parental_strain":        {"mgi_strain_id", "gender", "level", "percentage"},
	"procedure_run": {"kind", "centre", "pipeline", "project", "experiment_id", "sequence_id", "date_of_experiment", "date_of_experiment_zone", "colony_id",
		"from_lims", "last_updated", "last_updated_zone", "procedure_id", "specimen_ids"},
	"run_specimen":          {"specimen_id"},
	"run_status":            {"status_code", "status_date", "status_date_zone"},
	"measurement":           {"kind", "parameter_id", "sequence_id", "unit", "value", "status"},
	"ontology_term":         {"term"},
	"series_value":          {"increment", "increment_status", "value"},
	"media_parameter":       {"kind", "parameter_id", "status"},
	"media_sample":          {"local_id"},
	"media_section":         {"local_id"},
	"media":                 {"kind", "parameter_id", "status", "local_id", "increment", "uri", "file_type", "link"},
	"parameter_association": {"parameter_id", "sequence_id", "link"},
	"dimension":             {"dimension_id", "origin", "unit", "value"},
	"media_metadata":        {"parameter_id", "sequence_id", "status", "value"},
}

// Nested are the tables whose rows may lie in others than the record itself,
// so that they say in which.
var Nested = map[string]bool{"chromosome": true, "ontology_term": true, "series_value": true, "media_sample": true, "media_section": true,
	"media": true, "parameter_association": true, "dimension": true, "media_metadata": true}

// there is a column that has a value, which may be empty.
func there(s string) string { return "=" + s }

// given is a column that has a value unless it is empty.
func given(s string) string {
	if s == "" {
		return "-"
	}
	return "=" + s
}

func maybe(s *string) string {
	if s == nil {
		return "-"
	}
	return "=" + *s
}

// enter notes that the element about to be written, at this indentation, makes
// a row.
func (p *page) enter(table string, indent int, columns ...string) {
	if !p.keep {
		return
	}
	t := tuple{table: table, ordinal: len(p.rows) + 1, line: p.line, column: indent + 1, begins: p.bytes + indent, columns: columns,
		isRecord: table == "specimen" || table == "procedure_run"}
	if n := len(p.open); n > 0 {
		t.parent, t.record = p.open[n-1], p.rows[p.open[n-1]-1].record
	}
	if t.isRecord {
		t.record = t.ordinal
	}
	p.rows = append(p.rows, t)
	p.open = append(p.open, t.ordinal)
}

// leave notes that the element entered last has been written.
func (p *page) leave() {
	if !p.keep {
		return
	}
	n := len(p.open) - 1
	p.rows[p.open[n]-1].ends = p.bytes - 1 // behind it is the line's end
	p.open = p.open[:n]
}

// list is a column of several values.
func list(values []string) string {
	if len(values) == 0 {
		return "-"
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		if quoted[i] = v; strings.ContainsAny(v, " ,{}") {
			quoted[i] = `"` + v + `"`
		}
	}
	return "={" + strings.Join(quoted, ",") + "}"
}
