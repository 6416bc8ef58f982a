package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"tributary/queries/report"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// oldest is how many of the files that wait the page shows.
const oldest = 10

// latest is how many of the sessions it shows.
const latest = 5

// now is where everything stands.
type now struct {
	Lead             lead
	Stand            report.Status
	Span             report.Span
	Spans            []span
	Figures          []figure
	Files, Documents matrix
	Acts             []acts
	Sessions         []sessionRow
	Oldest           []waits
	Mine             personal
}

// lead is the sentence that a page begins with.
type lead struct {
	Status string // whose shape is shown: done, failed, late
	Text   string
	To     string // the proof, an address as it is linked
}

func (s *Site) now(ctx context.Context, r *http.Request) (page, error) {
	name := cmp.Or(r.URL.Query().Get("span"), report.Spans()[0].Name)
	over, ok := report.FindSpan(name)
	if !ok {
		return page{}, fmt.Errorf("%w: the span %q is none", errBadFilter, name)
	}
	is, err := s.standing(ctx, over)
	if err != nil {
		return page{}, err
	}
	at, stand := is.at, is.stand
	d := now{Stand: stand, Span: over, Spans: spans(s, over.Name), Figures: newFigures(s, is.pace, stand, at), Acts: newActs(s, is.failing, ""),
		Files: newMatrix(s, "files", stand.Files), Documents: newMatrix(s, "documents", stand.Documents)}
	for _, x := range is.sessions {
		d.Sessions = append(d.Sessions, newSessionRow(s, x, at))
	}
	if d.Mine, err = s.personal(ctx, s.Now()); err != nil {
		return page{}, err
	}
	if d.Oldest, err = s.waiting(ctx, stand.Oldest); err != nil {
		return page{}, err
	}
	d.Lead = leadOf(s, d.Stand, d.Files, is.failing)
	return page{Title: "Now", At: "/", Template: "now", Data: d, Command: "tributary status", Shows: is}, nil
}

func leadOf(s *Site, stand report.Status, files matrix, failing []report.Failing) lead {
	var ours []string
	for _, f := range failing {
		if f.Move == exception.Us {
			ours = append(ours, f.Exception)
		}
	}
	switch {
	case stand.Insertion != "":
		return lead{"failed", "Insertion has stopped for all centres.", "#stopped"}
	case len(stand.Suspended) > 1:
		return lead{"late", fmt.Sprintf("Ingest works, but %d sources are suspended: nothing comes from there.", len(stand.Suspended)), s.to("/sources")}
	case len(stand.Suspended) == 1:
		return lead{"late", fmt.Sprintf("Ingest works, but %s is suspended: nothing comes from there.", stand.Suspended[0].Source), s.sourceAt(stand.Suspended[0].Source)}
	case files.Total == 0:
		return lead{"pending", "No file has been seen yet.", s.to("/sources")}
	case len(ours) == 1:
		return lead{"late", fmt.Sprintf("Ingest works, but somebody has to act on %s.", ours[0]), "#act"}
	case len(ours) > 1:
		return lead{"late", fmt.Sprintf("Ingest works, but somebody has to act on %s, and on %d more.", ours[0], len(ours)-1), "#act"}
	case len(stand.Late) > 1:
		return lead{"late", fmt.Sprintf("Ingest works, but %d sources are late: nothing new has come from there for longer than usual.", len(stand.Late)), s.to("/sources")}
	case len(stand.Late) == 1:
		return lead{"late", fmt.Sprintf("Ingest works, but %s is late: nothing new has come from there for longer than usual.", stand.Late[0].Source), s.sourceAt(stand.Late[0].Source)}
	case stand.Pending == 0:
		return lead{"done", "Everything that was found has come to its end.", s.to("/files")}
	}
	return lead{"running", fmt.Sprintf("Ingest works: %s on the way.", plural(int(stand.Pending), "file is", "files are")), s.to("/files", "waiting", "true")}
}

func plural(n int, one, many string) string { return counted(n, one, many) }

// matrix is a table of counts, phases down and statuses across.
type matrix struct {
	Of       string // files or documents
	Total    int64
	Statuses []total
	Rows     []matrixRow
}

type total struct {
	Status string
	Count  int64
}

type matrixRow struct {
	Phase string
	Cells []cell
}

// cell is how many stand at a phase and status, and their share of the column.
type cell struct {
	Status string
	Count  int64
	Width  string // of 100
	To     string // the list that it counts
}

// newMatrix arranges counts. Each bar is a share of its column: a histogram of where
// the things of that status stand. The lists that are linked pass the query too.
func newMatrix(s *Site, of string, counts []report.Count, query ...string) matrix {
	m := matrix{Of: of}
	for _, st := range schemas.Statuses() {
		t := total{Status: string(st)}
		for _, c := range counts {
			if c.Status == t.Status {
				t.Count += c.Count
			}
		}
		m.Statuses, m.Total = append(m.Statuses, t), m.Total+t.Count
	}
	for _, phase := range schemas.Phases() {
		row, some := matrixRow{Phase: string(phase)}, false
		for _, t := range m.Statuses {
			c := cell{Status: t.Status}
			if i := slices.IndexFunc(counts, func(c report.Count) bool { return c.Phase == row.Phase && c.Status == t.Status }); i >= 0 {
				c.Count, some = counts[i].Count, true
				c.Width = fmt.Sprintf("%.1f", max(1.2, 100*float64(c.Count)/float64(t.Count)))
				c.To = s.to("/"+of, append([]string{"phase", row.Phase, "status", t.Status}, query...)...)
			}
			row.Cells = append(row.Cells, c)
		}
		if some {
			m.Rows = append(m.Rows, row)
		}
	}
	return m
}
