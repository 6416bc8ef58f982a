package pages

import (
	"context"
	"errors"
	"net/http"

	"tributary/queries/report"
	"tributary/web/compared"
	"tributary/web/keep"
	"tributary/web/order"
	"tributary/web/past"
	"tributary/web/question"
)

// failure says what is not there, why, and what can be asked instead.
type failure struct {
	Said, Name, Why string
	Ways            wayOut
}

// failed is the page that says why there is no other.
func (s *Site) failed(r *http.Request, err error) (int, page) {
	var unknown *report.UnknownError
	var filter *report.FilterError
	var moment *past.Problem
	status, said, name := http.StatusServiceUnavailable, "The tracker does not answer.", ""
	p := page{Template: "failed"}
	var ways wayOut
	switch {
	case errors.As(err, &moment):
		status, said, name = moment.Status, "That moment can't be shown.", moment.Name
		ways, p.Command = s.wayOut(r, moment)
	case errors.Is(err, errNoPage), errors.Is(err, report.ErrNotFound), errors.Is(err, keep.ErrNone), errors.As(err, &unknown):
		status, said = http.StatusNotFound, "There is nothing here."
	case errors.Is(err, errNotHere), errors.Is(err, order.ErrNotHere), errors.Is(err, question.ErrNoHistory):
		said = "This can't be read here."
	case errors.Is(err, question.ErrBusy):
		said = "As many questions are being answered as may be at once."
	case errors.Is(err, compared.ErrBusy):
		said = "As many shadows are being compared as may be at once."
	case errors.Is(err, errBadFilter), errors.As(err, &filter):
		status, said = http.StatusBadRequest, "This address can't be read."
	case errors.Is(r.Context().Err(), context.Canceled): // whoever asked is gone
	default:
		s.Log.Warn("a page can't be read", "address", r.URL.Path, "error", err)
	}
	p.Title, p.Data = said, failure{said, name, err.Error(), ways}
	return status, p
}
