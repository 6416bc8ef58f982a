package standing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/screen"
	"tributary/producers/donewith"
	"tributary/queries/expect"
	"tributary/queries/report"
	"tributary/sql/control"
)

// classesText says of which classes the errors of failed polls are.
func classesText(classes map[string]int) string {
	text := ""
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		text += fmt.Sprintf(", %s %d", class, classes[class])
	}
	if text == "" {
		return ""
	}
	return " (" + text[2:] + ")"
}

// checkText tells what a source's last check by a poll found, for people.
func checkText(s control.Standing) string {
	if s.Checked == nil {
		return "not checked yet: its first poll does that, before it takes anything\n"
	}
	found := "passed"
	if !s.Checked.Passed {
		found = "failed"
	}
	text := fmt.Sprintf("checked at %s by session %d: %s\n", s.Checked.At.UTC().Format("2006-01-02 15:04:05Z"), s.Checked.Session, found)
	var steps []remote.Step
	if err := json.Unmarshal(s.Checked.Steps, &steps); err != nil {
		return text + "  its steps were written by a newer version\n"
	}
	for _, step := range steps {
		text += StepText(step)
	}
	if s.Checked.Passed && !s.Passed {
		text += "defined otherwise since: the next poll checks it\n"
	}
	return text
}

// StepText is a step of a check, for people.
func StepText(step remote.Step) string {
	mark := "ok    "
	if !step.OK {
		mark = "FAILED"
	}
	text := fmt.Sprintf("  %s  %s: %s (%d ms)\n", mark, strings.ReplaceAll(step.Name, "_", " "), screen.Line(step.Detail), step.Milliseconds)
	if step.Remedy != "" {
		text += fmt.Sprintf("          %s\n", screen.Line(step.Remedy))
	}
	return text
}

// doneWithText is what becomes at a source of files that are inserted, for people.
func doneWithText(id string, d *donewith.Stand) string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	how := fmt.Sprintf("only shown: tributary sources act %s --seen %q has it done", id, screen.Line(d.Seen))
	if d.Acting {
		how = "it is done, " + screen.Line(d.Ordered)
	}
	fmt.Fprintf(&b, "done with files that are inserted: %s (%s)\n", screen.Line(d.Rule), how)
	for _, n := range d.Files {
		fmt.Fprintf(&b, "  %s: %s files\n", donewith.Words(n), donewith.Number(n))
	}
	return b.String()
}

// Expected says when new files of a source are expected, and what is not as it was
// before, for people. That the tracker can't say so hides nothing else.
func Expected(ctx context.Context, tracker pg.Querier, source string) string {
	var text string
	err := expect.Sources(ctx, tracker, source, func(e expect.Expectation) error {
		if e.Next != nil {
			text = fmt.Sprintf("new files are expected at %s, and late after %s\n", inZone(*e.Next), inZone(*e.LateAfter))
		}
		for _, f := range e.Findings {
			text += fmt.Sprintf("%s: %s\n", f.Finding, f.Message)
		}
		return nil
	})
	if unheard := (*report.UnknownError)(nil); err != nil && !errors.As(err, &unheard) {
		return "when new files are expected can't be said: " + screen.Line(err.Error()) + "\n"
	}
	return text
}
