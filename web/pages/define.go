package pages

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"tributary/internal/config"
	registry "tributary/producers/sources"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/filter"
	"tributary/web/order"
)

// maxForm is how large a form may be that defines something, in bytes: a definition, each
// character of it written as three.
const maxForm = 4 * config.MaxDefinition

// definition is the form by which a source or a centre is defined.
type definition struct {
	order.Definition

	Noun      string // source or centre
	Fields    []keyValue
	More      []keyValue // keys that few need
	MoreOpen  bool       // some of these have a value
	Reason    string
	Declared  string // why it can't be changed here; empty: it can
	Tried     bool
	Wrong     string
	Would     *registry.Change
	Filtered  []registry.Filtered
	Steps     string // stands for the steps of a check, which come one by one; empty: none
	To, Back  string
	MaxReason int
}

// keyValue is a key of a definition with its value.
type keyValue struct {
	config.Key

	Value string
	Rows  int
}

// usual are the keys of a source that most have.
func usual() []string {
	return []string{"centre", "url", "description", "hosts", "filters", "password", "identity_file", "known_hosts", "host_key", "token", "interval", "cron"}
}

// defineRoutes are the addresses of the forms.
func (s *Site) defineRoutes() (out []access.Route) {
	for path, on := range map[string]string{"/new/source": order.Sources, "/new/centre": order.Centres, "/sources/{id}/edit": order.Sources, "/centres/{id}/edit": order.Centres} {
		out = append(out,
			access.Route{Pattern: "GET " + path, Least: access.Operator, Handler: s.show(func(ctx context.Context, r *http.Request) (page, error) {
				_, p, err := s.definition(ctx, r, on)
				return p, err
			})},
			access.Route{Pattern: "POST " + path, Least: access.Operator, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.define(on, w, r) })})
	}
	slices.SortFunc(out, func(a, b access.Route) int { return strings.Compare(a.Pattern, b.Pattern) })
	return out
}

// defineOffers are the forms that who asks may fill in, about a thing; an empty id: a
// new one.
func (s *Site) defineOffers(ctx context.Context, on, id, standing string) []offer {
	switch {
	case s.Definitions == nil || access.From(ctx).Role < access.Operator || standing == control.SourceRemoved:
		return nil
	case id == "":
		noun := strings.TrimSuffix(on, "s")
		return []offer{{Verb: "New " + noun, To: s.to("/new/" + noun)}, {Verb: "Many at once", To: s.to("/definitions")}}
	}
	edit := offer{Verb: "Edit", To: s.to(subjectPath(on, id) + "/edit")}
	if is, err := s.Definitions.Defined(ctx, on, id); err == nil && is.Declared {
		edit.Not = declared(on)
	}
	return []offer{edit}
}

// declared is why what the configuration declares is not changed here.
func declared(on string) string {
	if on == order.Centres {
		return registry.ErrCentreDeclared.Error()
	}
	return registry.ErrDeclared.Error()
}

// definition is the form as far as it is filled in: with what is sent, else with what is
// defined now.
func (s *Site) definition(ctx context.Context, r *http.Request, on string) (*definition, page, error) {
	if s.Definitions == nil {
		return nil, page{}, errNotHere
	}
	d := &definition{Definition: order.Definition{On: on, ID: r.PathValue("id")}, Noun: strings.TrimSuffix(on, "s"), MaxReason: control.MaxReason, Reason: r.PostFormValue("reason")}
	var is order.Defined
	if d.New = d.ID == ""; d.New {
		d.ID, d.To, d.Back = strings.TrimSpace(r.PostFormValue("id")), s.to("/new/"+d.Noun), s.to("/"+on)
	} else {
		var err error
		if is, err = s.Definitions.Defined(ctx, on, d.ID); err != nil {
			return nil, page{}, unknown(err)
		}
		d.To, d.Back = s.to(subjectPath(on, d.ID)+"/edit"), s.to(subjectPath(on, d.ID))
		d.Seen = is.Seen
		if is.Declared {
			d.Declared = declared(on)
		}
	}
	if seen := r.PostFormValue("seen"); seen != "" {
		d.Seen = seen
	}
	if err := d.fill(r, is.Definition); err != nil {
		return nil, page{}, err
	}
	title := "Edit " + d.ID
	if d.New {
		title = "New " + d.Noun
	}
	return d, page{Title: title, At: "/" + on, Template: "define", Data: d, Still: true, Command: d.command()}, nil
}

// unknown is what there isn't, as a page says it.
func unknown(err error) error {
	if bad := (*order.Error)(nil); errors.As(err, &bad) {
		return errors.Join(errNoPage, err)
	}
	return err
}

// fill gives each key its value, and notes those that differ from what is defined.
func (d *definition) fill(r *http.Request, is string) (err error) {
	keys, values := config.SourceKeys(), map[string]string{}
	if d.On == order.Centres {
		keys = config.CentreKeys()
	}
	if is != "" {
		if values, err = config.Values(is); err != nil {
			return err
		}
	}
	for _, k := range keys {
		x := keyValue{Key: k, Value: values[k.Name]}
		if sent, ok := r.PostForm[k.Name]; ok {
			x.Value = strings.TrimSpace(strings.ReplaceAll(sent[0], "\r\n", "\n"))
		}
		if x.Value != values[k.Name] {
			pair, err := k.Pair(x.Value)
			if err != nil {
				return err
			}
			d.Values = append(d.Values, pair)
		}
		if x.Rows = 1; k.List {
			x.Rows = 1 + min(6, strings.Count(x.Value, "\n")+len(x.Value)/80)
		}
		if d.On == order.Centres || slices.Contains(usual(), k.Name) {
			d.Fields = append(d.Fields, x)
		} else {
			d.More = append(d.More, x)
			d.MoreOpen = d.MoreOpen || x.Value != ""
		}
	}
	return nil
}

// command says the same on the command line.
func (d *definition) command() string {
	verb, id := "edit", d.ID
	if d.New {
		verb = "add"
	}
	if id == "" {
		id = strings.ToUpper(d.Noun)
	}
	command := "tributary " + d.On + " " + verb + " " + filter.Quoted(id)
	if len(d.Values) == 0 {
		return command + " KEY=VALUE"
	}
	for _, v := range d.Values {
		command += " " + filter.Quoted(v)
	}
	return command
}

// define does with a form what its button says: it tries it, checks the source, tries its
// filters, or defines it.
func (s *Site) define(on string, w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.answer(w, r, page{}, http.StatusOK, errors.Join(errBadFilter, err), "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	d, p, err := s.definition(ctx, r, on)
	if err != nil {
		s.answer(w, r, p, http.StatusOK, err, "")
		return
	}
	by := control.Decision{By: access.From(ctx).Name, Reason: strings.TrimSpace(d.Reason), At: s.Now()}
	switch r.PostFormValue("do") {
	case "check":
		if on == order.Sources {
			s.check(w, r, d, p)
			return
		}
	case "filters":
		d.Filtered, err = s.Definitions.Filtered(ctx, d.Definition)
	case "save":
		if err := order.CheckReason(by.Reason, false); err != nil {
			d.Wrong = err.Error()
			break
		}
		var c registry.Change
		if c, err = s.Definitions.Define(ctx, d.Definition, by, false); err == nil {
			s.Log.InfoContext(ctx, "ordered on the pages", "order", c.Done, "about", d.Noun+" "+d.ID, "by", by.By)
			s.say(w, d.ID+": "+strings.TrimSuffix(c.Done+", "+c.Detail, ", "))
			http.Redirect(w, r, s.to("/"+on), http.StatusSeeOther)
			return
		}
	default:
		d.Tried = true
		var c registry.Change
		c, err = s.Definitions.Define(ctx, d.Definition, by, true)
		d.Would = &c
	}
	s.answerDefinition(w, r, d, p, err)
}

// answerDefinition shows the form again, with what came of it, or with why nothing did.
func (s *Site) answerDefinition(w http.ResponseWriter, r *http.Request, d *definition, p page, err error) {
	status := http.StatusOK
	if bad := (*order.Error)(nil); errors.As(err, &bad) {
		d.Wrong, err = bad.Error(), nil
	} else if errors.Is(err, order.ErrBusy) {
		d.Wrong, err = order.ErrBusy.Error(), nil
	}
	if d.Wrong != "" {
		d.Would, status = nil, http.StatusBadRequest
	}
	s.answer(w, r, p, status, err, "")
}
