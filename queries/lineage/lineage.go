// Package lineage tells where rows of the warehouse come from, and what came of
// a file: every claim on a natural key with its document, file, version and
// place in it, which of them is current and why the others are not; and the
// reverse. Verify reads a claim's document again from the blob store and holds
// what it says against what the warehouse has.
package lineage

import (
	"errors"
	"fmt"
	"time"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// ErrNotFound says that the warehouse has no such key, row or file.
var ErrNotFound = errors.New("the warehouse has nothing of the kind")

// Reader asks the warehouse, and the tracker for when things happened. It
// changes neither.
type Reader struct {
	Warehouse, Tracker pg.Querier
	Mapping            *mapping.Mapping
	// Limit bounds the claims of a key and the keys of a document that are
	// listed; 0 lists all.
	Limit int
}

// Lineage is where a record, or a row of one, comes from.
type Lineage struct {
	Table string `json:"table"` // of the record; of the row if it lies under none
	Key   []Part `json:"key"`   // the natural key
	ID    string `json:"claim"` // identity of the key
	Row   *Row   `json:"row"`   // that was asked for, nil if it was a key
	// Claims are the claims on the key, the greatest first: what is current is
	// the first that is not withdrawn, unless that says that the key is gone.
	Claims []Claim `json:"claims"`
	Left   int64   `json:"claims_left"` // claims that are not listed
	// Document is that of a row which lies under no record.
	Document *Document `json:"document,omitempty"`
	// Verification is that of Document.
	Verification *Verification `json:"verification,omitempty"`
}

// Part is a column of a natural key.
type Part struct {
	Column string  `json:"column"`
	Value  *string `json:"value"` // nil if the document has none
}

// Row is a row of a document.
type Row struct {
	Table    string  `json:"table"`
	Position int64   `json:"position"`
	Record   int32   `json:"record"` // ordinal of its record; 0 if it lies under none
	Ordinal  int32   `json:"ordinal"`
	Line     int     `json:"line"` // its own, or its record's where Exact is false
	Exact    bool    `json:"line_exact"`
	Values   []Value `json:"values"`
}

// Value is a value of a row, as Postgres writes it.
type Value struct {
	Column string  `json:"column"`
	Value  *string `json:"value"`
}

// The states of claims.
const (
	Current    = "current"    // it holds now
	Tombstone  = "tombstone"  // the greatest claim, which says that the key is gone
	Superseded = "superseded" // a greater claim holds
	Withdrawn  = "withdrawn"  // its document does not count any more
)

// Claim is what one document says about a key.
type Claim struct {
	Position int64  `json:"position"`
	Ordinal  int32  `json:"ordinal"`
	State    string `json:"state"`
	Why      string `json:"why"`
	Deletes  bool   `json:"tombstone"` // it says that the key is gone

	Line     int   `json:"line"`
	Column   int   `json:"column"`
	ByteFrom int64 `json:"byte_from"` // in the document's UTF-8 form without byte order mark
	ByteTo   int64 `json:"byte_to"`

	Fingerprint     string `json:"fingerprint"`
	ContentPosition int64  `json:"content_position"` // whose rows hold the content
	ContentOrdinal  int32  `json:"content_ordinal"`

	Document     Document      `json:"document"`
	Verification *Verification `json:"verification,omitempty"`

	id        string // of the key
	table     string
	key       []*string
	isCurrent bool
}

// Document is a document as the order names it.
type Document struct {
	Position   int64  `json:"position"`
	Document   string `json:"document"` // UUID
	Entry      string `json:"entry"`
	Kind       string `json:"kind"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
	File       string `json:"file"`
	Action     string `json:"action"`
	Version    string `json:"version"` // sha256 of the file
	VersionKey string `json:"version_key"`
	FileDate   string `json:"file_date"` // YYYY-MM-DD
	FileInc    int64  `json:"file_inc"`
	DocDate    string `json:"doc_date"`
	DocInc     int64  `json:"doc_inc"`
	Attempt    int    `json:"attempt"`
	Run        int64  `json:"run"` // 0 is the live one
	Source     string `json:"source"`
	Session    string `json:"session"`
	Centre     string `json:"centre"`
	Batch      int64  `json:"batch"`
	Profile    string `json:"profile"`
	State      string `json:"state"` // loaded or failed
	Phase      string `json:"phase"`
	Exception  string `json:"exception"`
	Rows       int64  `json:"rows"`
	Withdrawn  bool   `json:"withdrawn"`
	Why        string `json:"why,omitempty"` // it is withdrawn

	// What the tracker knows; nil where it doesn't.
	SessionNumber *int64     `json:"session_number"`
	Host          *string    `json:"host"`
	Requested     *time.Time `json:"requested"`
	Received      *time.Time `json:"received"`
	Last          *time.Time `json:"last_update"`

	rank          string
	ordinal       int32
	offset, pack  int64
	method        int32
	crc32         int64
	withdrawnBy   *string
	withdrawnWhat *string
	withdrawnAt   *int64
}

// place names a claim or a row.
func place(position int64, ordinal int32) string { return fmt.Sprintf("%d/%d", position, ordinal) }

// Place is the claim's position and ordinal.
func (c Claim) Place() string { return place(c.Position, c.Ordinal) }
