package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Headers and cells of what is listed, for tables and CSV. Absent values are
// empty.

// FileHeader names the cells of a file.
func FileHeader() []string {
	return []string{"file", "action", "centre", "source", "phase", "status", "exception", "attempts", "size", "version", "message"}
}

// Cells are the file as FileHeader orders it.
func (f File) Cells() []string {
	return []string{f.File, f.Action, text(f.Centre), text(f.Source), f.Phase, f.Status, text(f.Exception), strconv.Itoa(f.Attempts), number(f.Size), short(f.Version), text(f.Message)}
}

// DocumentHeader names the cells of a document.
func DocumentHeader() []string {
	return []string{"document", "file", "action", "centre", "phase", "status", "errors", "first error"}
}

// Cells are the document as DocumentHeader orders it.
func (d Document) Cells() []string {
	first := ""
	if len(d.Errors) > 0 {
		first = d.Errors[0].String()
	}
	return []string{d.Document, d.File, d.Action, text(d.Centre), d.Phase, d.Status, strconv.Itoa(len(d.Errors)), first}
}

// String is the error with its place, as compilers write it.
func (e Error) String() string {
	var b strings.Builder
	if e.Line != nil {
		fmt.Fprintf(&b, "%d:", *e.Line)
		if e.Column != nil {
			fmt.Fprintf(&b, "%d:", *e.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(e.Exception)
	if m := text(e.Message); m != "" {
		b.WriteString(": " + m)
	}
	return b.String()
}

// SourceHeader names the cells of a source.
func SourceHeader() []string {
	return []string{"source", "centre", "protocol", "hostname", "base path", "state", "files", "last poll", "poll", "exception", "message"}
}

// Cells are the source as SourceHeader orders it.
func (s Source) Cells() []string {
	hostname := text(s.Hostname)
	if s.Server != "" {
		hostname += " (counted as " + s.Server + ")"
	}
	return []string{s.Source, text(s.Centre), text(s.Protocol), hostname, text(s.BasePath), text(s.State), strconv.FormatInt(s.Files, 10),
		moment(s.LastPoll), text(s.Poll), text(s.Exception), text(s.Message)}
}

// CentreHeader names the cells of a centre.
func CentreHeader() []string {
	return []string{"centre", "full name", "active", "sources", "files", "done", "failed", "open", "documents"}
}

// Cells are the centre as CentreHeader orders it.
func (c Centre) Cells() []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{c.Centre, text(c.FullName), strconv.FormatBool(c.Active), n(c.Sources), n(c.Files), n(c.Done), n(c.Failed), n(c.Open), n(c.Documents)}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// short is as much of a hash as people compare.
func short(s *string) string {
	v := text(s)
	return v[:min(len(v), 12)]
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
