package pages

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"tributary/queries/report"
	"tributary/schemas"
)

// oldest is how many of the files that wait the page shows.
const oldest = 10

// now is where everything stands.
type now struct {
	Lead             lead
	Stand            report.Status
	Files, Documents matrix
}

// lead is the sentence that a page begins with.
type lead struct {
	Status string // whose shape is shown: done, failed, late
	Text   string
	To     string // the proof
}

func (s *Site) now(ctx context.Context, _ *http.Request) (page, error) {
	stand, err := report.Stand(ctx, s.Tracker, s.Now(), oldest)
	if err != nil {
		return page{}, err
	}
	d := now{Stand: stand, Files: newMatrix(s, "files", stand.Files), Documents: newMatrix(s, "documents", stand.Documents)}
	d.Lead = leadOf(d.Stand, d.Files)
	return page{Title: "Now", At: "/", Template: "now", Data: d, Command: "tributary status"}, nil
}

func leadOf(s report.Status, files matrix) lead {
	switch {
	case s.Insertion != "":
		return lead{"failed", "Insertion has stopped: " + s.Insertion, ""}
	case len(s.Suspended) > 0:
		return lead{"late", fmt.Sprintf("Ingest works, but %s of %s: nothing comes from there.", plural(len(s.Suspended), "source is suspended", "sources are suspended"), s.Suspended[0].Source), "/sources"}
	case files.Total == 0:
		return lead{"pending", "No file has been seen yet.", "/sources"}
	case s.Pending == 0:
		return lead{"done", "Everything that was found has come to its end.", "/files"}
	}
	return lead{"running", fmt.Sprintf("Ingest works: %s on the way.", plural(int(s.Pending), "file is", "files are")), "/files"}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

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
// the things of that status stand.
func newMatrix(s *Site, of string, counts []report.Count) matrix {
	m := matrix{Of: of}
	for _, st := range []string{"pending", "running", "done", "cancelled", "failed"} {
		t := total{Status: st}
		for _, c := range counts {
			if c.Status == st {
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
				c.To = s.to("/"+of, "phase", row.Phase, "status", t.Status)
			}
			row.Cells = append(row.Cells, c)
		}
		if some {
			m.Rows = append(m.Rows, row)
		}
	}
	return m
}
