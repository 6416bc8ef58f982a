// Package ledger is a model of what holds when many documents speak about the
// same keys: a few maps and sorts, for the oracles of tests. It knows what
// docs/explanation says of claims, and shares no code with what it judges.
package ledger

import (
	"cmp"
	"slices"
)

// Version is the version key: what decides which of two claims holds. Fields
// compare in this order.
type Version struct {
	FileDate string
	FileInc  int
	DocDate  string
	DocInc   int
	Action   string
	File     string
	Document string
	Upload   int // which upload of the file, from 0
}

func action(a string) int { return slices.Index([]string{"add", "edit", "delete"}, a) }

func (a Version) compare(b Version) int {
	return cmp.Or(
		cmp.Compare(a.FileDate, b.FileDate), cmp.Compare(a.FileInc, b.FileInc),
		cmp.Compare(a.DocDate, b.DocDate), cmp.Compare(a.DocInc, b.DocInc),
		cmp.Compare(action(a.Action), action(b.Action)), cmp.Compare(a.File, b.File),
		cmp.Compare(a.Document, b.Document), cmp.Compare(a.Upload, b.Upload))
}

// Document is one document of one upload of a file.
type Document struct {
	Version Version
	Archive string // sha256 of the upload
	Fails   bool   // it ended before it was loaded: it claims nothing
	Unload  bool   // its version was unloaded: it is withdrawn, and withdraws nothing
	Claims  []*Claim

	// Withdrawn is set by Judge: a later upload replaced the document or lacks it.
	Withdrawn bool
}

// Name is the document's place: action, file and entry.
func (d *Document) Name() string {
	return d.Version.Action + "/" + d.Version.File + "/" + d.Version.Document
}

func (d *Document) file() string { return d.Version.Action + "/" + d.Version.File }

// Claim is what one document says about one key: this is it, or it is gone.
type Claim struct {
	Type    string // of record
	Key     string // one of a kind in its type
	Content string // equal where nothing differs
	Line    int    // where it begins

	// Judge sets the rest.
	Doc     *Document
	Gone    bool   // the document deletes
	Current bool   // it holds
	Finding string // what follows from earlier claims on the key; empty for nothing
}

// The findings that follow from claims.
const (
	AlreadyPresent  = "already_present"   // info
	Resubmitted     = "resubmitted"       // warn
	EditOfUnknown   = "edit_of_unknown"   // warn
	DeleteOfUnknown = "delete_of_unknown" // warn
)

// Judge says what holds when all documents have been taken in, whatever came
// first. All uploads of a file must be there, each with all of its documents.
func Judge(docs []*Document) []*Claim {
	withdraw(docs)
	keys := map[string][]*Claim{}
	var all []*Claim
	for _, d := range docs {
		if d.Fails {
			continue
		}
		for _, c := range d.Claims {
			c.Doc, c.Gone, c.Current, c.Finding = d, d.Version.Action == "delete", false, ""
			all = append(all, c)
			if !d.Withdrawn {
				id := c.Type + "\x00" + c.Key
				keys[id] = append(keys[id], c)
			}
		}
	}
	for _, claims := range keys {
		slices.SortFunc(claims, func(a, b *Claim) int { return a.Doc.Version.compare(b.Doc.Version) })
		top := claims[len(claims)-1]
		top.Current = !top.Gone
		for i, c := range claims {
			var before *Claim
			if i > 0 {
				before = claims[i-1]
			}
			c.Finding = finding(c, before)
		}
	}
	return all
}

// withdraw marks what later uploads of the same file replaced, or lack. One
// that is there and failed withdraws nothing, and so does one that is unloaded.
func withdraw(docs []*Document) {
	uploads := map[string]map[int]bool{} // of a file
	loaded := map[string]map[int]bool{}  // of a document: true if it was, false if it failed
	for _, d := range docs {
		if d.Unload {
			continue
		}
		file, name, n := d.file(), d.Name(), d.Version.Upload
		if uploads[file] == nil {
			uploads[file] = map[int]bool{}
		}
		if loaded[name] == nil {
			loaded[name] = map[int]bool{}
		}
		uploads[file][n], loaded[name][n] = true, !d.Fails
	}
	for _, d := range docs {
		d.Withdrawn = d.Unload
		for n := range uploads[d.file()] {
			if was, there := loaded[d.Name()][n]; n > d.Version.Upload && (!there || was) {
				d.Withdrawn = true
			}
		}
	}
}

func finding(c, before *Claim) string {
	known := before != nil && !before.Gone
	switch {
	case c.Doc.Version.Action == "edit" && !known:
		return EditOfUnknown
	case c.Gone && !known:
		return DeleteOfUnknown
	case c.Doc.Version.Action == "add" && known && before.Content == c.Content:
		return AlreadyPresent
	case c.Doc.Version.Action == "add" && known:
		return Resubmitted
	}
	return ""
}

// Level of a finding that follows from claims.
func Level(finding string) string {
	if finding == AlreadyPresent {
		return "info"
	}
	return "warn"
}
