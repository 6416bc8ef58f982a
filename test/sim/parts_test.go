//go:build synctests

package sim

import (
	"strconv"
	"strings"
)

// parts is how many parts a seed drew: faults at steps, what strikes at a time,
// and files, numbered in this order.
func (s *sim) parts() int { return len(s.faults.steps) + len(s.faults.events) + len(s.scene.files) }

// leaveOut takes parts out of what a seed drew, by their numbers, and changes
// nothing else that is drawn: so a trace is shrunk.
func (s *sim) leaveOut(numbers string) {
	if numbers == "" {
		return
	}
	gone := map[int]bool{}
	for word := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			s.violate("sim", "%s: %v", envWithout, err)
			continue
		}
		gone[n] = true
	}
	f := s.faults
	steps, events := len(f.steps), len(f.events)
	kept := without(f.steps, gone, 0)
	f.steps, f.planned = nil, map[string][]*fault{}
	for _, x := range kept {
		f.plan(x)
	}
	f.events = without(f.events, gone, steps)
	s.scene.files = without(s.scene.files, gone, steps+events)
}

// without are those of all that are not gone; the first has the number from.
func without[T any](all []T, gone map[int]bool, from int) (out []T) {
	for i, x := range all {
		if !gone[from+i] {
			out = append(out, x)
		}
	}
	return out
}
