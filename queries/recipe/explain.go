package recipe

import (
	"fmt"
	"io"
	"strings"

	"tributary/sql/history/recipes"
)

// Find finds a recipe by its name, or says what is like it.
func Find(all []recipes.Recipe, name string) (recipes.Recipe, error) {
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	if near := Nearest(all, name); len(near) > 0 {
		return recipes.Recipe{}, fmt.Errorf("there is no report %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return recipes.Recipe{}, fmt.Errorf("there is no report %q: tributary report lists them", name)
}

// Explain writes all that is known of a recipe.
func Explain(w io.Writer, r recipes.Recipe) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\nparameters\n", r.Name, r.Question, r.Counts)
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "  --%s  %s%s\n", p.Name, p.Meaning, parameterNote(p))
	}
	b.WriteString("\ncolumns\n")
	for _, col := range r.Columns {
		fmt.Fprintf(&b, "  %s  %s\n", col.Name, col.Meaning)
	}
	fmt.Fprintf(&b, "\nexample: tributary report %s\n  %s\n\nstatement\n%s\n", strings.TrimSpace(r.Name+" "+r.Arguments), strings.ReplaceAll(r.Example, "\n", "\n  "), r.Statement)
	_, err := io.WriteString(w, b.String())
	return err
}

// parameterNote says what else there is to say of a parameter.
func parameterNote(p recipes.Parameter) string {
	var notes []string
	if len(p.Choices) > 0 {
		notes = append(notes, strings.Join(p.Choices, ", "))
	}
	if p.Default != "" {
		notes = append(notes, "default "+p.Default)
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}
