// Package recipes holds the questions that people ask the history most, each
// in a file of SQL whose head says what is asked, what counts, which
// parameters there are and what the columns mean, with an example.
//
// Parameters are ClickHouse's own: the statement names them as {name:Type},
// and the database puts the values in. Phases and statuses are named as
// everywhere in SQL, {phase xsd} and {status done}; the database gets their numbers.
package recipes

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tributary/schemas"
)

//go:embed *.sql
var files embed.FS

// The kinds of parameters.
const (
	Moment   = "moment"   // a point in time, DateTime64(6, 'UTC')
	Text     = "text"     // a String; empty: whatever it is
	Number   = "number"   // a UInt32
	Duration = "duration" // in whole seconds, a UInt32
	Choice   = "choice"   // one of several words, a String
)

// Recipe is a question and the statement that answers it.
type Recipe struct {
	Name       string
	Question   string
	Counts     string // what counts, and how often
	Parameters []Parameter
	Columns    []Column
	Plot       *Plot  // nil if no picture says more
	Arguments  string // of the example
	Example    string // what the command prints for it
	Statement  string
}

// Parameter is what a recipe can be given.
type Parameter struct {
	Name    string
	Kind    string
	Choices []string // of a Choice
	Default string   // empty for moments and texts: everything
	Meaning string
}

// Column is a column of the answer.
type Column struct{ Name, Meaning string }

// Plot says how to draw the answer: its kind (line, scatter or bars), the
// columns of both axes, and the one that tells series apart, if any.
type Plot struct{ Kind, X, Y, Series string }

// All returns every recipe, by name. An error means that a file of this
// package breaks the form.
func All() ([]Recipe, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("recipes: %w", err)
	}
	out := make([]Recipe, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("recipes: %w", err)
		}
		r, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("recipe %s: %w", name, err)
		}
		if r.Name+".sql" != name {
			return nil, fmt.Errorf("recipe %s calls itself %q", name, r.Name)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Recipe) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Parameter returns the recipe's parameter of that name.
func (r Recipe) Parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(r.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return r.Parameters[i], true
}

// Column tells whether the recipe has a column of that name.
func (r Recipe) Column(name string) bool {
	return slices.ContainsFunc(r.Columns, func(c Column) bool { return c.Name == name })
}

// parse reads a recipe: lines of comment, each with a key, and the statement
// after them.
func parse(text string) (Recipe, error) {
	var r Recipe
	var example []string
	lines := strings.Split(text, "\n")
	n := 0
	for ; n < len(lines) && strings.HasPrefix(lines[n], "--"); n++ {
		line := strings.TrimPrefix(strings.TrimPrefix(lines[n], "--"), " ")
		if shown, ok := strings.CutPrefix(line, "|"); ok {
			example = append(example, strings.TrimPrefix(shown, " "))
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return r, fmt.Errorf("line %d of the head has no key", n+1)
		}
		if err := r.set(key, strings.TrimSpace(value)); err != nil {
			return r, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	r.Example = strings.Join(example, "\n")
	r.Statement = schemas.Numbered(strings.TrimSpace(strings.Join(lines[n:], "\n")))
	return r, r.check()
}

func (r *Recipe) set(key, value string) error {
	word, rest, _ := strings.Cut(key, " ")
	switch word {
	case "recipe":
		r.Name = value
	case "question":
		r.Question = value
	case "counts":
		r.Counts = value
	case "parameter":
		p := Parameter{Meaning: value}
		declared, def, _ := strings.Cut(rest, " = ")
		p.Default = def
		fields := strings.Fields(declared)
		if len(fields) < 2 {
			return fmt.Errorf("a parameter needs a name and a kind: %q", rest)
		}
		p.Name, p.Kind = fields[0], fields[1]
		if len(fields) > 2 {
			p.Choices = strings.Split(fields[2], "|")
		}
		r.Parameters = append(r.Parameters, p)
	case "column":
		r.Columns = append(r.Columns, Column{rest, value})
	case "plot":
		fields := append(strings.Fields(value), "")
		if len(fields) < 4 {
			return fmt.Errorf("a plot needs a kind and two columns: %q", value)
		}
		r.Plot = &Plot{fields[0], fields[1], fields[2], fields[3]}
	case "example":
		r.Arguments = strings.TrimSpace(strings.TrimPrefix(value, "tributary report "+r.Name))
	default:
		return fmt.Errorf("unknown key %q", word)
	}
	return nil
}

func (r *Recipe) check() error {
	if r.Name == "" || !strings.HasSuffix(r.Question, "?") || r.Counts == "" || len(r.Columns) == 0 || r.Example == "" || r.Statement == "" {
		return fmt.Errorf("name, question, what counts, columns, an example and a statement are needed")
	}
	for _, p := range r.Parameters {
		switch p.Kind {
		case Moment, Text:
		case Number, Duration, Choice:
			if p.Default == "" || p.Kind == Choice && !slices.Contains(p.Choices, p.Default) {
				return fmt.Errorf("parameter %s needs a default", p.Name)
			}
		default:
			return fmt.Errorf("parameter %s is of an unknown kind %q", p.Name, p.Kind)
		}
		if !strings.Contains(r.Statement, "{"+p.Name+":") {
			return fmt.Errorf("the statement does not use parameter %s", p.Name)
		}
	}
	if p := r.Plot; p != nil && (!r.Column(p.X) || !r.Column(p.Y) || p.Series != "" && !r.Column(p.Series)) {
		return fmt.Errorf("the plot names columns that are not there")
	}
	return nil
}
