// Package filter reads what lists of files and documents are narrowed to from
// addresses, whose names and grammar are those of the flags of `tributary files`, and
// says it as that command.
package filter

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/queries/report"
)

// Names are the filters in addresses, in the order in which people are shown them.
func Names() []string {
	return []string{"q", "status", "phase", "centre", "exception", "action", "source", "session", "since", "until", "waiting", "sha256", "qc"}
}

// maxValue bounds the value of a filter in an address, in bytes.
const maxValue = 20 << 10

// Parse reads a filter from the query of an address; moments are seen from now. Other
// parts of the query are not its affair. What can't be is a report.FilterError.
func Parse(query url.Values, now time.Time) (report.Filter, error) {
	for _, name := range append(Names(), "sort", "after", "limit") {
		if v := query.Get(name); len(v) > maxValue {
			return report.Filter{}, &report.FilterError{Filter: name, Value: v[:60] + "…", Want: "this is too long"}
		}
	}
	f := report.Filter{
		Contains: query.Get("q"), Action: query.Get("action"), Centre: query.Get("centre"), Source: query.Get("source"), Phase: query.Get("phase"), Status: query.Get("status"),
		Exception: query.Get("exception"), QC: query.Get("qc"), Session: query.Get("session"), SHA256: query.Get("sha256"), Sort: query.Get("sort"), After: query.Get("after"),
	}
	if strings.Contains(f.Contains, "*") {
		f.Name, f.Contains = f.Contains, ""
	}
	if err := moments(query, now, map[string]*time.Time{"since": &f.Since, "until": &f.Until}); err != nil {
		return f, err
	}
	if v := query.Get("waiting"); v != "" {
		var err error
		if f.Waiting, err = strconv.ParseBool(v); err != nil {
			return f, &report.FilterError{Filter: "waiting", Value: v, Want: "write true, or leave it away"}
		}
	}
	var err error
	if f.Limit, err = limit(query); err != nil {
		return f, err
	}
	return f, f.Check()
}

// Command is the command that lists the same, what being files or documents.
func Command(what string, query url.Values, f report.Filter) string {
	words := []string{"tributary", what}
	if f.Name != "" {
		words = append(words, Quoted(f.Name))
	}
	for _, name := range append(Names(), "sort") {
		v := query.Get(name)
		switch {
		case name == "sort":
			v = f.Sort
		case name == "waiting" && f.Waiting:
			words = append(words, "--waiting")
			continue
		case name == "q" && f.Name != "", name == "waiting", name == "source" && what != "files":
			continue
		}
		if v != "" {
			words = append(words, "--"+name, Quoted(v))
		}
	}
	return strings.Join(words, " ")
}

// Quoted is a word of a command as shells take it.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/+", r)
	}
	if !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
