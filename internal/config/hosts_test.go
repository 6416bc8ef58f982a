package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hostsOf(t *testing.T, hosts string, env ...string) Source {
	t.Helper()
	got, err := Load(write(t, source+hosts), env, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Sources[0]
}

func TestMayShow(t *testing.T) {
	const mixed = "    hosts: [J, {centre: ics, actions: [add, edit]}]\n"
	for name, tc := range map[string]struct {
		hosts string
		env   string
		shown string // CENTRE/ACTION, of those asked about
	}{
		"by default only its own":       {"", "", "H/add h/delete"},
		"an empty list":                 {"    hosts: []\n", "", "H/add h/delete"},
		"without a value":               {"    hosts:\n", "", "H/add h/delete"},
		"some, some of them in part":    {mixed, "", "H/add h/delete J/delete Ics/add"},
		"one by name alone":             {"    hosts: j\n", "", "H/add h/delete J/delete"},
		"a mirror":                      {"    hosts: all\n", "", "H/add h/delete J/delete Ics/add Ics/delete"},
		"a mirror, as a list":           {"    hosts: [all]\n", "", "H/add h/delete J/delete Ics/add Ics/delete"},
		"the environment, with commas":  {"", "J,Ics", "H/add h/delete J/delete Ics/add Ics/delete"},
		"the environment, as a list":    {mixed, "[{centre: Ics, actions: [delete]}]", "H/add h/delete Ics/delete"},
		"the environment makes it none": {mixed, "[]", "H/add h/delete"},
	} {
		t.Run(name, func(t *testing.T) {
			var env []string
			if tc.env != "" {
				env = append(env, "TRIBUTARY_CFG_SOURCES_0_HOSTS="+tc.env)
			}
			s := hostsOf(t, tc.hosts, env...)
			var shown []string
			for _, ask := range []string{"H/add", "h/delete", "J/delete", "Ics/add", "Ics/delete"} {
				if centre, action, _ := strings.Cut(ask, "/"); s.MayShow(centre, action) {
					shown = append(shown, ask)
				}
			}
			if d := cmp.Diff(tc.shown, strings.Join(shown, " ")); d != "" {
				t.Errorf("what may be shown differs (- want, + got):\n%s", d)
			}
		})
	}
}

// A refusal holds the line that allows what it refuses.
func TestARefusalNamesTheLineThatAllows(t *testing.T) {
	many := make(Hosts, maxHosts)
	for i := range many {
		many[i].Centre = "C" + strconv.Itoa(i)
	}
	for name, tc := range map[string]struct {
		hosts string
		line  string
	}{
		"nothing granted":             {"", "hosts: [J]"},
		"others granted":              {"    hosts: [Ics, {centre: Wtsi, actions: [add]}]\n", "hosts: [Ics, {centre: Wtsi, actions: [add]}, J]"},
		"other actions of it granted": {"    hosts: [{centre: j, actions: [add]}]\n", "hosts: [{centre: j, actions: [add, delete]}]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostsOf(t, tc.hosts)
			said := s.Refusal("J", "delete")
			if !strings.Contains(said, "the source a is the centre H's") || !strings.HasSuffix(said, tc.line) {
				t.Errorf("the refusal says %q, want it to name the source and to end in %q", said, tc.line)
			}
			if s.MayShow("J", "delete") {
				t.Fatal("it is allowed already")
			}
			if s = hostsOf(t, "    "+tc.line+"\n"); !s.MayShow("J", "delete") {
				t.Errorf("%s does not allow it", tc.line)
			}
		})
	}
	if said := (Source{ID: "a", Centre: "H", Hosts: many}).Refusal("J", "add"); !strings.HasSuffix(said, "hosts: […, J]") {
		t.Errorf("with many granted the refusal repeats them all: %s", said)
	}
}

// What SQL compares with says the same as MayShow.
func TestShown(t *testing.T) {
	canonical := func(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
	for hosts, want := range map[string][]string{
		"":                 {"H"},
		"    hosts: all\n": nil,
		"    hosts: [j, {centre: ics, actions: [add, edit]}]\n": {"H", "J", "Ics/add", "Ics/edit"},
	} {
		if d := cmp.Diff(want, hostsOf(t, hosts).Shown(canonical)); d != "" {
			t.Errorf("%q (- want, + got):\n%s", hosts, d)
		}
	}
}

func TestHostsRefused(t *testing.T) {
	for hosts, want := range map[string]string{
		"[J, j]":                           `hosts[1]: "j" is listed twice`,
		"[h]":                              `hosts[0]: "h" is the source's own centre`,
		"[J, all]":                         "hosts[1]: all stands for every centre: write hosts: all",
		"[{centre: all, actions: [add]}]":  "hosts[0]: all can't be limited to actions",
		"[{actions: [add]}]":               "hosts[0]: names no centre",
		"[{centre: J, actions: [remove]}]": `hosts[0].actions[0]: "remove" is not known: use add, edit, delete`,
		"[{centre: J, action: [add]}]":     "hosts[0].action: unknown key; did you mean actions?",
		"[[J]]":                            "hosts[0]: expects keys below it",
		"{centre: J}":                      "hosts: expects a list",
	} {
		_, err := Load(write(t, source+"    hosts: "+hosts+"\n"), nil, Options{})
		if err == nil || !strings.Contains(err.Error(), "sources[0]."+want) {
			t.Errorf("hosts: %s: %v, want %s", hosts, err, want)
		}
	}
}

func TestHostsAreDumpedAsWritten(t *testing.T) {
	for _, hosts := range []string{"hosts: all", "hosts: []", "hosts: [J, {centre: Ics, actions: [add]}]"} {
		cfg, err := Load(write(t, source+"    "+hosts+"\n"), nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := cfg.Dump()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), hosts+"\n") {
			t.Errorf("%s is dumped otherwise:\n%s", hosts, text)
		}
	}
}
