package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"

	"tributary/internal/remote"
	"tributary/web/order"
)

// checkStep is a step of a check as its page shows it; the last one says how it ended.
type checkStep struct {
	remote.Step

	Shape string
}

// check checks a source as the form defines it. The page is sent up to the place of the
// steps, then each step as it ends, so that it is seen without a script too, and then the
// rest. What can't be checked is said in the form.
func (s *Site) check(w http.ResponseWriter, r *http.Request, d *definition, p page) {
	ctx, cancel := context.WithTimeout(r.Context(), order.CheckTime+timeout)
	defer cancel()
	d.Steps = rand.Text() // nobody can have written it into the page
	var rest []byte
	passed, told := true, 0
	begin := func() bool {
		whole, err := s.render(r, p)
		if err != nil {
			s.Log.Error("a page can't be made", "address", r.URL.Path, "error", err)
			return false
		}
		var first []byte
		first, rest, _ = bytes.Cut(whole, []byte(d.Steps))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Accel-Buffering", "no")
		s.flush(w, first)
		return true
	}
	err := s.Definitions.Check(ctx, d.Definition, func(x remote.Step) {
		if told++; told == 1 && !begin() {
			cancel()
			return
		}
		passed = passed && x.OK
		s.flush(w, s.stepText(checkStep{x, map[bool]string{true: "done", false: "failed"}[x.OK]}))
	})
	if told == 0 {
		d.Steps = ""
		s.answerDefinition(w, r, d, p, err)
		return
	}
	end := checkStep{Step: remote.Step{OK: passed, Detail: "All of it works."}}
	if !passed {
		end.Detail = "It fails there; nothing behind it was tried."
	}
	s.flush(w, append(s.stepText(end), rest...))
}

// render is a page as it is sent.
func (s *Site) render(r *http.Request, p page) ([]byte, error) {
	var b bytes.Buffer
	t, err := s.template(p.Template)
	if err == nil {
		err = t.Execute(&b, s.frame(r, p, ""))
	}
	return b.Bytes(), err
}

func (s *Site) stepText(x checkStep) []byte {
	var b bytes.Buffer
	if err := s.templates["define"].ExecuteTemplate(&b, "step", x); err != nil {
		s.Log.Error("a step can't be shown", "error", err)
	}
	return b.Bytes()
}

// flush sends a part of a page at once; a client that is gone is its own affair.
func (s *Site) flush(w io.Writer, part []byte) {
	_, _ = w.Write(part)
	if f, ok := w.(http.ResponseWriter); ok {
		_ = http.NewResponseController(f).Flush()
	}
}
