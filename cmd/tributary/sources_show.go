package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/screen"
	"tributary/producers/sources"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
)

func newSourcesShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show SOURCE", Short: "Show how a source is defined, by whom, how it stands, when it is polled next, and what its last check found",
		Long: "Show how a source is defined, by whom, how it stands, and the next five times at which it is polled, if all goes well and\n" +
			"nothing changes, in its time zone and UTC: intervals are spread around them (schedule.jitter). The first poll of a source that is new, or reached in another way,\n" +
			"is its check: each step is shown with its time, and what to do where it failed. So is what a poll met that failed.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return c.askServer(server, nil, func(r *client.Client) error {
				s, err := r.Standing(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.tell(*output, s.Standing, func(w io.Writer) error {
					_, err := io.WriteString(w, screen.Text(s.Text))
					return err
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			all, err := knownSources(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			beside, err := s.besideOf(cmd.Context(), all[0])
			if err != nil {
				return err
			}
			return c.tell(*output, shownSource(all[0], beside), func(w io.Writer) error {
				text, err := s.sourceText(cmd.Context(), all[0], beside)
				if err != nil {
					return err
				}
				_, err = io.WriteString(w, text)
				return err
			})
		})
	}
	return cmd
}

// sourceText is a source as it is shown to people.
func (s *stores) sourceText(ctx context.Context, st control.Standing, beside besideSource) (string, error) {
	src, err := config.ParseDefinition(st.Definition)
	if err != nil {
		return "", err
	}
	text, err := config.SourcesYAML([]config.Source{src})
	return standingText(st) + beside.text() + expectedText(ctx, s.Tracker, st.ID) + screen.Text(string(text)), err
}

// shownSource is a source as -o json writes it.
func shownSource(s control.Standing, beside besideSource) map[string]any {
	out := map[string]any{"source": s.ID, "state": s.State, "declared": s.Declared, "server": s.Server, "failed_polls": s.FailedPolls, "overruns": s.Overruns, "polled": s.Polled, "today": beside.taken, "reputation": beside.known}
	if s.SuspendedAt != nil {
		out["suspended_at"], out["suspended_why"] = s.SuspendedAt, s.SuspendedWhy
	}
	if s.FailedPolls > 0 {
		out["failed_classes"] = s.FailedClasses
	}
	if s.Checked != nil {
		out["checked"] = s.Checked
	}
	if beside.pace != nil {
		out["throttled"] = beside.pace
	}
	if beside.done != nil {
		out["done_with"] = beside.done
	}
	showTimes(out, timesOf(s, now()))
	if c := completePollsOf(s); c != nil {
		out["complete_polls"] = c
	}
	if c := clockOf(s); c != nil {
		out["clock"] = c
	}
	var keys map[string]any
	if json.Unmarshal([]byte(s.Definition), &keys) == nil {
		out["definition"] = keys
	}
	return out
}

// standingText says how a source stands, for people.
func standingText(s control.Standing) string {
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
	b.WriteString(timesText(s, timesOf(s, now())))
	if text := s.Clock.Text(); text != "" {
		b.WriteString("its server: " + text + "\n")
	}
	if s.Clock.Skew != 0 {
		fmt.Fprintf(&b, "%s: since %s\n", schemas.NoteClockSkewed, s.Clock.Since.UTC().Format("2006-01-02 15:04:05Z"))
	}
	b.WriteString(checkText(s))
	return b.String()
}

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
		text += stepText(step)
	}
	if s.Checked.Passed && !s.Passed {
		text += "defined otherwise since: the next poll checks it\n"
	}
	return text
}

func newSourcesExport(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "export [SOURCE …]", Short: "Write sources as a file that the configuration or apply reads",
		Long: "Write how all sources (or those named) are defined now, as YAML below sources: for the configuration, or for tributary\n" +
			"sources apply. Secrets are references, and relative paths have become absolute.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
				all, err := knownSources(cmd.Context(), s, args)
				if err != nil {
					return err
				}
				var defined []config.Source
				for _, st := range all {
					src, err := config.ParseDefinition(st.Definition)
					if err != nil {
						return err
					}
					src.State = st.DeclaredState
					defined = append(defined, src)
				}
				text, err := config.SourcesYAML(defined)
				if err != nil {
					return err
				}
				_, err = c.stdout.Write(text)
				return err
			})
		},
	}
}

// knownSources are those that control has and that are not removed, by id, or those
// named of them.
func knownSources(ctx context.Context, s *stores, ids []string) ([]control.Standing, error) {
	all, err := control.Standings(ctx, s.Control)
	if err != nil {
		return nil, err
	}
	byID := map[string]control.Standing{}
	var present []control.Standing
	for _, st := range all {
		if st.State != control.SourceRemoved {
			byID[st.ID] = st
			present = append(present, st)
		}
	}
	if len(ids) == 0 {
		return present, nil
	}
	out := make([]control.Standing, 0, len(ids))
	for _, id := range ids {
		st, known := byID[id]
		if !known {
			return nil, usage(fmt.Errorf("%s: %w", id, sources.ErrUnknown))
		}
		out = append(out, st)
	}
	return out, nil
}

func newSourcesHistory(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history SOURCE", Short: "List how a source was from time to time, who changed it, and why",
		Long: "List how a source was from time to time: its state, who changed it and why, and which keys of its definition changed.\n" +
			"With -o json each has the whole definition. From the tracker, table source_revision.",
		Args: cobra.ExactArgs(1),
	}
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if server.given() {
			return listServer(cmd.Context(), c, server, nil, *output, report.SourceRevisionHeader(), func(ctx context.Context, r *client.Client, each func(report.SourceRevision) error) error {
				return r.SourceRevisions(ctx, args[0], each)
			})
		}
		return listTracker(cmd.Context(), c, *output, report.SourceRevisionHeader(), func(ctx context.Context, q pg.Querier, each func(report.SourceRevision) error) error {
			return report.SourceRevisions(ctx, q, args[0], each)
		})
	}
	return cmd
}
