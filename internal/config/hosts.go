package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AllCentres stands in hosts for every centre, as for a mirror.
const AllCentres = "all"

// Hosts lists whose files a source may show beside those of its own centre.
// Who controls a centre's server could else change what all the others have
// submitted.
type Hosts []Hosted

// Hosted is a centre whose files a source may show.
type Hosted struct {
	Centre  string   `yaml:"centre"`  // its short name, capitals don't matter
	Actions []string `yaml:"actions"` // of add, edit and delete; none: all of them
}

// all tells whether every centre's files may be shown.
func (h Hosts) all() bool { return len(h) == 1 && h[0].Centre == AllCentres }

// find returns the item of a centre; nil if it is not listed.
func (h Hosts) find(centre string) *Hosted {
	for i := range h {
		if strings.EqualFold(h[i].Centre, centre) {
			return &h[i]
		}
	}
	return nil
}

// MayShow tells whether the source may show a file of the centre in the
// directory of the action: its own centre's always, others' where hosts grants it.
func (s Source) MayShow(centre, action string) bool {
	if strings.EqualFold(s.Centre, centre) || s.Hosts.all() {
		return true
	}
	h := s.Hosts.find(centre)
	return h != nil && (len(h.Actions) == 0 || slices.Contains(h.Actions, action))
}

// Shown lists what the source may show, for comparing in SQL: CENTRE, or
// CENTRE/ACTION where only some actions are granted, its own centre first. It is
// nil where everything may be shown. canonical spells a centre as file names are
// read.
func (s Source) Shown(canonical func(string) string) []string {
	if s.Hosts.all() {
		return nil
	}
	out := []string{canonical(s.Centre)}
	for _, h := range s.Hosts {
		name := canonical(h.Centre)
		if len(h.Actions) == 0 {
			out = append(out, name)
		}
		for _, action := range h.Actions {
			out = append(out, name+"/"+action)
		}
	}
	return out
}

// maxHosts is how many centres a refusal repeats.
const maxHosts = 16

// Refusal says why the source may not show a file of the centre, and which line
// of the configuration would allow it.
func (s Source) Refusal(centre, action string) string {
	what := "files of the centre " + centre
	granted := slices.Clone(s.Hosts)
	if h := granted.find(centre); h != nil {
		what += " in " + action
		h.Actions = append(slices.Clone(h.Actions), action)
	} else {
		granted = append(granted, Hosted{Centre: centre})
	}
	line := "hosts: " + granted.String()
	if len(granted) > maxHosts {
		line = "hosts: […, " + granted.find(centre).String() + "]"
	}
	return fmt.Sprintf("the source %s is the centre %s's and may not show %s, so nothing is fetched from it; if that centre agrees, write for the source: %s", s.ID, s.Centre, what, line)
}

// String writes an item as the configuration does.
func (h Hosted) String() string {
	if len(h.Actions) == 0 {
		return h.Centre
	}
	return "{centre: " + h.Centre + ", actions: [" + strings.Join(h.Actions, ", ") + "]}"
}

// String writes the list as the configuration does.
func (h Hosts) String() string {
	if h.all() {
		return AllCentres
	}
	items := make([]string, len(h))
	for i := range h {
		items[i] = h[i].String()
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// MarshalYAML writes the list as short as it may be written.
func (h Hosts) MarshalYAML() (any, error) {
	if h.all() {
		return AllCentres, nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, item := range h {
		var n yaml.Node
		var err error
		if len(item.Actions) == 0 {
			err = n.Encode(item.Centre)
		} else {
			err = n.Encode(struct {
				Centre  string   `yaml:"centre"`
				Actions []string `yaml:"actions"`
			}(item))
		}
		if err != nil {
			return nil, fmt.Errorf("hosts: %w", err)
		}
		list.Content = append(list.Content, &n)
	}
	return list, nil
}

// isHosts tells a list of hosts, each of which may be written as a name alone.
func isHosts(t reflect.Type) bool { return t == reflect.TypeFor[Hosts]() }

// shortHosted tells whether v is an item of hosts that n gives by name alone.
func shortHosted(n *yaml.Node, v reflect.Value) bool {
	return n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[Hosted]()
}

// checkHosts looks at what a source is granted.
func (d *decoder) checkHosts(s *Source, at string) {
	for i, h := range s.Hosts {
		here := item(at, i)
		switch {
		case h.Centre == "":
			d.problem(here, "names no centre: write its short name, or {centre: NAME, actions: [add]}")
		case h.Centre == AllCentres && len(s.Hosts) > 1:
			d.problem(here, "all stands for every centre: write hosts: all, or name the centres")
		case h.Centre == AllCentres && len(h.Actions) > 0:
			d.problem(here, "all can't be limited to actions: name the centres")
		case strings.EqualFold(h.Centre, s.Centre):
			d.problem(here, "%q is the source's own centre, whose files it may always show: take it out", h.Centre)
		case s.Hosts.find(h.Centre) != &s.Hosts[i]:
			d.problem(here, "%q is listed twice, capitals don't matter: keep one", h.Centre)
		}
		for j, action := range h.Actions {
			d.oneOf(item(here+".actions", j), action, "add", "edit", "delete")
		}
	}
}
