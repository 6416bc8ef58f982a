package config

import (
	"path"
	"strings"
)

// Filter takes or leaves the entries of a source whose path fits a pattern. Exactly
// one of its fields is given. A pattern is as path.Match reads it: * and ? stand for
// anything but a slash, [a-z] for one of these. One with a slash is held against the
// directory and the name (add/*.zip), one without against the name alone.
type Filter struct {
	Include string `yaml:"include,omitempty"`
	Exclude string `yaml:"exclude,omitempty"`
}

// Filters are those of a source, in their order: the first whose pattern fits an
// entry decides, and what none fits is taken.
type Filters []Filter

// Bounds of a source's filters: each entry of a listing is held against all of them.
const (
	maxFilters = 100
	maxPattern = 1000 // bytes
)

// First returns which filter decides about an entry of a directory; -1: none.
func (f Filters) First(directory, name string) int {
	for i, one := range f {
		pattern, of := one.Include+one.Exclude, name
		if strings.Contains(pattern, "/") {
			of = directory + "/" + name
		}
		if ok, err := path.Match(pattern, of); ok && err == nil {
			return i
		}
	}
	return -1
}

// Excluding returns the filter that keeps an entry of a directory from being
// taken; nil: none does.
func (f Filters) Excluding(directory, name string) *Filter {
	if i := f.First(directory, name); i >= 0 && f[i].Exclude != "" {
		return &f[i]
	}
	return nil
}

// String writes the filter as the configuration does.
func (f Filter) String() string {
	if f.Exclude != "" {
		return "exclude: " + f.Exclude
	}
	return "include: " + f.Include
}

func (d *decoder) checkFilters(all Filters, at string) {
	if len(all) > maxFilters {
		d.problem(at, "has %d filters: no more than %d are held against each entry, so put several names into one pattern", len(all), maxFilters)
	}
	for i, f := range all {
		here, pattern := item(at, i), f.Include+f.Exclude
		switch _, err := path.Match(pattern, ""); {
		case (f.Include == "") == (f.Exclude == ""):
			d.problem(here, "needs either include or exclude: write {exclude: '*_test.zip'}, one pattern in each")
		case err != nil:
			d.problem(here, "the pattern %q can't be read: close each [, and write \\ before a *, ? or [ that stands for itself", pattern)
		case len(pattern) > maxPattern:
			d.problem(here, "the pattern has %d bytes, and no name is longer than %d", len(pattern), maxPattern)
		case strings.Contains(pattern, "/") && !actionPattern(pattern):
			d.problem(here, "the pattern %q fits nothing: with a slash it begins with add/, edit/ or delete/ (or */), and the name follows", pattern)
		}
	}
}

// actionPattern tells whether a pattern with a slash can fit an entry: of one of the
// three directories, with a name behind it.
func actionPattern(pattern string) bool {
	directory, name, _ := strings.Cut(pattern, "/")
	if strings.Contains(name, "/") || name == "" {
		return false
	}
	for _, action := range []string{"add", "edit", "delete"} {
		if ok, err := path.Match(directory, action); ok && err == nil {
			return true
		}
	}
	return false
}
