// Package centrereport makes the report that is sent to a centre: its files,
// what is wrong with each in its own words with line and column, what to do
// about it, what is still pending and why, and what was loaded. It reads the
// tracker and the findings of the warehouse, and writes text or one
// self-contained HTML page. Whatever the centre has sent, the report is
// bounded: where something is left out, it says how much.
package centrereport

import (
	"errors"
	"time"

	"tributary/queries/report"
)

// ErrNoCentre says that the tracker knows no such centre.
var ErrNoCentre = errors.New("no such centre")

// Limits bound a report. What goes beyond them is counted, not listed.
type Limits struct {
	Files     int // files listed with what is wrong with them, and of each other list
	Documents int // documents of one file
	Errors    int // errors of one document
	Lines     int // errors of the whole report
}

// DefaultLimits are limits that make a report of a few megabytes at most.
func DefaultLimits() Limits {
	return Limits{Files: 500, Documents: 100, Errors: 50, Lines: 20_000}
}

// Advice says what an exception or a finding means, and what whoever made the
// file can do about it. Both are sentences, and may be empty.
type Advice struct {
	Meaning, Remedy string
}

// Options say what a report is about.
type Options struct {
	// Centre is the centre's short name; capitals don't matter.
	Centre string
	// Since leaves out files about which nothing happened since then, unless
	// it is zero.
	Since time.Time
	// Now is when the report is made.
	Now time.Time
	// Limits bound it; zero fields are those of DefaultLimits.
	Limits Limits
	// Explain says what a name means; nil for nothing.
	Explain func(name string) Advice
}

// Report is what is sent to a centre.
type Report struct {
	Centre   string
	FullName string
	Email    string
	Made     time.Time
	Since    *time.Time

	// Files and Documents count how they stand.
	Files, Documents []report.Count
	// Findings count the open findings of data checks.
	Findings []FindingCount
	// Records count what holds now in the warehouse, by table.
	Records []RecordCount
	// Sources are the servers that the centre runs.
	Sources []report.Source

	// Hostings say where its files lie, its own sources first.
	Hostings []Hosting

	// Problems are the files with something wrong, by name.
	Problems []File
	// Pending are the files that have not ended, the oldest first.
	Pending []report.Pending
	// Loaded are the files that went in whole, the newest first.
	Loaded []Loaded
	// ProblemsLeft, PendingLeft and LoadedLeft count what is not listed.
	ProblemsLeft, PendingLeft, LoadedLeft int64
	// Meanings explain the names that the report mentions, by name.
	Meanings []Meaning
	// Phases explain through what files and documents pass, in order.
	Phases []Meaning
}

// Hosting says what one source shows of the centre's files.
type Hosting struct {
	Source string
	// RunBy is the centre that runs the source; empty if that is not known.
	RunBy string
	// Own says that it is the centre's own source.
	Own bool
	// Shown are the files that it shows and may show, Fetched those that are in
	// hand from it, Refused those that it shows and may not (centre_not_hosted_here).
	Shown, Fetched, Refused int64
}

// FindingCount is how many findings of one data check are open.
type FindingCount struct {
	Test, Level string
	Count       int64
}

// RecordCount is how many records of a table hold now.
type RecordCount struct {
	Table string
	Count int64
}

// Meaning explains a name.
type Meaning struct {
	Name string
	Advice
}

// File is a file with something wrong.
type File struct {
	File, Action, Phase, Status string
	// Exception and Message say what is wrong with the file itself; empty when
	// it is only its documents.
	Exception, Message string
	// Attempts is how often it was tried to fetch it.
	Attempts int
	// Last is when something last happened to it; zero if that is not known.
	Last time.Time
	// Documents are those with something wrong, by name.
	Documents []Document
	// DocumentsLeft counts those that are not listed.
	DocumentsLeft int64
}

// Document is a document with something wrong.
type Document struct {
	Document, Phase, Status string
	// Earlier says that it is of an earlier version of the file, which is still
	// what is loaded.
	Earlier bool
	// Errors are the first, by level and position.
	Errors []Error
	// Left counts those that are not listed.
	Left int64

	exception, message string
}

// Error is one error or finding.
type Error struct {
	Line, Column int    // from 1; 0 where there is none
	Level        string // error, warn or info
	Name         string
	Message      string
	Record       string // the record's table and natural key, for findings
}

// Loaded is a file that went in whole.
type Loaded struct {
	File, Action string
	Documents    int64
	Rows         int64
	Last         time.Time // zero if that is not known
}

// Total sums counts.
func Total(counts []report.Count) int64 {
	var n int64
	for _, c := range counts {
		n += c.Count
	}
	return n
}
