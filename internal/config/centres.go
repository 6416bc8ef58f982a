package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxCentre bounds the short name of a centre that people define, in bytes, and
// maxParticular each other value.
const (
	maxCentre     = 63
	maxParticular = 4096
)

// Definition is the centre as one line of JSON with the keys of the configuration.
// What has its default is left out.
func (c Centre) Definition() (string, error) {
	if c.Active != nil && *c.Active {
		c.Active = nil
	}
	return definition(c, "centre "+c.ShortName)
}

// UpdateCentre returns the centre with other values, as a list of one that Parse
// reads. A value is KEY=VALUE with a key of the configuration; without VALUE the key
// has its default again.
func UpdateCentre(c Centre, values []string) ([]byte, error) {
	is, err := node(c, "centre "+c.ShortName)
	if err != nil {
		return nil, err
	}
	for _, pair := range values {
		key, text, ok := strings.Cut(pair, "=")
		switch {
		case !ok || key == "":
			return nil, fmt.Errorf("%q is no KEY=VALUE: write a key of a centre, as in email=data@example.org", pair)
		case key == "short_name":
			return nil, fmt.Errorf("short_name=%s: a short name stays: add another centre, and remove this one", text)
		case text == "":
			set(is, key, nil)
		default:
			value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
			if key == "active" {
				value.Tag = ""
			}
			set(is, key, value)
		}
	}
	return listed("centres", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{is}})
}

// CentresYAML writes centres as a configuration lists them, without what has its
// default.
func CentresYAML(all []Centre) ([]byte, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range all {
		n, err := node(c, "centre "+c.ShortName)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, n)
	}
	return listed("centres", list)
}

// plainCentres records what no centre that people define may have.
func (d *decoder) plainCentres(all []Centre) {
	for i, c := range all {
		at := item("centres", i)
		if name := c.ShortName; len(name) > maxCentre || hidden(name) || strings.ContainsAny(name, "/ \n") {
			d.problem(at+".short_name", "%q is not a plain name: use up to %d letters, digits and other signs of file names", c.ShortName, maxCentre)
		}
		if slices.ContainsFunc([]string{c.FullName, c.Email, c.Phone, c.Address, c.IMITSName}, func(text string) bool {
			return len(text) > maxParticular || hidden(text)
		}) {
			d.problem(at, "a value has more than %d bytes, or characters that can't be shown: correct it", maxParticular)
		}
	}
}

// hidden tells whether a text for people holds what can't be shown. It may have lines.
func hidden(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' })
}
