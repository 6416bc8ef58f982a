package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shrink leaves out what a seed drew, part by part, as long as a law is broken
// that it breaks without those that are gone already, until no other part can
// go. It returns what is left to play and which parts are gone.
func shrink(try func(without []int) (play, error), whole play, gone []int) (play, []int, error) {
	laws := broken(whole.trace)
	best := whole
	parts := partsOf(whole.trace)
	// Halves go first, then quarters, and so on: most parts have no hand in it.
	for size := (parts + 1) / 2; size > 0; {
		less := false
		left := remaining(parts, gone)
		for chunk := range slices.Chunk(left, size) {
			without := slices.Sorted(slices.Values(slices.Concat(gone, chunk)))
			tried, err := try(without)
			if err != nil {
				return play{}, nil, err
			}
			if !tried.held && slices.ContainsFunc(broken(tried.trace), func(law string) bool { return slices.Contains(laws, law) }) {
				best, gone, less = tried, without, true
			}
		}
		switch {
		case size > 1:
			size /= 2
		case !less:
			size = 0
		}
	}
	return best, gone, nil
}

// broken are the laws that a trace says are broken; a trace that ends without
// naming one breaks the rule that a play ends.
func broken(trace string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^ *[0-9.]+s  LAW +(\w+):`).FindAllStringSubmatch(trace, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	if len(out) == 0 {
		return []string{"end"}
	}
	return out
}

// partsOf is how many parts a seed drew, as the head of its trace says.
func partsOf(trace string) int {
	m := regexp.MustCompile(`, (\d+) parts drawn`).FindStringSubmatch(trace)
	if m == nil {
		return 0 // it ended before it said so
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func remaining(parts int, gone []int) (out []int) {
	for i := range parts {
		if !slices.Contains(gone, i) {
			out = append(out, i)
		}
	}
	return out
}

// firstDifference is the first line in which two traces differ, of both.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n  %s\n  %s", i+1, x[i], y[i])
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("one ends after line %d", min(len(x), len(y)))
	}
	return "the traces are the same, the clock or the randomness drawn is not"
}
