package docs

import (
	"regexp"
	"strings"
)

// command is one that a page shows, with the output that the page shows for it.
type command struct {
	page   string
	line   int // in the page, from 1
	text   string
	output string // what a fence without a language directly behind it holds
}

// fails tells whether the page shows the command's error: it ends with it then.
func (c command) fails() bool {
	lines := strings.Split(strings.TrimSpace(c.output), "\n")
	return strings.HasPrefix(lines[len(lines)-1], "tributary: ")
}

var shown = regexp.MustCompile(`^ {4,}((?:tributary|make) .*)$`)

// commands finds the commands of a page: lines that are indented by four blanks
// or more and begin with a program of ours. A fence without a language that
// follows with nothing but empty lines between is the output of the last one.
func commands(page, text string) (out []command) {
	lines := strings.Split(text, "\n")
	last := -1 // index in out of the command that a fence may follow
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch m := shown.FindStringSubmatch(line); {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			end := i + 1
			for end < len(lines) && strings.TrimSpace(lines[end]) != "```" {
				end++
			}
			if last >= 0 && line == "```" {
				out[last].output = strings.Join(lines[i+1:end], "\n")
			}
			i, last = end, -1
		case m != nil:
			text, _, _ := strings.Cut(m[1], "  #")
			out = append(out, command{page: page, line: i + 1, text: strings.TrimSpace(text)})
			last = len(out) - 1
		case strings.TrimSpace(line) != "":
			last = -1
		}
	}
	return out
}
