// Package shadow compares what a shadow run has found with what is live, a
// document at a time: verdicts as control knows them, and for what is valid on
// both sides the rows that its mapping makes now with those that the warehouse
// holds. It only reads.
package shadow

import (
	"cmp"

	"tributary/internal/blob"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/schemas"
)

// What would become of a document if the shadow were promoted, in the order of
// reports.
const (
	Unchanged        = "unchanged"
	NewlyValid       = "newly valid"
	NewlyRefused     = "newly refused"
	RefusedOtherwise = "refused otherwise" // for another reason, or with another number of errors
	RowsDiffer       = "rows differ"       // valid before and now, but loaded differently
)

// Verdict is what became of a document in an attempt.
type Verdict struct {
	Attempt   int32  `json:"attempt,omitempty"`
	Result    string `json:"result"` // valid, failed, quarantined; empty: the attempt has no such document
	Phase     string `json:"phase,omitempty"`
	Exception string `json:"exception,omitempty"`
	Errors    int32  `json:"errors,omitempty"` // in all
}

func (v Verdict) valid() bool { return v.Result == schemas.Valid }

// Document is a document of the shadow run and its counterpart that is live.
type Document struct {
	File     string  `json:"-"`
	Archive  string  `json:"version"`
	FileName string  `json:"file"`
	Action   string  `json:"action"`
	Centre   string  `json:"centre"`
	Date     string  `json:"date"` // of the file
	Entry    string  `json:"document"`
	Kind     string  `json:"kind"`
	Change   string  `json:"change"`
	Live     Verdict `json:"live"`
	Shadow   Verdict `json:"shadow"`

	ordinal   int64                      // of its item
	live, now *schemas.DocumentValidated // nil where that side has none
}

// Exception is what the document's end is counted by: why it is refused now, or
// was before; empty if for nothing.
func (d *Document) Exception() string { return cmp.Or(d.Shadow.Exception, d.Live.Exception) }

// Comparer compares. All of it is given.
type Comparer struct {
	Control, Tracker, Warehouse pg.Querier
	Blobs                       blob.Store
	Mapping                     *mapping.Mapping
	Versions                    profile.Versions // of the profile whose Mapping it is
	Codec                       *schemas.Codec
}

// classify says what would become of a document, by its verdicts alone.
func (d *Document) classify() string {
	switch before, now := d.Live, d.Shadow; {
	case before.valid() && now.valid():
		return Unchanged
	case now.valid():
		return NewlyValid
	case before.valid():
		return NewlyRefused
	case before.Result != now.Result || before.Phase != now.Phase || before.Exception != now.Exception || before.Errors != now.Errors:
		return RefusedOtherwise
	}
	return Unchanged
}
