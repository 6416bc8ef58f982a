// Package exception documents every stable exception name that the system gives
// to a file, a download, a document or a poll: in which phase, what has
// happened, and what a data manager should do about it. The packages that give
// the names keep their own constants; a test holds that none is missing here,
// and that none is here that nobody gives. Findings of data checks are
// documented by the checks themselves.
package exception

import (
	"slices"

	"tributary/schemas"
)

// Entry documents one exception.
type Entry struct {
	// Name is the stable name.
	Name string
	// Group is what the exception is about.
	Group Group
	// Phases are where it may stand. It is empty for what has no phase.
	Phases []schemas.Phase
	// Happened says what has happened, as whole sentences.
	Happened string
	// Do says what a data manager should do, as whole sentences.
	Do string
}

// Texts are what has happened, by the names of the exceptions.
func Texts() map[string]string {
	out := map[string]string{}
	for _, e := range All() {
		if out[e.Name] == "" {
			out[e.Name] = e.Happened
		}
	}
	return out
}

// Group is what an exception is about.
type Group string

// The groups, in the order in which files meet them.
const (
	Source       Group = "Sources and downloads"
	FileName     Group = "Names of files"
	Archive      Group = "Archives"
	DocumentName Group = "Names of documents"
	Document     Group = "Documents"
	Loading      Group = "Loading"
	Any          Group = "Any phase"
)

// Groups lists the groups in order.
func Groups() []Group {
	return []Group{Source, FileName, Archive, DocumentName, Document, Loading, Any}
}

// byGroup are the entries of each group, in the order of the groups.
func byGroup() []func() []Entry {
	return []func() []Entry{sources, fileNames, archives, documentNames, documents, loading, anywhere}
}

// Find returns the entry of a name; ok is false for one that is not documented here,
// such as that of a finding. Pages ask for each of their rows.
func Find(name string) (e Entry, ok bool) {
	for _, group := range byGroup() {
		for _, e := range group() {
			if e.Name == name {
				return e, true
			}
		}
	}
	return Entry{}, false
}

// All lists every exception, by group and then by name.
func All() []Entry {
	var all []Entry
	for _, group := range byGroup() {
		all = append(all, group()...)
	}
	order := Groups()
	slices.SortStableFunc(all, func(a, b Entry) int {
		if a.Group != b.Group {
			return slices.Index(order, a.Group) - slices.Index(order, b.Group)
		}
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return all
}
