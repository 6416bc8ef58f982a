package impc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// many is a warehouse of 20,000 specimens and as many experiments on them, made
// without documents.
const many = `
INSERT INTO warehouse.specimen (position, ordinal, parent, line, kind, centre, specimen_id, colony_id, is_baseline, gender, zygosity, pipeline, project, phenotyping_centre, dob)
  SELECT 1, n, 1, n, 'mouse', 'Ics', 's' || n, 'C' || n % 50, false, CASE n % 2 WHEN 0 THEN 'female' ELSE 'male' END, 'homozygous', 'PIPE', 'MGP', 'Ics', '2018-01-01'
  FROM generate_series(2, 20001) n;
INSERT INTO warehouse.procedure_run (position, ordinal, parent, line, kind, centre, pipeline, project, experiment_id, date_of_experiment, procedure_id, specimen_ids)
  SELECT 2, n * 10, 1, n, 'experiment', 'Ics', 'PIPE', 'MGP', 'e' || n, '2019-01-01', 'PROC' || n % 9, ARRAY['s' || n]
  FROM generate_series(2, 20001) n;
INSERT INTO warehouse.run_specimen (position, record, ordinal, line, specimen_id)
  SELECT position, ordinal, ordinal + 1, line, specimen_ids[1] FROM warehouse.procedure_run;
INSERT INTO warehouse.measurement (position, record, ordinal, line, kind, parameter_id, value)
  SELECT position, ordinal, ordinal + 1 + k, line, CASE k WHEN 1 THEN 'simple' WHEN 2 THEN 'metadata' ELSE 'series' END, 'PAR' || k, CASE WHEN k < 3 THEN '1' END
  FROM warehouse.procedure_run, generate_series(1, 3) k;
INSERT INTO warehouse.series_value (position, record, ordinal, parent, line, increment, value)
  SELECT position, ordinal, ordinal + 4 + k, ordinal + 4, line, k::text, '1' FROM warehouse.procedure_run, generate_series(1, 2) k;
INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal,
    line, col, byte_from, byte_to, tombstone, is_current)
  SELECT position, ordinal, kind, gen_random_uuid(), 'Ics', '{}', gen_random_uuid(), position, ordinal, line, 1, 0, 0, false, true
  FROM (SELECT position, ordinal, line, 'specimen' AS kind FROM warehouse.specimen
    UNION ALL SELECT position, ordinal, line, 'procedure_run' FROM warehouse.procedure_run) x;
INSERT INTO warehouse.reference_parameter (parameter_id, procedure_id, pipeline_id, kind, value_type, required, increments, min_increments)
  SELECT 'PAR' || k, 'PROC' || p, 'PIPE', CASE WHEN k % 4 = 3 THEN 'seriesParameter' ELSE '' END, 'INT', k < 4, '1|2', 2
  FROM generate_series(1, 20) k, generate_series(0, 99) p;
INSERT INTO warehouse.reference_strain (strain_id) SELECT 'S' || n FROM generate_series(1, 9000) n;
INSERT INTO warehouse.reference_colony (colony_id) SELECT 'C' || n FROM generate_series(0, 9000) n;
INSERT INTO warehouse.reference_status_code (code) SELECT 'X' || n FROM generate_series(0, 900) n;
ANALYZE`

// pages runs a statement and returns how many pages it looked at.
func (s *store) pages(sql string, args ...any) int {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...)
	must(s.t, err)
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	must(s.t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// TestWorkGrowsWithChanges counts the pages that one changed record costs in a
// large warehouse: checks, context and overview must not read what they don't
// concern, whether the planner knows how few candidates there are or not.
func TestWorkGrowsWithChanges(t *testing.T) {
	s := newStore(t)
	s.position = 2
	s.document(document{centre: "Ics", date: "2020-01-01"})
	s.position = 1
	s.document(document{centre: "Ics", date: "2020-01-01"})
	s.exec(many)
	s.exec("INSERT INTO warehouse.changed (position, ordinal, centre, record_type) SELECT position, ordinal, 'Ics', record_type FROM warehouse.claim")
	s.exec("ANALYZE warehouse.changed")
	s.count("Ics")
	s.exec("TRUNCATE warehouse.changed") // leaves no dead rows to be read, unlike DELETE
	s.exec("ANALYZE warehouse.context_run, warehouse.context_parameter, warehouse.overview_record")
	s.exec("DROP TABLE candidate CASCADE")
	s.makeCandidates() // of which the planner knows nothing
	const limit = 300  // each of the large tables has more
	for _, table := range []string{"claim", "procedure_run", "measurement"} {
		s.same(table+" is large", "SELECT pg_relation_size('warehouse."+table+"') / 8192 > 300", "true")
	}
	for _, analyzed := range []bool{false, true} {
		for _, c := range s.statements.Checks {
			s.exec("DELETE FROM candidate")
			s.exec("INSERT INTO candidate SELECT position, ordinal FROM warehouse.claim WHERE record_type = $1 AND line = 777", c.On)
			if analyzed {
				s.exec("ANALYZE candidate")
			}
			var args []any
			if strings.Contains(c.SQL, "$1") {
				args = []any{"Ics"}
			}
			if n := s.pages(c.SQL, args...); n > limit {
				t.Errorf("%s looks at %d pages to judge one record", c.File, n)
			}
			if c.Again != "" {
				s.exec("INSERT INTO warehouse.changed VALUES (1, 777, 'Ics', 'specimen')")
				if n := s.pages(c.Again, "Ics"); n > limit {
					t.Errorf("%s looks at %d pages to see which records to judge again", c.File, n)
				}
				s.exec("TRUNCATE warehouse.changed")
			}
		}
	}
	for _, changed := range []string{"('specimen', 1, 777)", "('procedure_run', 2, 7770)"} {
		s.exec("INSERT INTO warehouse.changed (centre, record_type, position, ordinal) SELECT 'Ics', * FROM (VALUES " + changed + ") v")
		s.exec("UPDATE warehouse.specimen SET zygosity = 'wild type' WHERE ordinal = 777") // as no claim does, but it makes work
		for _, part := range s.statements.Context {
			if n := s.pages(part.SQL, "Ics"); n > limit {
				t.Errorf("%s looks at %d pages for one change", part.File, n)
			}
		}
		for _, part := range s.statements.Overview {
			if n := s.pages(part.SQL, "Ics"); n > limit {
				t.Errorf("%s looks at %d pages for one change", part.File, n)
			}
		}
		s.exec("DELETE FROM warehouse.changed")
	}
}
