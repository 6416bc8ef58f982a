package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"tributary/queries/report"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// linksShown is how many links a centre's page lists.
const linksShown = 50

// centreLinks are the links by which people of a centre see what is theirs, for those who
// make them.
type centreLinks struct {
	Make string // the form
	Rows []centreLink
	Full bool // there are older ones
}

// centreLink is a link as a centre's page lists it.
type centreLink struct {
	order.Link

	Over   string // why it leads nowhere; empty: it is good
	Revoke string // the form; empty: it is over
}

// centreLinks are the links of a centre; nil where who asks may not make any, or nobody
// may here.
func (s *Site) centreLinks(ctx context.Context, centre string) (*centreLinks, error) {
	if s.Definitions == nil || access.From(ctx).Role < access.Wrangler {
		return nil, nil //nolint:nilnil // there is nothing to show
	}
	all, err := s.Definitions.Links(ctx, centre)
	if err != nil {
		return nil, err
	}
	d := &centreLinks{Make: s.centreAt(centre) + "/link", Full: len(all) > linksShown}
	for _, l := range all[:min(len(all), linksShown)] {
		row := centreLink{Link: l, Over: l.Over(s.Now())}
		if row.Over == "" {
			row.Revoke = s.to(subjectPath(order.Centres, centre)+"/"+order.RevokeLink, "value", strconv.FormatInt(l.Number, 10))
		}
		d.Rows = append(d.Rows, row)
	}
	return d, nil
}

// linkForm is the page on which a link is made, and then shown, once.
type linkForm struct {
	Centre, Life, Reason string
	Wrong                string
	Path                 string // of the link that was made
	Whole                string // its address, where it is known where people reach the pages
	To, Back             string
	MaxReason            int
}

// linkWanted is the form.
func (s *Site) linkWanted(ctx context.Context, r *http.Request) (page, error) {
	if s.Definitions == nil {
		return page{}, errNotHere
	}
	is, err := report.StandingOf(ctx, s.Tracker, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	d := &linkForm{Centre: is.Centre, Life: r.PostFormValue("expires"), Reason: r.PostFormValue("reason"), To: s.centreAt(is.Centre) + "/link", Back: s.centreAt(is.Centre), MaxReason: control.MaxReason}
	if r.Method == http.MethodGet {
		d.Life = order.LinkLife
	}
	return page{Title: "Link of " + is.Centre, At: "/centres", Template: "link", Still: true, Data: d, Command: "tributary centres link " + is.Centre + " --expires " + d.Life}, nil
}

// makeLink makes a link and shows it. Nobody keeps the answer, nor can ask for it again.
func (s *Site) makeLink(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	w.Header().Set("Cache-Control", "private, no-store")
	p, err := s.linkWanted(ctx, r)
	d, ok := p.Data.(*linkForm)
	if err != nil || !ok {
		s.answer(w, r, p, http.StatusOK, err, "")
		return
	}
	by, status := control.Decision{By: access.From(ctx).Name, Reason: d.Reason, At: s.Now()}, http.StatusOK
	bad := (*order.Error)(nil)
	path, err := s.Definitions.MakeLink(ctx, d.Centre, d.Life, by)
	switch {
	case errors.As(err, &bad):
		d.Wrong, status, err = bad.Error(), http.StatusBadRequest, nil
	case err == nil:
		d.Path, p.Command = s.Prefix+path, ""
		if s.Address != "" {
			d.Whole = s.Address + path
		}
		s.Log.InfoContext(ctx, "ordered on the pages", "order", "link", "about", d.Centre, "by", by.By)
	}
	s.answer(w, r, p, status, err, "")
}
