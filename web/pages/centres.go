package pages

import (
	"context"
	"fmt"
	"net/http"

	"tributary/queries/report"
	"tributary/schemas/exception"
	"tributary/web/order"
)

// centres are the page of all centres.
type centres struct {
	Lead lead
	Rows []report.Centre
}

func (s *Site) centres(ctx context.Context, _ *http.Request) (page, error) {
	d := centres{}
	failed := 0
	if err := report.Centres(ctx, s.Tracker, func(c report.Centre) error {
		if c.Failed > 0 {
			failed++
		}
		d.Rows = append(d.Rows, c)
		return nil
	}); err != nil {
		return page{}, err
	}
	switch {
	case len(d.Rows) == 0:
		d.Lead = lead{"pending", "No centre is known yet.", ""}
	case failed > 0:
		d.Lead = lead{"late", fmt.Sprintf("%s: files of %d of them have failed.", plural(len(d.Rows), "centre", "centres"), failed), s.to("/files", "status", "failed")}
	default:
		d.Lead = lead{"done", plural(len(d.Rows), "centre", "centres") + ": no file of theirs has failed.", s.to("/files")}
	}
	return page{Title: "Centres", At: "/centres", Template: "centres", Data: d, Command: "tributary centres", Offers: s.defineOffers(ctx, order.Centres, "", "")}, nil
}

// pendingShown is how many files that wait a centre's page shows.
const pendingShown = 20

// centre is the page of one centre.
type centre struct {
	Lead    lead
	Centre  report.CentreStanding
	Files   matrix
	Acts    []acts
	Pending []waits
	Links   *centreLinks // nil: who asks makes none
	Report  string       // the address of what to send to it; empty: it isn't made here
}

func (s *Site) centre(ctx context.Context, r *http.Request) (page, error) {
	d := centre{}
	var err error
	if d.Centre, err = report.StandingOf(ctx, s.Tracker, r.PathValue("name")); err != nil {
		return page{}, err
	}
	name := d.Centre.Centre
	failing, err := report.Failures(ctx, s.Tracker, s.Now(), name)
	if err != nil {
		return page{}, err
	}
	pending, err := report.PendingOf(ctx, s.Tracker, name, pendingShown)
	if err != nil {
		return page{}, err
	}
	if d.Pending, err = s.waiting(ctx, pending); err != nil {
		return page{}, err
	}
	if d.Links, err = s.centreLinks(ctx, name); err != nil {
		return page{}, err
	}
	d.Files, d.Acts = newMatrix(s, "files", d.Centre.Files, "centre", name), newActs(s, failing, name)
	d.Lead = centreLead(s, d, failing)
	if s.reports() {
		d.Report = s.centreAt(name) + "/report"
	}
	return page{Title: name, At: "/centres", Template: "centre", Data: d, Command: "tributary centres report " + name, Feeds: s.feeds(name, "", "", ""),
		Offers: append(s.defineOffers(ctx, order.Centres, name, ""), s.offers(ctx, order.Centres, name, "")...)}, nil
}

func centreLead(s *Site, d centre, failing []report.Failing) lead {
	name, theirs, ours := d.Centre.Centre, int64(0), int64(0)
	for _, f := range failing {
		switch f.Move {
		case exception.Centre:
			theirs += f.Failed
		case exception.Us:
			ours += f.Failed
		}
	}
	failed := s.to("/files", "status", "failed", "centre", name)
	switch {
	case d.Files.Total == 0:
		return lead{"pending", "No file of " + name + " has been seen yet.", ""}
	case ours > 0:
		return lead{"failed", fmt.Sprintf("Of what %[2]s sent, %[1]s for somebody here, and %[3]s a correction from there.", plural(int(ours), "file waits", "files wait"), name, plural(int(theirs), "needs", "need")), failed}
	case theirs > 0:
		return lead{"late", fmt.Sprintf("Of what %s sent, %s a correction from there.", name, plural(int(theirs), "file needs", "files need")), failed}
	case len(d.Pending) > 0:
		return lead{"running", "Files of " + name + " are on their way; none of them has failed.", s.to("/files", "waiting", "true", "centre", name)}
	}
	return lead{"done", "Everything that " + name + " sent has come to its end.", s.to("/files", "centre", name)}
}
