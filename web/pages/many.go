package pages

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	registry "tributary/producers/sources"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// maxMany bounds a form with definitions of many sources, in bytes.
const maxMany = 1 << 20

// many is the form by which many sources and centres are defined at once.
type many struct {
	order.Many

	Reason    string
	Wrong     string
	Tried     bool
	Would     []registry.Change // those that would change something
	Same      int               // those that stay as they are
	Exports   []option
	To, Back  string
	MaxReason int
}

// manyRoutes are the addresses at which all definitions are had as a file, and applied.
func (s *Site) manyRoutes() []access.Route {
	return []access.Route{
		{Pattern: "GET /definitions", Least: access.Operator, Handler: s.show(func(_ context.Context, r *http.Request) (page, error) {
			_, p, err := s.many(r)
			return p, err
		})},
		{Pattern: "POST /definitions", Least: access.Operator, Handler: http.HandlerFunc(s.applyMany)},
		{Pattern: "GET /definitions/{file}", Least: access.Operator, Handler: http.HandlerFunc(s.export)},
	}
}

// exported are what a file of definitions is of, by its name.
func exported() map[string]string {
	return map[string]string{"sources.yaml": order.Sources, "centres.yaml": order.Centres}
}

// export hands out how all sources or centres are defined, as a file.
func (s *Site) export(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	name := r.PathValue("file")
	on, ok := exported()[name]
	var text []byte
	err := errNoPage
	if ok && s.Definitions == nil {
		err = errNotHere
	} else if ok {
		text, err = s.Definitions.Export(ctx, on, nil)
	}
	if err != nil {
		s.answer(w, r, page{}, http.StatusOK, err, "")
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(text) // the client may be gone, which is its affair
}

// many is the form as far as it is filled in.
func (s *Site) many(r *http.Request) (*many, page, error) {
	if s.Definitions == nil {
		return nil, page{}, errNotHere
	}
	d := &many{To: s.to("/definitions"), Back: s.to("/sources"), MaxReason: control.MaxReason, Reason: strings.TrimSpace(r.PostFormValue("reason")),
		Many: order.Many{On: order.Sources, Name: "the text", Text: strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"), Prune: r.PostFormValue("prune") != "", Seen: r.PostFormValue("seen")}}
	for _, name := range []string{"sources.yaml", "centres.yaml"} {
		d.Exports = append(d.Exports, option{Name: name, To: s.to("/definitions/" + name)})
	}
	command := "tributary sources apply -f FILE"
	if d.Prune {
		command += " --prune"
	}
	return d, page{Title: "Many at once", At: "/sources", Template: "many", Data: d, Still: true, Command: command}, nil
}

// applyMany does with the form what its button says: it tells what would change, or changes
// it, if that is what was told.
func (s *Site) applyMany(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxMany)
	if err := r.ParseMultipartForm(maxMany); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		s.answer(w, r, page{}, http.StatusOK, errors.Join(errBadFilter, err), "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	d, p, err := s.many(r)
	if err == nil {
		err = d.read(r)
	}
	if err != nil {
		s.answer(w, r, p, http.StatusOK, err, "")
		return
	}
	by := control.Decision{By: access.From(ctx).Name, Reason: d.Reason, At: s.Now()}
	dry := r.PostFormValue("do") != "apply"
	if !dry && d.Seen == "" {
		d.Seen = "nothing" // what nobody was told is not applied
	}
	changes, err := s.Definitions.Apply(ctx, d.Many, by, dry)
	if err == nil && !dry {
		said := d.note(changes)
		s.Log.InfoContext(ctx, "ordered on the pages", "order", "apply", "about", d.On, "by", by.By)
		s.say(w, said)
		http.Redirect(w, r, s.to("/sources"), http.StatusSeeOther)
		return
	}
	status := http.StatusOK
	if bad := (*order.Error)(nil); errors.As(err, &bad) {
		d.Wrong, err, status = bad.Error(), nil, http.StatusBadRequest
	} else if err == nil {
		d.Tried, d.Seen = true, order.Seen(changes)
		d.note(changes)
	}
	s.answer(w, r, p, status, err, "")
}

// read takes the text of the file that is sent, if one is.
func (d *many) read(r *http.Request) error {
	d.Seen, d.Text = strings.TrimSpace(d.Seen), strings.TrimSpace(d.Text)
	if r.MultipartForm == nil || len(r.MultipartForm.File["file"]) == 0 {
		return nil
	}
	text, err := sentFile(r.MultipartForm.File["file"][0])
	if err == nil && len(text) > 0 {
		d.Text, d.Seen = strings.ReplaceAll(string(text), "\r\n", "\n"), ""
	}
	return err
}

func sentFile(sent *multipart.FileHeader) ([]byte, error) {
	f, err := sent.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// note keeps what would change, or has, and says it in a sentence.
func (d *many) note(changes []registry.Change) string {
	for _, c := range changes {
		if c.Done == "unchanged" {
			d.Same++
		} else {
			d.Would = append(d.Would, c)
		}
	}
	return plural(len(d.Would), "definition has changed", "definitions have changed") + "; " + plural(d.Same, "stays as it was", "stay as they were")
}
