package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/web/filter"
	"tributary/web/past"
)

// wayOut is what can be asked of the past where a question can't be answered.
type wayOut struct {
	First    string // the same, of the first moment that the history knows; empty: that is not the matter
	Narrower []narrower
}

// narrower are questions about less of the same moment.
type narrower struct {
	Said string
	Ways []way
}

// wayOut is what can be asked instead of what is a problem, and the command that answers
// it whole; empty: none does.
func (s *Site) wayOut(r *http.Request, p *past.Problem) (out wayOut, command string) {
	if !p.Since.IsZero() && p.Where == asOf {
		out.First = s.here(r, p.Since)
	}
	if p.Events == 0 && !p.Elsewhere() {
		return out, ""
	}
	if command = s.wholeCommand(r); command != "" && p.Events > asof.DefaultMaxEvents {
		command += fmt.Sprintf(" --max-events %d", p.Events)
	}
	choices, err := report.ReadChoices(r.Context(), s.Tracker)
	if err != nil {
		s.Log.Warn("what else can be asked of the past can't be read", "error", err)
		return out, command
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	each := func(said string, names []string, to func(name string) string) {
		n := narrower{Said: said}
		for _, name := range names {
			n.Ways = append(n.Ways, way{Text: name, To: to(name)})
		}
		if len(names) > 0 {
			out.Narrower = append(out.Narrower, n)
		}
	}
	same := func(name string) func(string) string {
		return func(value string) string {
			q := r.Clone(r.Context())
			query := q.URL.Query()
			query.Set(name, value)
			q.URL.RawQuery = query.Encode()
			if s.then == nil {
				return s.here(q, time.Time{})
			}
			return s.here(q, s.then.At)
		}
	}
	query := r.URL.Query()
	switch {
	case rest != "": // it is about one centre, source or session already
	case first == "diff" && query.Get("centre") == "":
		each("The changes of one centre's files:", choices.Centres, same("centre"))
	case first == "files" || first == "documents" || first == "quality":
		if query.Get("centre") == "" {
			each("The same of one centre:", choices.Centres, same("centre"))
		}
		if query.Get("source") == "" && first == "files" {
			each("The same of one source:", choices.Sources, same("source"))
		}
	case first == "sources":
		each("One source as it stood then:", choices.Sources, s.sourceAt)
	case first == "" || first == "centres" || first == "sessions":
		each("One centre as it stood then:", choices.Centres, s.centreAt)
	}
	return out, command
}

// wholeCommand is the command that answers, however much it takes, what an address asks of
// the past; empty where none does.
func (s *Site) wholeCommand(r *http.Request) string {
	query := r.URL.Query()
	if r.URL.Path == "/diff" {
		asked, err := past.Ask(query, s.Now())
		if err != nil {
			return ""
		}
		return shown(asked.Command())
	}
	if s.then == nil {
		return ""
	}
	command := ""
	switch first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); {
	case first == "":
		command = "tributary status"
	case first == "files" && rest != "":
		command = "tributary show " + filter.Quoted(r.PathValue("action")+"/"+r.PathValue("name"))
	case first == "files" || first == "documents":
		f, err := filter.Parse(query, s.Now())
		if err != nil {
			return ""
		}
		f.Sort = cmp.Or(f.Sort, "newest")
		command = shown(filter.Command(first, query, f))
	}
	return commandAt(command, s.then.At)
}
