package e2e

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
)

// fileRow is a row of tributary files -o json.
type fileRow struct {
	File, Action            string
	Version, Centre, Source *string
	Phase, Status           string
	Exception, Message      *string
	Attempts                int
	Size                    *int64
	SHA256                  *string
}

// documentRow is a row of tributary documents -o json.
type documentRow struct {
	Document, File, Action string
	Version, Centre        *string
	Phase, Status          string
	Errors                 []errorRow
}

type errorRow struct {
	Line, Column *int
	Exception    string
	Message      *string
}

// state is all that can be seen of an installation and that an oracle knows.
type state struct {
	Files        []fileRow
	Documents    []documentRow
	Specimens    []corpus.Specimen
	Runs         []corpus.Run
	Measurements []corpus.Measurement
	Order        []corpus.Position
	Hash         string
}

const (
	specimensSQL = `SELECT centre, specimen_id AS specimenid, kind FROM warehouse.current_specimen`
	runsSQL      = `SELECT centre, kind, pipeline, project, experiment_id AS experimentid, procedure_id AS procedureid, sequence_id AS sequenceid,
		colony_id AS colonyid, from_lims::text AS fromlims, last_updated::text AS lastupdated, to_json(specimen_ids) AS specimens
		FROM warehouse.current_procedure_run`
	measurementsSQL = `SELECT json_build_object('centre', centre, 'kind', run_kind, 'pipeline', pipeline, 'project', project, 'experimentid', experiment_id,
		'procedureid', procedure_id, 'sequenceid', run_sequence_id, 'colonyid', colony_id, 'fromlims', from_lims::text, 'lastupdated', last_updated::text,
		'specimens', specimen_ids) AS run, kind, parameter_id AS parameterid, sequence_id AS sequenceid, increment, unit, value, status
		FROM warehouse.current_measurement`
	// Documents that failed before they were ordered have no place among the
	// oracle's positions. Sessions are numbered as they brought something.
	orderSQL = `SELECT dense_rank() OVER (ORDER BY first) AS session, centre, action, file_name AS file, entry AS document, state = 'loaded' AS loads
		FROM (SELECT *, min(position) OVER (PARTITION BY session) AS first FROM warehouse.document WHERE phase NOT IN ('xml_name', 'xsd')) d ORDER BY position`
)

// see reads the state. The engines must be serving.
func (s *system) see() state {
	s.t.Helper()
	st := state{
		Files:     list[fileRow](s, "files"),
		Documents: list[documentRow](s, "documents"),
		Hash:      s.hash(),
	}
	if s.corpus.Oracle.Measurements == nil {
		return st // too much to be listed
	}
	st.Specimens = sql[corpus.Specimen](s, "warehouse", specimensSQL)
	st.Runs = sql[corpus.Run](s, "warehouse", runsSQL)
	st.Measurements = sql[corpus.Measurement](s, "warehouse", measurementsSQL)
	st.Order = sql[corpus.Position](s, "warehouse", orderSQL)
	return st
}

// expect compares everything with the oracle and checks what always holds.
// In which batch what is depends on which session found it, so the order is compared
// only if undisturbed is set; attempts too. What is in beside is begun before that, and
// what it returns is called after.
func (s *system) expect(undisturbed bool, beside ...func() func()) state {
	s.t.Helper()
	var got state
	s.engines(func(at engine.Endpoints) {
		for _, begin := range beside {
			defer begin()()
		}
		got = s.stands(at, undisturbed)
	})
	return got
}

// stands is what expect does. The engines must be serving.
func (s *system) stands(at engine.Endpoints, undisturbed bool) state {
	s.t.Helper()
	got := s.see()
	log := s.invariants()
	if undisturbed {
		s.inOrder(log)
		s.sessionsTell()
	}
	if s.corpus.Oracle.Warehouse != nil {
		s.warehouse(at, func(pool *pgxpool.Pool) { compareWarehouse(s.t, pool, s.corpus.Oracle.Warehouse) })
	}
	s.compare(got, undisturbed)
	return got
}

// compare reports every difference between what is seen and the oracle.
func (s *system) compare(got state, undisturbed bool) {
	s.t.Helper()
	o := s.corpus.Oracle
	differ(s.t, "files", s.wantFiles(got, undisturbed), got.Files)
	differ(s.t, "documents", wantDocuments(o, got), got.Documents)
	differ(s.t, "specimens", o.Specimens, got.Specimens)
	differ(s.t, "procedure runs", o.Runs, got.Runs)
	differ(s.t, "measurements", o.Measurements, got.Measurements)
}

// differ compares two sets of rows.
func differ[T any](t testing.TB, what string, want, got []T) {
	t.Helper()
	if diff := gocmp.Diff(sorted(want), sorted(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-oracle +seen):\n%s", what, diff)
	}
}

// sorted orders rows by what is in them.
func sorted[T any](rows []T) []T {
	type keyed struct {
		key string
		row T
	}
	all := make([]keyed, len(rows))
	for i, r := range rows {
		b, err := json.Marshal(r)
		if err != nil {
			panic(err) // rows are plain data
		}
		all[i] = keyed{string(b), r}
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := make([]T, len(all))
	for i := range all {
		out[i] = all[i].row
	}
	return out
}

// wantFiles are the rows that the oracle asks for. What it leaves open is taken
// from what is seen, where that is one of the possibilities.
func (s *system) wantFiles(got state, undisturbed bool) []fileRow {
	seen := map[string]fileRow{}
	for _, f := range got.Files {
		seen[f.Action+"/"+f.File] = f
	}
	documents := map[string]int{}
	for _, d := range got.Documents {
		documents[d.Action+"/"+d.File]++
	}
	var out []fileRow
	for _, f := range s.corpus.Oracle.Files {
		is := seen[f.Action+"/"+f.File]
		w := fileRow{File: f.File, Action: f.Action, Centre: f.Centre, Phase: f.Phase, Status: f.Status,
			Version: optional(f.SHA256), SHA256: optional(f.SHA256), Source: oneOf(f.Sources, is.Source),
			Exception: is.Exception, Message: is.Message, Attempts: f.Attempts, Size: is.Size}
		if len(f.Exceptions) > 0 {
			w.Exception = oneOf(f.Exceptions, is.Exception)
		}
		if f.Message != "" && !strings.Contains(text(is.Message), f.Message) {
			w.Message = new(string)
			*w.Message = "… " + f.Message + " …"
		}
		if f.Attempts == 0 || !undisturbed {
			w.Attempts = is.Attempts
		}
		if f.Size > 0 {
			w.Size = &f.Size
		}
		if n := documents[f.Action+"/"+f.File]; n != f.Documents {
			s.t.Errorf("%s %s shows %d documents, the oracle says %d", f.Action, f.File, n, f.Documents)
		}
		out = append(out, w)
	}
	return out
}

// maxTold is how many errors of a document are told.
const maxTold = 100

// wantDocuments are the rows that the oracle asks for; a document may have more
// errors than it names, if it names some.
func wantDocuments(o corpus.Oracle, got state) []documentRow {
	seen := map[string]documentRow{}
	for _, d := range got.Documents {
		seen[d.Action+"/"+d.File+"/"+d.Document] = d
	}
	versions := map[string]string{}
	for _, f := range o.Files {
		versions[f.Action+"/"+f.File] = f.SHA256
	}
	var out []documentRow
	for _, d := range o.Documents {
		is := seen[d.Action+"/"+d.File+"/"+d.Document]
		w := documentRow{Document: d.Document, File: d.File, Action: d.Action, Version: optional(versions[d.Action+"/"+d.File]),
			Centre: optional(d.Centre), Phase: d.Phase, Status: d.Status, Errors: is.Errors}
		for _, e := range d.Errors {
			if len(is.Errors) >= maxTold {
				break // the rest is counted
			}
			if !slices.ContainsFunc(is.Errors, func(r errorRow) bool { return matches(e, r) }) {
				line, column := e.Line, e.Column
				w.Errors = append(slices.Clone(w.Errors), errorRow{Line: &line, Column: &column, Exception: e.Exception})
			}
		}
		if len(d.Errors) == 0 {
			w.Errors = nil
		}
		slices.SortStableFunc(w.Errors, func(a, b errorRow) int {
			return cmp.Or(cmp.Compare(value(a.Line), value(b.Line)), cmp.Compare(value(a.Column), value(b.Column)))
		})
		out = append(out, w)
	}
	return out
}

func matches(want corpus.Finding, is errorRow) bool {
	return want.Exception == is.Exception && (want.Line == 0 || want.Line == value(is.Line)) && (want.Column == 0 || want.Column == value(is.Column))
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// oneOf is what is seen if it is possible, else a possibility.
func oneOf(possible []string, is *string) *string {
	if len(possible) == 0 {
		return nil
	}
	if is != nil && slices.Contains(possible, *is) {
		return is
	}
	return &possible[0]
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
