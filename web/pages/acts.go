package pages

import (
	"net/url"
	"strings"
	"time"

	"tributary/queries/report"
	"tributary/schemas/exception"
)

// shownPlaces is how many centres and sources a row names before it says how many more.
const shownPlaces = 3

// acts are failures of which it is one's move.
type acts struct {
	Title string
	Rows  []act
}

// act is one exception, where it stands, and what to do.
type act struct {
	Exception, Meaning string
	Where              []where
	Failed, Retried    int64
	To, RetriedTo      string // the files
	Trend              *spark
	Last               *time.Time
	Next, NextTo       string
}

// where is a centre or a source, and how many files are concerned.
type where struct {
	Kind, Name, To string
	Files          int64
}

// newActs arranges failures by whose move it is. Where one centre is meant, its files
// are listed.
func newActs(s *Site, all []report.Failing, centre string) []acts {
	titles := map[exception.Move]string{
		exception.Us:     "Us: nothing goes on here until somebody acts",
		exception.Centre: "Centres: they correct it and send it again",
		exception.Nobody: "Nobody: it is tried again by itself, or has ended as it should",
	}
	var out []acts
	for _, move := range exception.Moves() {
		group := acts{Title: titles[move]}
		for _, f := range all {
			if f.Move == move {
				group.Rows = append(group.Rows, newAct(s, f, centre))
			}
		}
		if len(group.Rows) > 0 {
			out = append(out, group)
		}
	}
	return out
}

func newAct(s *Site, f report.Failing, centre string) act {
	a := act{Exception: f.Exception, Meaning: sentence(f.Happened), Failed: f.Failed, Retried: f.Retried,
		To: s.to("/files", "exception", f.Exception, "status", "failed", "centre", centre), RetriedTo: s.to("/files", "phase", "download", "waiting", "true", "centre", centre)}
	if a.Meaning == "" && s.Meaning != nil { // the past describes no checks of the profile
		a.Meaning = sentence(s.Meaning(f.Exception))
	}
	if !f.Last.IsZero() {
		a.Last = &f.Last
	}
	for i, name := range f.Sources {
		if i == shownPlaces {
			a.Where = append(a.Where, where{Name: plural(len(f.Sources)-i, "source more", "sources more"), To: s.to("/sources")})
			break
		}
		a.Where = append(a.Where, where{Kind: "source", Name: name, To: s.sourceAt(name)})
	}
	for i, c := range f.Centres {
		if i == shownPlaces {
			a.Where = append(a.Where, where{Name: plural(len(f.Centres)-i, "centre more", "centres more")})
			break
		}
		w := where{Name: c.Centre, Files: c.Files, To: s.centreAt(c.Centre)}
		if c.Centre == "" {
			w.Name, w.To = "no centre known", ""
		}
		a.Where = append(a.Where, w)
	}
	switch {
	case f.Failed == 0 && f.Retried > 0:
		a.To = a.RetriedTo
	case f.Failed == 0:
		a.To = s.to("/sources")
	default:
		days := make([]float64, len(f.Days))
		for i, n := range f.Days {
			days[i] = float64(n)
		}
		trend := newSpark("Files by day, the last 14 days: "+count(f.Days[len(f.Days)-1])+" in the last", days, nil)
		trend.Bad = f.Move != exception.Nobody
		a.Trend = &trend
	}
	if a.Next, a.NextTo = nextStep(s, f); centre != "" && f.Move == exception.Centre && f.Do != "" {
		a.Next, a.NextTo = sentence(f.Do), "" // the page that is linked else is this one
	}
	return a
}

// nextStep is what to do about a failure, and where.
func nextStep(s *Site, f report.Failing) (text, to string) {
	switch {
	case f.Move == exception.Nobody:
		return sentence(f.Do), ""
	case f.Move == exception.Centre && len(f.Centres) > 0 && f.Centres[0].Centre != "":
		return "Tell " + f.Centres[0].Centre, s.centreAt(f.Centres[0].Centre)
	case f.Exception == "quarantined":
		return "Look at the dead letters", s.to("/dead-letters")
	case f.Do == "":
		return "Look at the files: their messages say more", s.to("/files", "exception", f.Exception, "status", "failed")
	case len(f.Sources) > 0:
		return sentence(f.Do), s.sourceAt(f.Sources[0])
	}
	return sentence(f.Do), ""
}

func (s *Site) sourceAt(id string) string { return s.to("/sources/" + url.PathEscape(id)) }

func (s *Site) centreAt(name string) string { return s.to("/centres/" + url.PathEscape(name)) }

// sentence is the first sentence of a text.
func sentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}
