package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"tributary/queries/report"
	"tributary/recovery/shadow"
	"tributary/web/compared"
)

// comparedShown is how many files of which something would change a page lists.
const comparedShown = 50

// comparison is the page of what a shadow would change.
type comparison struct {
	Lead   lead
	Part   compared.Part
	Groups []grouped
	First  bool // it counts, and is the first part
	Whole  bool // all has been compared for the counts
	Files  []comparedFile
	Start  string // the first part; empty: this is it
	Next   string
	Replay string // the page of the replay
}

// grouped are counts by one thing.
type grouped struct {
	By   string
	Rows []shadow.Group
}

// comparedFile is a file of which something would change.
type comparedFile struct {
	shadow.File
	Was, Would string // of the first document that would change
	To, Doc    string
}

// compareShadow is the page of what a shadow would change: how many documents, and of
// which files.
func (s *Site) compareShadow(ctx context.Context, r *http.Request) (page, error) {
	if s.Shadows == nil {
		return page{}, errNotHere
	}
	name, from := r.PathValue("id"), r.URL.Query().Get("after")
	d := comparison{First: from == "", Replay: s.replayAt(name)}
	var err error
	if d.First {
		d.Part, d.Whole, err = s.Shadows.ReadFirst(ctx, name, comparedShown)
	} else {
		var after int64
		if after, err = strconv.ParseInt(from, 10, 64); err != nil || after < 1 {
			return page{}, fmt.Errorf("%w: after is the number that the page before has", errBadFilter)
		}
		d.Part, err = s.Shadows.Read(ctx, name, after, comparedShown)
		d.Start = s.replayAt(name) + "/compare"
	}
	if compared.Absent(err) {
		err = errors.Join(report.ErrNotFound, err)
	}
	if err != nil {
		return page{}, err
	}
	if d.Part.Next > 0 {
		d.Next = s.to("/replays/"+strconv.FormatInt(d.Part.Replay, 10)+"/compare", "after", strconv.FormatInt(d.Part.Next, 10))
	}
	d.fill(s)
	return page{Title: "Compare " + shown(d.Part.Shadow), At: "/replays", Template: "compare", Still: true, Data: d, Command: fmt.Sprintf("tributary replay compare %d", d.Part.Replay)}, nil
}

func (d *comparison) fill(s *Site) {
	var total shadow.Counts
	for _, g := range d.Part.Groups {
		switch last := len(d.Groups) - 1; {
		case g.By == shadow.Total:
			total = g.Counts
		case last >= 0 && d.Groups[last].By == g.By:
			d.Groups[last].Rows = append(d.Groups[last].Rows, g)
		default:
			d.Groups = append(d.Groups, grouped{g.By, []shadow.Group{g}})
		}
	}
	for _, f := range d.Part.Files {
		row := comparedFile{File: f, Was: f.First.Live.String(), Would: f.First.Shadow.String(), To: s.fileTo(f.Action, f.File)}
		if f.First.Entry != "" {
			row.Doc = s.fileTo(f.Action, f.File, "documents", f.First.Entry)
		}
		d.Files = append(d.Files, row)
	}
	changed, all := total.Documents-total.Unchanged, count(total.Documents)
	of := "the shadow"
	if !d.Whole {
		of = "the first " + plural(int(d.Part.Compared), "file", "files") + " of it"
	}
	switch {
	case !d.First:
		d.Lead = lead{"pending", "Further files of which something would change.", ""}
	case changed == 0 && d.Whole:
		d.Lead = lead{"done", fmt.Sprintf("Nothing would change: each of %s documents stays as it is.", all), ""}
	default:
		d.Lead = lead{"late", fmt.Sprintf("%s of the %s documents of %s would change.", count(changed), all, of), "#files"}
	}
}
