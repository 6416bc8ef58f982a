package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"tributary/queries/centrereport"
	"tributary/queries/report"
	"tributary/web/filter"
	"tributary/web/past"
	"tributary/web/question"
)

// tooLong is what a page says that has no report, since there is too much to read.
const tooLong = "The report can't be made within a minute."

// reports tells whether reports of centres are made here, of what is so now.
func (s *Site) reports() bool { return s.Advice != nil && s.Warehouse != nil && s.then == nil }

// report hands out what to send to a centre, as tributary centres report -o html makes it:
// a file to be kept, since its styles are its own, which these pages allow nobody.
func (s *Site) report(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), question.StatementTime)
	defer cancel()
	var b bytes.Buffer
	made, err := s.reportOf(ctx, r)
	if err == nil {
		err = made.WriteHTML(&b)
	}
	if err != nil {
		status, p := s.failed(r, err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			p.Title, p.Command = tooLong, "tributary centres report "+filter.Quoted(r.PathValue("name"))+" -o html"
			p.Data = failure{Said: tooLong, Why: "it reads all files of the centre; the command takes as long as that needs"}
		}
		s.answer(w, r, p, status, nil, "")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(made.Centre + "." + s.Now().UTC().Format("2006-01-02") + ".html")}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // the client may be gone, which is its affair
}

// reportOf reads a centre's report, as one of the questions that are answered at once.
func (s *Site) reportOf(ctx context.Context, r *http.Request) (made *centrereport.Report, err error) {
	name := r.PathValue("name")
	switch {
	case !s.reports():
		return nil, errNotHere
	case r.URL.Query().Get(asOf) != "":
		return nil, past.NoPast("A centre's report")
	case (report.Filter{Centre: name}).Check() != nil:
		return nil, report.ErrNotFound
	}
	err = s.asker.One(ctx, func() error {
		made, err = centrereport.Read(ctx, s.Tracker, s.Warehouse, centrereport.Options{Centre: name, Now: s.Now().UTC(), Explain: s.Advice})
		return err
	})
	if errors.Is(err, centrereport.ErrNoCentre) {
		err = fmt.Errorf("%w: %w", report.ErrNotFound, err)
	}
	return made, err
}
