package why

import (
	"fmt"
	"io"
	"strings"

	"tributary/internal/screen"
)

// WriteText writes the answer for people: the sentence, its evidence line by line,
// and what to do.
func (a *Answer) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", screen.Line(a.Sentence))
	for _, e := range a.Evidence {
		at := strings.Repeat(" ", len("2006-01-02 15:04:05Z"))
		if e.At != nil {
			at = moment(*e.At)
		}
		fmt.Fprintf(&b, "  %s  %s\n", at, screen.Line(e.Text))
	}
	if a.Older > 0 {
		fmt.Fprintf(&b, "  %s  %s showed it otherwise before, %s\n", strings.Repeat(" ", len("2006-01-02 15:04:05Z")), screen.Line(a.Source), many(int64(a.Older), "time"))
	}
	if a.Next != "" {
		fmt.Fprintf(&b, "  next: %s\n", screen.Line(a.Next))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// quoted is a name as a shell takes it.
func quoted(name string) string {
	plain := func(r rune) bool {
		return r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
