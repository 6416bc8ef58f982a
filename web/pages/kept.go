package pages

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/keep"
)

// keeping is what is asked on a page, as it can be kept.
type keeping struct{ Kind, About, Asks string }

// keep is how what is asked can be kept; nil where nothing is kept, or it is too large.
func (s *Site) keep(kind, about, asks string) *keeping {
	if s.Control == nil || len(asks) > keep.MaxAsks {
		return nil
	}
	return &keeping{kind, about, asks}
}

// keptRoutes are the addresses of questions that are kept: those of who asks.
func (s *Site) keptRoutes() []access.Route {
	return []access.Route{
		{Pattern: "GET /questions", Least: access.Reader, Handler: s.show(func(ctx context.Context, _ *http.Request) (page, error) { return s.questions(ctx, "") })},
		{Pattern: "POST /questions", Least: access.Reader, Handler: s.changing(func(ctx context.Context, shelf keep.Shelf, who string, r *http.Request) (string, error) {
			k, err := shelf.Keep(ctx, who, control.KeptQuestion{Name: r.PostFormValue("name"), Kind: r.PostFormValue("kind"), About: r.PostFormValue("about"), Asks: r.PostFormValue("asks")})
			return k.Name + " is kept.", err
		})},
		{Pattern: "POST /questions/{number}/rename", Least: access.Reader, Handler: s.changing(func(ctx context.Context, shelf keep.Shelf, who string, r *http.Request) (string, error) {
			return "It has its new name.", shelf.Rename(ctx, who, numbered(r), r.PostFormValue("name"))
		})},
		{Pattern: "POST /questions/{number}/delete", Least: access.Reader, Handler: s.changing(func(ctx context.Context, shelf keep.Shelf, who string, r *http.Request) (string, error) {
			return "It is deleted.", shelf.Delete(ctx, who, numbered(r))
		})},
	}
}

// numbered is the number that an address gives; 0, which no question has, where that is none.
func numbered(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// questions are those that somebody keeps.
type questions struct {
	Rows    []keptRow
	Most    int
	Refused string // why nothing was kept or renamed
}

// keptRow is a question as it is asked: by its address, or, a statement, by a form.
type keptRow struct {
	control.KeptQuestion
	To      string
	Command string
}

func (s *Site) shelf() keep.Shelf { return keep.Shelf{Control: s.Control, Asker: s.asker, Now: s.Now} }

func (s *Site) questions(ctx context.Context, refused string) (page, error) {
	if s.Control == nil {
		return page{}, errNotHere
	}
	all, err := s.shelf().All(ctx, access.From(ctx).Name)
	if err != nil {
		return page{}, err
	}
	d := questions{Most: control.MostKeptQuestions, Refused: refused}
	for _, k := range all {
		d.Rows = append(d.Rows, s.keptRow(k))
	}
	return page{Title: "Questions", At: "/questions", Template: "questions", Data: d}, nil
}

func (s *Site) keptRow(k control.KeptQuestion) keptRow {
	row := keptRow{KeptQuestion: k, Command: keep.Command(k, s.Now())}
	if path := keep.Path(k); path != "" {
		row.To = s.Prefix + path
	}
	return row
}

// changing changes what somebody keeps and leads back to it; what is refused is said
// there.
func (s *Site) changing(change func(ctx context.Context, shelf keep.Shelf, who string, r *http.Request) (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		done, err := "", errNotHere
		if s.Control != nil {
			done, err = change(ctx, s.shelf(), access.From(ctx).Name, r)
		}
		switch {
		case err == nil:
			s.say(w, done)
			http.Redirect(w, r, s.to("/questions"), http.StatusSeeOther)
		case keep.Refused(err):
			p, err := s.questions(ctx, err.Error())
			s.answer(w, r, p, http.StatusConflict, err, "")
		default:
			s.answer(w, r, page{}, http.StatusOK, err, "")
		}
	})
}

// questionsShown is how many of the questions the first page names.
const questionsShown = 8

// personal is what the first page shows one person: what has changed since they looked
// last, and what they ask again and again.
type personal struct {
	Since     *time.Time // nil: they have not been here before, or nobody knows
	Changed   report.News
	New       string // where what is new is listed, and so on
	Loaded    string
	Failed    string
	All       string
	Questions []keptRow
	More      int
}

// personal notes that somebody looks at the first page, and reads what is theirs. A
// program has no visits.
func (s *Site) personal(ctx context.Context, at time.Time) (p personal, err error) {
	person := access.From(ctx)
	who := person.Name
	if s.Control == nil || who == "" || person.Program() {
		return p, nil
	}
	if p.Since, err = control.Visited(ctx, s.Control, who, at); err != nil {
		return p, err
	}
	if p.Since != nil {
		if p.Changed, err = report.ReadNews(ctx, s.Tracker, *p.Since); err != nil {
			return p, err
		}
		since := p.Since.UTC().Format(time.RFC3339Nano)
		p.New, p.All = s.to("/diff", "from", since, "kind", "file", "change", "new"), s.to("/diff", "from", since)
		p.Loaded, p.Failed = s.to("/files", "since", since, "phase", "overview", "status", "done"), s.to("/files", "since", since, "status", "failed")
	}
	all, err := s.shelf().All(ctx, who)
	for i, k := range all {
		if i == questionsShown {
			p.More = len(all) - i
			break
		}
		p.Questions = append(p.Questions, s.keptRow(k))
	}
	return p, err
}
