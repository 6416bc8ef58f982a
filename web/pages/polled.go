package pages

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tributary/queries/report"
)

// polledWords are what polls count, in the order in which it is told, and the words for it.
func polledWords() [][2]string {
	return [][2]string{
		{"listed", "listed"}, {"new", "new"}, {"changed", "changed"}, {"gone", "gone"}, {"taken", "taken up"}, {"unsettled", "not settled yet"},
		{"postponed", "left to the next poll"}, {"rejected", "with a name that is refused"}, {"not_hosted", "of a centre that it may not show"},
		{"refused", "refused"}, {"ignored", "ignored"}, {"name_twins", "with a name that differs from another only in case or accents"},
	}
}

// unsaid is what polls tell for programs, or what the page of a source shows elsewhere.
func unsaid() []string {
	return []string{"clock", "largest", "listing", "listing_base", "revision", "taken_bytes"}
}

// polled is what a poll counted, in a sentence. What has no words here keeps its name.
func polled(p report.Poll) string {
	var out []string
	left := maps.Clone(p.Counts)
	maps.DeleteFunc(left, func(name, n string) bool { return n == "" || n == "0" || slices.Contains(unsaid(), name) })
	if left["end"] == "complete" { // as polls usually end
		delete(left, "end")
	}
	for _, w := range polledWords() {
		n := left[w[0]]
		delete(left, w[0])
		if n == "" {
			continue
		}
		if number, err := strconv.ParseInt(n, 10, 64); err == nil {
			n = count(number)
		}
		text := n + " " + w[1]
		if bytes, err := strconv.ParseInt(p.Counts["taken_bytes"], 10, 64); w[0] == "taken" && err == nil {
			text += " (" + size(bytes) + ")"
		}
		out = append(out, text)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, strings.ReplaceAll(name, "_", " ")+": "+left[name])
	}
	return strings.Join(out, ", ")
}
