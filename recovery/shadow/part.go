package shadow

import (
	"context"
	"time"

	"tributary/sql/control"
)

// File is a version of a file of which some document would change.
type File struct {
	Action  string `json:"action"`
	File    string `json:"file"`
	Version string `json:"version" doc:"sha256 of the archive"`
	Centre  string `json:"centre"`
	Date    string `json:"date" doc:"of the file"`
	Counts
	First Document `json:"first" doc:"the first document that would change"`
}

// Part is what comparing some of a shadow's files has found.
type Part struct {
	Compared int64   `json:"compared" doc:"files of the shadow that were compared, or left out"`
	Files    []File  `json:"files" doc:"those of which a document would change"`
	Groups   []Group `json:"groups" doc:"how many documents of this part would change: in all, and by exception, centre and date of the file"`
	Skipped  Skipped `json:"skipped" doc:"what was left out"`
	Next     int64   `json:"next,omitempty" doc:"the after of the next part; absent: this is the last"`
}

// DocumentPart compares the files of a shadow run that follow one, by its place in the run
// (0: from the first), until enough documents are found that would change, none is left, or
// the time is over; some are compared always, and of a file all documents. It returns these,
// what was left out, and the after of the next part; 0: there is none.
func (c *Comparer) DocumentPart(ctx context.Context, run *control.ReplayRun, after int64, enough int, over time.Time) (out []Document, s Skipped, next int64, err error) {
	for {
		last, n, err := c.some(ctx, run, after, documentItems, &s, func(d *Document) error {
			if d.Change != Unchanged {
				out = append(out, *d)
			}
			return nil
		})
		if err != nil || n == 0 {
			return out, s, 0, err
		}
		if after = last; len(out) >= enough || !time.Now().Before(over) {
			return out, s, after, nil
		}
	}
}

// documentItems is how many files are compared at once where all that would change of them
// is kept.
const documentItems = 8

// Part compares the files of a shadow run that follow one, by its place in the run (0:
// from the first), until most of most files are found of which a document would change,
// none is left, or the time is over; some are compared always. With a most of 0 it counts
// only.
func (c *Comparer) Part(ctx context.Context, run *control.ReplayRun, after int64, most int, over time.Time) (p Part, err error) {
	counter, item := NewCounter(), int64(0)
	p.Files = []File{}
	var of Counts // of the file at hand
	each := func(d *Document) error {
		counter.Add(d)
		if d.ordinal != item {
			item, of = d.ordinal, Counts{}
		}
		had := of.Documents > of.Unchanged
		of.add(d.Change)
		switch {
		case most == 0:
		case !had && d.Change != Unchanged:
			p.Files = append(p.Files, File{Action: d.Action, File: d.FileName, Version: d.Archive, Centre: d.Centre, Date: d.Date, Counts: of, First: *d})
		case had:
			p.Files[len(p.Files)-1].Counts = of
		}
		return nil
	}
	for enough := false; !enough; {
		atOnce := itemsAtOnce
		if most > 0 {
			atOnce = min(atOnce, most-len(p.Files)) // each brings one file at most
		}
		last, n, err := c.some(ctx, run, after, atOnce, &p.Skipped, each)
		if err != nil {
			return p, err
		}
		if n == 0 {
			after = 0
			break
		}
		p.Compared += int64(n)
		after = last
		enough = most > 0 && len(p.Files) > most-max(1, most/4) || !time.Now().Before(over)
	}
	p.Next, p.Groups = after, counter.Groups("")
	return p, nil
}
