package pages

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// offer is what a page offers to be done: a link to its form. What can't be done now is
// named with why.
type offer struct {
	Verb, To, Not string
	Order         bool // of order.Table: its form may be shown on the page itself
}

// offers are the orders about a thing, standing so, that who asks may give, and those that
// they can't give now.
func (s *Site) offers(ctx context.Context, on, subject, standing string) (out []offer) {
	for _, o := range s.Orders.For(on, access.From(ctx)) {
		x := s.offer(&o, subject)
		x.Not = o.Not(ctx, subject, standing, s.Now())
		out = append(out, x)
	}
	return out
}

// possible are the offers of a row of a list, which has no room for why others are none.
func possible(all []offer) []offer {
	return slices.DeleteFunc(all, func(o offer) bool { return o.Not != "" })
}

// rowMenu is what may be ordered about the thing of a row, as its template shows it.
type rowMenu struct {
	ID     string // of its element
	Of     string
	Offers []offer
}

// byStanding are the offers of a row of a long list: those of which it follows from how the
// thing stands that they can be given, so that no store is asked about each row.
func (s *Site) byStanding(ctx context.Context, on, subject, standing string) (out []offer) {
	for _, o := range s.Orders.For(on, access.From(ctx)) {
		if !o.Tried && o.Not(ctx, subject, standing, s.Now()) == "" {
			out = append(out, s.offer(&o, subject))
		}
	}
	return out
}

func (s *Site) offer(o *order.Order, subject string) offer {
	return offer{Order: true, Verb: o.Short(), To: s.to(subjectPath(o.On, subject) + "/" + o.Name)}
}

// documentParts are those of the order.DocumentSubject, of which the last may have
// slashes.
const documentParts = 4

// subjectPath is the address of what an order is about, below which the order's is.
func subjectPath(on, subject string) string {
	path, parts := "/"+on, -1
	if on == order.Documents {
		parts = documentParts
	}
	for _, part := range strings.SplitN(subject, "/", parts) {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// orderRoutes are the addresses of all orders: GET shows a form, POST gives the order.
func (s *Site) orderRoutes() (out []access.Route) {
	for i := range s.Orders {
		o := &s.Orders[i]
		path := " " + o.Path()
		out = append(out,
			access.Route{Pattern: "GET" + path, Least: o.Least, Handler: s.within(o.Time(timeout), func(ctx context.Context, r *http.Request) (page, error) {
				return s.form(ctx, o, r, "")
			})},
			access.Route{Pattern: "POST" + path, Least: o.Least, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.give(o, w, r) })})
	}
	return out
}

// form is the page on which an order is given: what it does, what it would do now.
type form struct {
	Order         *order.Order
	Subject       string
	Value, Reason string
	Would         string // what it would do; empty: that can't be told
	Effect        string // in numbers; empty: none are known
	Seen          string // what it is tied to, see order.Asked
	Refused       string // why it would not be done, or was not
	To, Back      string
	MaxReason     int
	Confirm       string // what is typed to confirm it; empty: nothing
}

// confirm is what is typed to confirm an order about a subject: its name, that of a
// shadow's results for its replay.
func (s *Site) confirm(ctx context.Context, o *order.Order, subject string) (string, error) {
	switch {
	case !o.Confirmed:
		return "", nil
	case o.On != order.Replays:
		return subject, nil
	case s.ReplayTold == nil:
		return "", errNotHere
	}
	told, err := s.ReplayTold(ctx, subject)
	if errors.Is(err, control.ErrNoReplay) {
		return subject, nil // which the order says
	}
	if err != nil {
		return "", err
	}
	return cmp.Or(told.Shadow, subject), nil
}

// subject is what a request is about, and the page that shows it.
func (s *Site) subject(o *order.Order, r *http.Request) (subject, back string) {
	action, name, entry := r.PathValue("action"), r.PathValue("name"), r.PathValue("entry")
	subject = r.PathValue("id")
	switch o.On {
	case order.Files:
		return action + "/" + name, s.fileTo(action, name)
	case order.Documents:
		return order.DocumentSubject(action, name, r.PathValue("sha256"), entry), s.fileTo(action, name, "documents", entry)
	case order.Sources:
		return subject, s.sourceAt(subject)
	case order.Centres:
		return subject, s.centreAt(subject)
	case order.Replays:
		return subject, s.replayAt(subject)
	}
	return subject, s.to("/" + o.On)
}

// asked is what a form says, or, of one that is still to be filled in, its address.
func (s *Site) asked(r *http.Request, subject string) order.Asked {
	value := r.PostFormValue("value")
	if r.Method == http.MethodGet {
		value = r.URL.Query().Get("value")
	}
	return order.Asked{Decision: control.Decision{By: access.From(r.Context()).Name, Reason: r.PostFormValue("reason"), At: s.Now()}, Subject: subject, Value: value, Seen: r.PostFormValue("seen")}
}

// form shows what an order would do, or, if it was refused, why.
func (s *Site) form(ctx context.Context, o *order.Order, r *http.Request, refused string) (page, error) {
	subject, back := s.subject(o, r)
	asked := s.asked(r, subject)
	f := form{Order: o, Subject: subject, Value: asked.Value, Reason: asked.Reason, Refused: refused, To: s.to(subjectPath(o.On, subject) + "/" + o.Name), Back: back, MaxReason: control.MaxReason}
	var err error
	if f.Confirm, err = s.confirm(ctx, o, subject); err != nil {
		return page{}, err
	}
	// One that was tied to what was shown before shows what it is tied to now.
	if refused == "" || asked.Seen != "" {
		asked.Dry, asked.Seen = true, ""
		out, err := o.Try(ctx, asked)
		bad := (*order.Error)(nil)
		switch {
		case errors.As(err, &bad) && o.Value != nil && asked.Value == "": // it is still to be given
		case errors.As(err, &bad) && o.Value != nil:
			f.Refused = bad.Error()
		case err != nil:
			return page{}, err
		case out.Done && asked.Value == "" && o.Value != nil && o.Value.Must: // what it would do depends on it
		case out.Done:
			f.Would, f.Seen = out.Detail, out.Seen
			if o.Effect != nil {
				if f.Effect, err = o.Effect(ctx, subject); err != nil {
					return page{}, err
				}
			}
		case refused == "":
			f.Refused = out.Detail
		}
	}
	return page{Title: o.Verb + " " + subject, At: "/" + o.On, Template: "order", Still: true, Data: f, Command: o.Command(asked)}, nil
}

// give gives an order and goes back to what it is about; what is refused says why.
func (s *Site) give(o *order.Order, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), o.Time(timeout))
	defer cancel()
	subject, back := s.subject(o, r)
	var out order.Outcome
	name, err := s.confirm(ctx, o, subject)
	unconfirmed := err == nil && name != "" && name != strings.TrimSpace(r.PostFormValue("confirm"))
	asked := s.asked(r, subject)
	switch {
	case unconfirmed:
		err = order.CheckReason(asked.Reason, o.Why)
	case err == nil:
		out, err = o.Give(ctx, asked)
	}
	bad := (*order.Error)(nil)
	switch {
	case errors.As(err, &bad):
		out.Detail = bad.Error()
	case unconfirmed:
		out.Detail = "what was typed to confirm it is not " + name
	case err == nil && out.Done:
		s.Log.InfoContext(ctx, "ordered on the pages", "order", o.Name, "about", subject, "by", access.From(ctx).Name)
		s.say(w, subject+": "+out.Detail)
		http.Redirect(w, r, back, http.StatusSeeOther)
		return
	}
	status := http.StatusConflict
	if bad != nil || unconfirmed {
		status, err = http.StatusBadRequest, nil
	}
	var p page
	if err == nil {
		p, err = s.form(ctx, o, r, out.Detail)
	}
	s.answer(w, r, p, status, err, "")
}

const (
	// saidCookie keeps what was done until the next page says it.
	saidCookie = "said"
	saidFor    = time.Minute
	maxSaid    = 1000
)

// say has the next page say what was done.
func (s *Site) say(w http.ResponseWriter, text string) {
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + " …"
	}
	http.SetCookie(w, s.said(base64.RawURLEncoding.EncodeToString([]byte(text)), int(saidFor.Seconds())))
}

func (s *Site) said(value string, age int) *http.Cookie {
	return &http.Cookie{Name: saidCookie, Value: value, Path: s.Prefix + "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// heard is what the page before has done; it is said once.
func (s *Site) heard(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(saidCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, s.said("", -1))
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > 2*maxSaid {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
