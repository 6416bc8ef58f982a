// Package standing says how a source stands, from control and, as far as it is there,
// from the tracker: as JSON for programs, and as text for people. Commands, pages and the
// API say the same.
package standing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/producers/donewith"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
)

// Source is a source with all that is told of it, at a moment.
type Source struct {
	is    control.Standing
	at    time.Time
	taken takenUp
	known report.Reputation // by what it is chosen of several that show a file
	done  *donewith.Stand   // nil: nothing is done with what is inserted
	pace  *report.Throttled // how fast it may be asked now; nil: nothing bounds that
}

// Of reads of control what is told of a source beside how it stands.
func Of(ctx context.Context, q pg.Querier, is control.Standing, at time.Time) (*Source, error) {
	taken, err := takenUpOf(ctx, q, is, at)
	if err != nil {
		return nil, err
	}
	choices, err := control.Choices(ctx, q, at, is.ID)
	if err != nil {
		return nil, err
	}
	done, err := donewith.StandOf(ctx, q, is)
	if err != nil {
		return nil, err
	}
	pace, err := report.ThrottledOf(ctx, q, is, at)
	if err != nil {
		return nil, err
	}
	return &Source{is: is, at: at, taken: taken, known: report.ReputationOf(choices[is.ID]), done: done, pace: pace}, nil
}

// Text is the source for people, with what the tracker expects of it, and its definition
// as YAML last. That the tracker can't say so hides nothing else.
func (s *Source) Text(ctx context.Context, tracker pg.Querier) (string, error) {
	src, err := config.ParseDefinition(s.is.Definition)
	if err != nil {
		return "", err
	}
	text, err := config.SourcesYAML([]config.Source{src})
	return standingText(s.is, s.at) + s.pace.Text() + "of several sources that show a file it is chosen by: " + s.known.Text() + "\n" +
		s.taken.text() + doneWithText(s.is.ID, s.done) + Expected(ctx, tracker, s.is.ID) + screen.Text(string(text)), err
}

// Fields is the source for programs, as it becomes JSON.
func (s *Source) Fields() map[string]any {
	is := s.is
	out := map[string]any{"source": is.ID, "state": is.State, "declared": is.Declared, "server": is.Server, "failed_polls": is.FailedPolls, "overruns": is.Overruns, "polled": is.Polled, "today": s.taken, "reputation": s.known}
	if is.SuspendedAt != nil {
		out["suspended_at"], out["suspended_why"] = is.SuspendedAt, is.SuspendedWhy
	}
	if is.FailedPolls > 0 {
		out["failed_classes"] = is.FailedClasses
	}
	if is.Checked != nil {
		out["checked"] = is.Checked
	}
	if s.pace != nil {
		out["throttled"] = s.pace
	}
	if s.done != nil {
		out["done_with"] = s.done
	}
	showTimes(out, timesOf(is, s.at))
	if c := completePollsOf(is); c != nil {
		out["complete_polls"] = c
	}
	if c := clockOf(is); c != nil {
		out["clock"] = c
	}
	if len(is.Twins) > 0 {
		out["name_twins"] = is.Twins
	}
	var keys map[string]any
	if json.Unmarshal([]byte(is.Definition), &keys) == nil {
		out["definition"] = keys
	}
	return out
}

// standingText says how a source stands, for people.
func standingText(s control.Standing, at time.Time) string {
	var b strings.Builder
	who := "defined by a person (tributary sources edit)"
	if s.Declared {
		who = "declared by the configuration"
	}
	fmt.Fprintf(&b, "%s is %s, %s\n", s.ID, s.State, who)
	fmt.Fprintf(&b, "its sessions are counted as those of %s\n", screen.Line(s.Server))
	if s.SuspendedAt != nil {
		fmt.Fprintf(&b, "suspended since %s: %s\n", s.SuspendedAt.UTC().Format("2006-01-02 15:04:05Z"), screen.Line(s.SuspendedWhy))
	}
	if s.FailedPolls > 0 {
		fmt.Fprintf(&b, "polls in a row that failed: %d%s\n", s.FailedPolls, classesText(s.FailedClasses))
	}
	if s.Polled {
		b.WriteString("it is being polled, or waits for its turn\n")
	}
	b.WriteString(timesText(s, timesOf(s, at)))
	if text := s.Clock.Text(); text != "" {
		b.WriteString("its server: " + text + "\n")
	}
	if s.Clock.Skew != 0 {
		fmt.Fprintf(&b, "%s: since %s\n", schemas.NoteClockSkewed, s.Clock.Since.UTC().Format("2006-01-02 15:04:05Z"))
	}
	b.WriteString(twinsText(s.Twins))
	b.WriteString(checkText(s))
	return b.String()
}
