// Package recipe asks the history the questions of sql/history/recipes: it
// reads what is given for their parameters, and draws their answers.
package recipe

import (
	"cmp"
	"slices"

	"tributary/sql/history/recipes"
)

// Nearest returns the recipes whose names are most like the given one, best
// first; none if none is like it.
func Nearest(all []recipes.Recipe, name string) []string {
	type near struct {
		name string
		at   int
	}
	var found []near
	for _, r := range all {
		if d := distance(name, r.Name); d <= max(2, len(r.Name)/3) {
			found = append(found, near{r.Name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.at, b.at) })
	var out []string
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, f.name)
	}
	return out
}

// distance is how many letters must be put in, left out or replaced to make b
// of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 {
		return len(x) // no name is so long
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
