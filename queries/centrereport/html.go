package centrereport

import (
	"bufio"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"tributary/internal/screen"
)

//go:embed report.html
var page string

// WriteHTML writes the report as one page of HTML that needs nothing else: no
// script, no image, no font, no connection. Everything that others chose is
// escaped.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"plain": screen.Line, "total": Total, "day": day, "describe": describe, "lies": Hosting.text,
		"place":   func(e Error) string { return e.place("") },
		"known":   func(t time.Time) bool { return t.Year() > 1 },
		"where":   func(d Document) string { return strings.Trim(d.where(), "()") },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"minutes": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("template of the report: %w", err)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	data := struct {
		*Report
		Title, Subtitle string
	}{r, r.title(), r.subtitle()}
	if err := t.Execute(b, data); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return b.Flush()
}
