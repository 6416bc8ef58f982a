package corpus

import (
	"slices"
	"strings"
	"testing"
)

// everything is the corpus that the end-to-end test sees, with its second
// session.
func everything(t *testing.T, seed uint64) *Corpus {
	t.Helper()
	c := generate(t, Options{Seed: seed, Shape: Whole})
	if err := c.Again(12); err != nil {
		t.Fatal(err)
	}
	if err := c.LoadLists(); err != nil {
		t.Fatal(err)
	}
	return c
}

// The corpus must break a good part of the checks, take every action on known
// and unknown keys, and hold rows of every table.
func TestWholeHasEverything(t *testing.T) {
	for seed := range seeds(3) {
		c := everything(t, seed)
		w := c.Oracle.Warehouse
		tests := map[string]int{}
		for _, f := range w.Findings {
			tests[strings.SplitN(f, "|", 2)[0]]++
		}
		for _, name := range []string{
			"already_present", "resubmitted", "edit_of_unknown", "delete_of_unknown",
			"specimen_unknown", "specimen_strain_missing", "specimen_colony_missing", "specimen_project_unknown", "specimen_dob_future", "embryo_stage_invalid",
			"specimen_status_invalid", "run_date_future", "run_project_unknown", "run_id_malformed", "experiment_without_result", "experiment_before_birth",
			"parameter_repeated", "parameter_id_malformed", "value_empty", "series_empty", "series_increment_empty", "series_increment_repeated",
			"series_value_and_status", "series_value_empty", "ontology_term_empty", "association_unknown", "media_uri_empty", "media_empty",
			"run_date_implausible", "run_specimen_repeated", "specimen_id_malformed", "specimen_centre_differs", "specimen_dob_implausible", "run_status_invalid",
			"specimen_strain_unknown", "specimen_colony_unknown", "specimen_colony_inactive", "specimen_colony_centre", "specimen_status_unknown",
			"line_colony_unknown", "line_colony_inactive", "run_status_unknown", "parameter_status_unknown", "pipeline_unknown", "procedure_unknown",
			"parameter_undefined", "parameter_wrong_procedure", "parameter_wrong_kind", "parameter_missing", "unit_differs", "value_not_an_option",
			"value_type_mismatch", "ontology_term_unknown", "series_increment_type", "series_increment_undefined", "series_increment_missing", "series_too_short",
		} {
			if tests[name] == 0 {
				t.Errorf("seed %d: no %s", seed, name)
			}
		}
		for table := range Columns {
			if w.Stored[table] == 0 {
				t.Errorf("seed %d: no rows of %s", seed, table)
			}
		}
		states := map[string]int{}
		for _, claim := range w.Claims {
			words := strings.Split(claim, "|")
			states[strings.Join(words[len(words)-3:], " ")]++
		}
		for _, state := range []string{"false true false", "false false false", "true false false", "false false true"} {
			if states[state] < 10 {
				t.Errorf("seed %d: %d claims are (tombstone, current, withdrawn) %s: %v", seed, states[state], state, states)
			}
		}
		shared := 0
		for _, row := range w.Rows["procedure_run"] {
			if strings.HasSuffix(row, "|?") {
				shared++
			}
		}
		if shared < 10 {
			t.Errorf("seed %d: %d runs share their content", seed, shared)
		}
		t.Logf("seed %d: %d files, %d documents, %d claims, %d findings, %v", seed, len(c.Oracle.Files), len(c.Oracle.Documents), len(w.Claims), len(w.Findings), tests)
		for _, fault := range append(fileFaults(), documentFaults()...) {
			if !slices.ContainsFunc(c.files, func(f *file) bool {
				return f.fault == fault || slices.ContainsFunc(f.docs, func(d *document) bool { return d.fault == fault })
			}) {
				t.Errorf("seed %d: no %s", seed, fault)
			}
		}
	}
}

// Good corpora must not break a check by chance: what their documents end with
// is what their faults say.
func TestOthersAreClean(t *testing.T) {
	for _, o := range shapes() {
		if o.Shape == Big {
			continue
		}
		for seed := range seeds(10) {
			o.Seed = seed
			for _, f := range generate(t, o).Oracle.Warehouse.Findings {
				if name := strings.SplitN(f, "|", 2)[0]; name != "specimen_unknown" {
					t.Errorf("%s seed %d: %s", o.Shape, seed, f)
				}
			}
		}
	}
}

// Current rows by the model of claims must be those of the simpler one.
func TestModelsAgree(t *testing.T) {
	c := everything(t, 7)
	current := map[string]int{}
	for _, claim := range c.Oracle.Warehouse.Claims {
		words := strings.Split(claim, "|")
		if words[len(words)-2] == "true" {
			current[words[2]]++
		}
	}
	if current["specimen"] != c.Oracle.Counts.Specimens || current["procedure_run"] != c.Oracle.Counts.Runs {
		t.Errorf("%v, and %+v", current, c.Oracle.Counts)
	}
}
