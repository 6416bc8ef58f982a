package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/schemas"
	"tributary/web/filter"
)

// maxPath is how long a path may be of which is asked why it is where it is, in bytes.
const maxPath = 4096

// whyPage is why a file is where it is, or was not taken, at each source.
type whyPage struct {
	Path, Source string
	Sources      []string
	Answers      []whyAnswer
	More         int // sources that could show it, beyond those that are told of
}

type whyAnswer struct {
	why.Answer

	To, SourceTo string
}

// why is the page that answers why a file is where it is, also of one that nobody knows.
func (s *Site) why(ctx context.Context, r *http.Request) (page, error) {
	d := whyPage{Path: r.FormValue("path"), Source: r.FormValue("source")}
	for name, v := range map[string]string{"path": d.Path, "source": d.Source} {
		if schemas.Clean(v) != v || len(v) > maxPath {
			return page{}, fmt.Errorf("%w: %s can't be looked for", errBadFilter, name)
		}
	}
	if s.Why == nil {
		return page{}, errNotHere
	}
	choices, err := report.ReadChoices(ctx, s.Tracker)
	if err != nil {
		return page{}, err
	}
	d.Sources = choices.Sources
	p := page{Title: "Why", At: "/why", Template: "why", Command: "tributary why FILE", Still: true}
	if d.Path != "" {
		p.Command = "tributary why "
		if d.Source != "" {
			p.Command += filter.Quoted(d.Source) + " "
		}
		p.Command += filter.Quoted(d.Path)
		answers, more, err := s.Why(ctx, d.Source, d.Path)
		if errors.Is(err, why.ErrUnknownID) {
			err = fmt.Errorf("%w: %w", report.ErrNotFound, err)
		}
		if err != nil {
			return page{}, err
		}
		d.More = more
		for _, a := range answers {
			x := whyAnswer{Answer: a}
			if a.Source != "" {
				x.SourceTo = s.sourceAt(a.Source)
			}
			d.Answers = append(d.Answers, x)
		}
	}
	p.Data = d
	return p, nil
}
