package impc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// plainContext is the context of a centre by definition, from nothing but the
// current specimens and values.
const plainContext = `
WITH run AS (
  SELECT m.centre, m.pipeline, m.project, m.procedure_id, m.parameter_id, m.position, m.run_ordinal, m.colony_id, m.specimen_ids,
      coalesce(m.date_of_experiment, m.last_updated) AS day, count(*) AS n
    FROM warehouse.current_measurement m WHERE m.centre = $1 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
), combination AS (
  SELECT DISTINCT r.position, r.run_ordinal, coalesce(s.strain_id, '') AS strain_id, coalesce(s.colony_id, r.colony_id, '') AS colony_id,
      coalesce(s.zygosity, '') AS zygosity, coalesce(s.gender, '') AS sex
    FROM run r LEFT JOIN warehouse.current_specimen s ON s.centre = r.centre AND s.specimen_id = ANY(r.specimen_ids)
)
SELECT r.centre, r.pipeline, r.project, c.strain_id, c.colony_id, c.zygosity, c.sex, r.procedure_id, r.parameter_id,
    count(*) AS runs, sum(r.n)::bigint AS measurements, min(r.day) AS first_date, max(r.day) AS last_date
  FROM run r JOIN combination c USING (position, run_ordinal)
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9`

// plainOverview is the overview of a centre by definition, without findings.
const plainOverview = `
SELECT x.centre, x.procedure_id, sum(specimens)::bigint AS specimens, sum(experiments)::bigint AS experiments, sum(lines)::bigint AS lines,
    sum(housings)::bigint AS housings, sum(measurements)::bigint AS measurements, max(d.file_date) AS last_change
  FROM (
    SELECT centre, '' AS procedure_id, 1 AS specimens, 0 AS experiments, 0 AS lines, 0 AS housings, 0 AS measurements, position FROM warehouse.current_specimen
    UNION ALL
    SELECT r.centre, coalesce(r.procedure_id, ''), 0, (r.kind = 'experiment')::int, (r.kind = 'line')::int, (r.kind = 'housing')::int,
        (SELECT count(*) FROM warehouse.current_measurement m WHERE m.position = r.position AND m.run_ordinal = r.ordinal), r.position
      FROM warehouse.current_procedure_run r) x
  JOIN warehouse.document d USING (position)
  WHERE x.centre = $1 GROUP BY 1, 2 ORDER BY 1, 2`

// TestContextAndOverview compares what is kept up batch by batch with what a
// recomputation of everything gives, over random submissions, changes,
// deletions, withdrawals and their ends, in batches of any size.
func TestContextAndOverview(t *testing.T) {
	s := newStore(t)
	rapid.Check(t, func(r *rapid.T) {
		s.apart(t, func() {
			s.position = 0
			for step := range rapid.IntRange(1, 14).Draw(r, "steps") {
				s.change(r)
				if !rapid.Bool().Draw(r, "batch ends") && step > 0 {
					continue
				}
				centre := rapid.SampledFrom([]string{"Ics", "H"}).Draw(r, "centre of the batch")
				s.count(centre)
				if diff := s.differences(centre); diff != "" {
					r.Errorf("after step %d: %s", step, diff)
				}
				if left := s.rows(`SELECT group_id FROM warehouse.context_parameter WHERE stale IS NOT NULL OR parameter_ids = '{}' OR 0 >= ANY(runs)
							OR cardinality(parameter_ids) <> ALL(ARRAY[cardinality(runs), cardinality(measurements), cardinality(first_dates), cardinality(last_dates)])
						UNION ALL SELECT g.id FROM warehouse.context_group g WHERE NOT EXISTS (SELECT FROM warehouse.context_run r WHERE r.group_id = g.id)
						UNION ALL SELECT r.group_id FROM warehouse.context_run r WHERE NOT EXISTS (SELECT FROM warehouse.context_parameter c WHERE c.group_id = r.group_id)`); len(left) > 0 {
					r.Errorf("the context keeps what is gone: %s", left)
				}
			}
		})
	})
}

// differences compares context and overview of a centre with what they are by
// definition.
func (s *store) differences(centre string) (out string) {
	for _, c := range []struct{ name, want, is string }{
		{"context", plainContext, "SELECT * FROM warehouse.context WHERE centre = $1 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"},
		{"overview", plainOverview, `SELECT centre, procedure_id, specimens, experiments, lines, housings, measurements, last_change
			FROM warehouse.overview WHERE centre = $1 AND specimens + runs > 0 ORDER BY 1, 2`},
	} {
		if diff := cmp.Diff(s.rows(c.want, centre), s.rows(c.is, centre), cmpopts.EquateEmpty()); diff != "" {
			out += fmt.Sprintf("%s of %s (-recomputed +kept up):\n%s", c.name, centre, diff)
		}
	}
	return out
}

// count brings context and overview up to date, without the checks.
func (s *store) count(centre string) {
	s.t.Helper()
	for _, statement := range slices.Concat(s.statements.Context, s.statements.Overview) {
		if _, err := s.conn.Exec(s.t.Context(), statement.SQL, centre); err != nil {
			s.t.Fatalf("%s: %v", statement.File, err)
		}
	}
	s.exec("DELETE FROM warehouse.changed WHERE centre = $1", centre)
}

// change makes one random change: few keys and values, so that they meet.
func (s *store) change(r *rapid.T) {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(r, label) }
	d := document{centre: pick("centre", "Ics", "H"), date: pick("file date", "2020-01-01", "2020-01-02", "2020-01-03"), tombstone: pick("action", "add", "add", "add", "delete") == "delete"}
	subset := func(label string, of ...string) []string {
		var out []string
		for _, x := range of {
			if rapid.Bool().Draw(r, label+" "+x) {
				out = append(out, x)
			}
		}
		return out
	}
	switch pick("what", "specimens", "runs", "runs", "withdrawal") {
	case "withdrawal":
		if s.position > 0 {
			position := rapid.Int64Range(1, s.position).Draw(r, "withdrawn")
			s.withdraw(position, true)
			if rapid.Bool().Draw(r, "and back") { // within one batch, perhaps
				s.withdraw(position, false)
			}
		}
		return
	case "specimens":
		d.kind = "specimen"
		for _, id := range subset("specimen", "m1", "m2", "m3") {
			d.body += mouse("specimenID="+id, "colonyID="+pick("colony", "C1", "C2"), "gender="+pick("sex", "female", "male"), "zygosity="+pick("zygosity", "homozygous", "wild type"))
		}
	case "runs":
		d.kind = "experiment"
		d = d.of(pick("pipeline", "P1", "P2"), "MGP")
		if pick("housing", "no", "yes") == "yes" {
			d.body += attributes("housing", nil, []string{"fromLIMS=true", "lastUpdated=" + pick("day", "2019-01-01", "2019-01-02")}) + s.results(r) + "</housing>"
		}
		for _, colony := range subset("line", "C1", "C9") {
			d.body += attributes("line", nil, []string{"colonyID=" + colony}) + s.results(r) + "</line>"
		}
		for _, id := range subset("experiment", "e1", "e2", "e3") {
			animals := "<specimenID>" + strings.Join(subset("animal", "m1", "m2", "m4"), "</specimenID><specimenID>") + "</specimenID>"
			result := s.results(r)
			if pick("no procedure", "no", "no", "no", "yes") == "yes" {
				result = ""
			}
			d.body += experimentWith(animals, result, "experimentID="+id, "dateOfExperiment="+pick("day", "2019-01-01", "2019-01-02", "2019-01-03"))
		}
	}
	s.load(d)
}

// results is a random procedure.
func (s *store) results(r *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<procedure procedureID="PROC%d">`, rapid.IntRange(1, 2).Draw(r, "procedure"))
	for i := range rapid.IntRange(0, 2).Draw(r, "simple") {
		fmt.Fprintf(&b, `<simpleParameter parameterID="A" sequenceID="%d"><value>1</value></simpleParameter>`, i)
	}
	if n := rapid.IntRange(0, 2).Draw(r, "terms"); n > 0 {
		b.WriteString(`<ontologyParameter parameterID="B">` + strings.Repeat("<term>t</term>", n) + `</ontologyParameter>`)
	}
	if n := rapid.IntRange(-1, 2).Draw(r, "values"); n >= 0 {
		b.WriteString(`<seriesParameter parameterID="A">`)
		for i := range n {
			fmt.Fprintf(&b, `<value incrementValue="%d">1</value>`, i)
		}
		b.WriteString(`</seriesParameter>`)
	}
	b.WriteString("</procedure>")
	return b.String()
}
