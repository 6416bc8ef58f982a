package mapping

import (
	"fmt"
	"strings"
)

// Query is a query with a name, under which others can read its rows.
type Query struct{ Name, SQL string }

// Candidates are the queries that data checks of a record table may read
// besides the table candidate(position, record): for each table T of the
// record, candidate_T has the rows of claimed_T that belong to candidates. The
// first one, candidate_claim, has the candidates' claims, and the others read
// it.
func (m *Mapping) Candidates(on string) []Query {
	out := []Query{{"candidate_claim", fmt.Sprintf(`SELECT k.* FROM candidate c CROSS JOIN LATERAL (
  SELECT * FROM %s.claim k WHERE k.position = c.position AND k.ordinal = c.record OFFSET 0) k`, schema)}}
	for _, t := range m.Tables {
		join, record := t.content()
		if t.ViewName() == "" || record.Name != on {
			continue
		}
		out = append(out, Query{"candidate_" + t.Name, fmt.Sprintf(`SELECT %s
FROM candidate_claim c CROSS JOIN LATERAL (
  SELECT * FROM %s.%s t WHERE %s OFFSET 0) t`, columnList(t.viewColumns()), schema, t.Name, join)})
	}
	return out
}

// With begins a statement that reads what Candidates returns: each query that
// the statement mentions is computed once. It is empty if there is none.
func With(candidates []Query, statement string) string {
	var parts []string
	for _, q := range candidates[1:] {
		if strings.Contains(statement, q.Name) {
			parts = append(parts, q.Name+" AS MATERIALIZED ("+q.SQL+")")
		}
	}
	if len(parts) == 0 && !strings.Contains(statement, candidates[0].Name) {
		return ""
	}
	parts = append([]string{candidates[0].Name + " AS MATERIALIZED (" + candidates[0].SQL + ")"}, parts...)
	return "WITH " + strings.Join(parts, ", ") + "\n"
}

// CandidateViews are the statements that make the queries of Candidates, of all
// record tables, temporary views, where the table candidate is there. It is for
// looking at checks one by one; with all of a table at once, see With.
func (m *Mapping) CandidateViews() []string {
	var out []string
	for i, t := range m.Records() {
		for j, q := range m.Candidates(t.Name) {
			if i == 0 || j > 0 {
				out = append(out, "CREATE TEMP VIEW "+q.Name+" AS "+q.SQL)
			}
		}
	}
	return out
}
