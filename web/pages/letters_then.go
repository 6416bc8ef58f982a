package pages

import (
	"context"
	"fmt"

	"tributary/queries/audit"
	"tributary/queries/report"
)

// quarantined is the exception of what a stage has given up.
const quarantined = "quarantined"

// lettersThen are the files of which something had been given up, and what people had
// decided about dead letters.
type lettersThen struct {
	Lead    lead
	Rows    []letterThen
	All     string // the list of these files; empty: these are all
	Decided []audit.Order
}

type letterThen struct {
	report.File

	To string
}

// lettersThen is the page of dead letters as events tell of them: the letters themselves
// lie in the broker, and say what they are now.
func (s *Site) lettersThen(ctx context.Context) (page, error) {
	found, err := report.FilePage(ctx, s.Tracker, report.Filter{Exception: quarantined, Sort: "newest", Limit: lettersShown})
	if err != nil {
		return page{}, err
	}
	d := lettersThen{Lead: lead{"done", "Nothing that had been given up was left.", ""}}
	for _, f := range found.Rows {
		d.Rows = append(d.Rows, letterThen{f, s.fileTo(f.Action, f.File)})
	}
	if found.Next != "" {
		d.All = s.to("/files", "exception", quarantined)
	}
	if len(d.Rows) > 0 {
		d.Lead = lead{"failed", fmt.Sprintf("Of %s something had been given up.", plural(len(d.Rows), "file", "files")), ""}
		if d.All != "" {
			d.Lead.Text = fmt.Sprintf("Of more than %d files something had been given up.", len(d.Rows))
		}
	}
	if d.Decided, err = s.orderedOf(ctx, "dead_letter", ""); err != nil {
		return page{}, err
	}
	return page{Title: "Dead letters", At: "/dead-letters", Template: "lettersthen", Data: d}, nil
}
