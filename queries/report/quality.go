package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Awaiting is how a document stands in quality control that is loaded, and that nobody
// has decided about.
const Awaiting = "awaiting"

// Qualities are how documents may stand in quality control.
func Qualities() []string { return append([]string{Awaiting}, schemas.QualityDecisions()...) }

// Quality is what a person decided about a document's bytes.
type Quality struct {
	Decision string    `json:"decision"`
	By       *string   `json:"by"`
	Reason   *string   `json:"reason"`
	At       time.Time `json:"at"`
}

// qualityOf is the Quality of a row of tracker.document.
const qualityOf = "CASE WHEN v.qc IS NOT NULL THEN json_build_object('decision', v.qc, 'by', v.qc_by, 'reason', v.qc_reason, 'at', v.qc_at) END"

// Decidable tells how a document stands in quality control; empty where nothing is to be
// decided about it, since it is not loaded, or was found wrong.
func (d Document) Decidable() string {
	switch {
	case d.QC != nil:
		return d.QC.Decision
	case d.Phase == string(schemas.Overview) && d.Status == string(schemas.Done):
		return Awaiting
	}
	return ""
}

// standing is a phase and a status, by name.
type standing struct{ phase, status string }

// qc is how the documents stand that the filter's QC leaves.
func (f Filter) qc() standing {
	if f.QC == Awaiting {
		return standing{string(schemas.Overview), string(schemas.Done)}
	}
	return standing{string(schemas.QC), string(schemas.QualityStatus(f.QC))}
}

// of is that condition by the columns of a table.
func (s standing) of(table string) string {
	return table + ".phase_id = {phase " + s.phase + "} AND " + table + ".status_id = {status " + s.status + "}"
}

// decided is the condition that quality control of a document stands so, by a column of
// which there is an index: few stand so, or the next file by name has one.
func (s standing) decided(table string) string {
	status := s.status
	if s.phase != string(schemas.QC) {
		status = string(schemas.Pending)
	}
	return table + ".qc_status_id = {status " + status + "}"
}

// ofFile is the condition that a file shows a document of which a condition of x holds.
func ofFile(condition string) string {
	return "EXISTS (SELECT FROM tracker.xml_file x WHERE x.zip_id = d.id AND x.outcome = d.accepted AND " + condition + ")"
}

// unfinishedOrDecided reads as named does, of the files that may show a document of an
// early filter: those that have not come to a good end, and, where the status may be that
// of a decision, those with such a document. Each has an index of its own.
func (f Filter) unfinishedOrDecided() string {
	files := "SELECT * FROM tracker.zip_action a WHERE " + unfinished
	if f.Phase == "" && !f.Waiting && f.Exception == "" && (f.Status == string(schemas.Running) || f.Status == string(schemas.Cancelled)) {
		files += " UNION ALL SELECT * FROM tracker.zip_action a WHERE NOT " + unfinished +
			" AND a.download_id = ANY(ARRAY(SELECT x.zip_id FROM tracker.xml_file x WHERE " + standing{string(schemas.QC), f.Status}.decided("x") + "))"
	}
	return strings.Replace(named, "tracker.zip_action a", "("+files+") a", 1)
}

// QualityCount is how many documents stand so in quality control.
type QualityCount struct {
	Decision  string // one of Qualities
	Status    string // of the phase that it is
	Documents int64
}

// QualityStands counts the documents by how they stand in quality control, of a centre
// (capitals don't matter) or of all, from what is counted as they move.
func QualityStands(ctx context.Context, q pg.Querier, centre string) ([]QualityCount, error) {
	names := Qualities()
	out, sums, into := make([]QualityCount, len(names)), make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		s := Filter{QC: name}.qc()
		out[i] = QualityCount{Decision: name, Status: s.status}
		if name == Awaiting {
			out[i].Status = string(schemas.Pending)
		}
		sums[i], into[i] = "coalesce(sum(m.n) FILTER (WHERE "+s.of("m")+"), 0)::bigint", &out[i].Documents
	}
	err := q.QueryRow(ctx, schemas.Numbered("SELECT "+strings.Join(sums, ", ")+` FROM tracker.standing m WHERE m.what = 'document'
		AND ($1 = '' OR m.of_id = ANY(ARRAY(SELECT id FROM tracker.centre WHERE lower(short_name) = lower($1))))`), centre).Scan(into...)
	if err != nil {
		return nil, fmt.Errorf("count documents in quality control: %w", err)
	}
	return out, nil
}
