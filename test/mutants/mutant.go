package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Mutant is a wrong program and the test that must notice.
type Mutant struct {
	Name    string
	Breaks  string // the law or promise, in one sentence
	Package string // with the test, such as ./internal/stage
	Test    string // its name, or a pattern as -run takes it; subtests by a slash
	Hangs   bool   // the test may also fail by its time-out
	Edits   []Edit
}

// Edit replaces a text that a file holds exactly once.
type Edit struct {
	File string // from the module's root
	Find string // whole lines
	With string // whole lines; none takes the text away
}

// id names the mutant's test among all.
func (m Mutant) id() string { return m.Package + " " + m.Test }

// tests are the names of the tests, without those of subtests.
func (m Mutant) tests() []string {
	name, _, _ := strings.Cut(m.Test, "/")
	return strings.Split(name, "|")
}

//go:embed programs/*.txt
var programs embed.FS

// Load reads all mutants, in the order of their names.
func Load() ([]Mutant, error) {
	entries, err := programs.ReadDir("programs")
	if err != nil {
		return nil, fmt.Errorf("list the mutants: %w", err)
	}
	var out []Mutant
	for _, e := range entries {
		text, err := programs.ReadFile(path.Join("programs", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a mutant: %w", err)
		}
		m, err := parse(strings.TrimSuffix(e.Name(), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("programs/%s: %w", e.Name(), err)
		}
		out = append(out, m)
	}
	return out, nil
}

// parse reads a mutant: lines of "key: value", then edits, each a line
// "--- file", the lines to find, a line "+++", and the lines to put there.
func parse(name, text string) (Mutant, error) {
	m := Mutant{Name: name}
	head, edits, _ := strings.Cut(text, "--- ")
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.TrimSpace(line) == "":
		case ok && key == "breaks":
			m.Breaks = value
		case ok && key == "test":
			m.Package, m.Test, _ = strings.Cut(value, " ")
		case ok && key == "hangs" && value == "yes":
			m.Hangs = true
		default:
			return m, fmt.Errorf("cannot read the line %q", strings.TrimSpace(line))
		}
	}
	for part := range strings.SplitSeq("\n"+edits, "\n--- ") {
		file, body, ok := strings.Cut(strings.TrimPrefix(part, "\n"), "\n")
		find, with, both := strings.Cut(body, "+++\n")
		if !ok || !both || strings.TrimSpace(find) == "" {
			return m, errors.New(`an edit is "--- file", lines to find, "+++", lines to put there`)
		}
		if with != "" && !strings.HasSuffix(with, "\n") {
			with += "\n"
		}
		m.Edits = append(m.Edits, Edit{File: strings.TrimSpace(file), Find: find, With: with})
	}
	if m.Breaks == "" || m.Package == "" || m.Test == "" || len(m.Edits) == 0 {
		return m, errors.New("it needs breaks, test (package and name) and an edit")
	}
	return m, nil
}

// Apply returns the changed files by their names. It fails where a text does
// not occur exactly once: then the program has changed, and the mutant must
// follow.
func (m Mutant) Apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits {
		text, ok := changed[e.File]
		if !ok {
			original, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(original)
		}
		// Whole lines: "\n" before the first makes its indentation count.
		find := "\n" + strings.TrimSuffix(e.Find, "\n") + "\n"
		if n := strings.Count("\n"+text, find); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s holds the text to replace %d times, not once: the program has changed, and test/mutants/programs/%s.txt must follow it",
				m.Name, e.File, n, m.Name)
		}
		changed[e.File] = strings.TrimPrefix(strings.Replace("\n"+text, find, "\n"+e.With, 1), "\n")
	}
	return changed, nil
}
