package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
)

func newReplayList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays, the newest first",
		Long: "List replays, the newest first, with how far each is: what is waiting, under way, complete, failed, and refused, in\n" +
			"files or, from data, in centres. States: running, stopped (until somebody resumes it), done (the warehouse has\n" +
			"applied all that came of it).",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	limit := cmd.Flags().Int("limit", 100, "at most so many; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 {
			return usagef("--limit must not be negative")
		}
		return c.withReplay(cmd.Context(), false, func(_ *replay.Manager, s *stores, _ config.Config) error {
			runs, err := control.ReplayRuns(cmd.Context(), s.Control, *limit)
			if err != nil {
				return err
			}
			out, err := report.NewOutput(c.stdout, *output, "replay", "from", "state", "requested", "by", "items", "waiting", "under way", "complete", "failed", "refused", "shadow", "reason")
			if err != nil {
				return usage(err)
			}
			for i := range runs {
				row, err := readReplay(cmd.Context(), s.Control, &runs[i])
				if err == nil {
					err = out.Row(row, row.cells()...)
				}
				if err != nil {
					return errors.Join(err, out.Close())
				}
			}
			return out.Close()
		})
	}
	return cmd
}

// replayRow is a replay as -o json writes it.
type replayRow struct {
	Replay      int64       `json:"replay"`
	Run         string      `json:"run"`
	Shadow      string      `json:"shadow,omitempty"`      // name of the shadow that its results went to
	Promotes    string      `json:"promotes,omitempty"`    // name of the shadow that it made live
	PromotedBy  int64       `json:"promoted_by,omitempty"` // number of the replay that made this shadow live
	From        string      `json:"from"`
	State       string      `json:"state"`
	Held        string      `json:"held,omitempty"` // why it waits
	Where       string      `json:"where,omitempty"`
	Since       *time.Time  `json:"since,omitempty"`
	Until       *time.Time  `json:"until,omitempty"`
	Offsets     string      `json:"offsets,omitempty"`
	Rate        float64     `json:"rate,omitempty"`
	RequestedAt time.Time   `json:"requested_at"`
	By          string      `json:"by"`
	Reason      string      `json:"reason,omitempty"`
	ChangedAt   time.Time   `json:"changed_at"`
	ChangedBy   string      `json:"changed_by"`
	Items       int64       `json:"items"`
	Waiting     int64       `json:"waiting"`
	UnderWay    int64       `json:"under_way"`
	Complete    int64       `json:"complete"`
	Failed      int64       `json:"failed"`
	Refused     int64       `json:"refused"`
	Lost        int64       `json:"lost,omitempty"` // items that nothing told of when control was restored
	Documents   int64       `json:"documents"`
	Ends        []replayEnd `json:"ends,omitempty"`

	Waits []replayWait `json:"waits,omitempty"`
}

// replayWait is how many items wait for the same thing.
type replayWait struct {
	Items   int64  `json:"items"`
	Message string `json:"message"`
	Example string `json:"example"`
}

// replayEnd is how many items failed or were refused in one way.
type replayEnd struct {
	Refused   bool   `json:"refused"`
	Phase     string `json:"phase,omitempty"`
	Exception string `json:"exception"`
	Items     int64  `json:"items"`
	Example   string `json:"example"`
	Message   string `json:"message"`
}

func readReplay(ctx context.Context, q pg.Querier, r *control.ReplayRun) (*replayRow, error) {
	n, err := control.CountReplay(ctx, q, r.ID)
	if err != nil {
		return nil, err
	}
	row := &replayRow{Replay: r.Number, Run: r.ID, Shadow: r.Shadow, From: r.Phase, State: r.State, Where: r.Predicate, Since: r.Since, Until: r.Until, Offsets: r.Offsets,
		Rate: r.Rate, RequestedAt: r.At.UTC(), By: r.By, Reason: r.Reason, ChangedAt: r.ChangedAt.UTC(), ChangedBy: r.ChangedBy,
		Items: n.Items, Waiting: n.Waiting, UnderWay: n.UnderWay, Complete: n.Complete, Failed: n.Failed, Refused: n.Refused, Lost: r.Lost, Documents: n.Documents}
	if n.Waiting > 0 && r.State == control.ReplayRunning {
		row.Held = r.Held
	}
	if n.Waiting+n.UnderWay == 0 && r.State == control.ReplayRunning && r.Shadow == "" {
		row.Held = notApplied
	}
	if r.Promotes != "" {
		shadow, err := control.ReadReplayRun(ctx, q, r.Promotes)
		if err != nil {
			return nil, err
		}
		row.Promotes = shadow.Shadow
	}
	if r.Shadow != "" {
		by, err := control.Promotion(ctx, q, r.ID)
		if err != nil {
			return nil, err
		}
		if by != nil {
			row.PromotedBy = by.Number
		}
	}
	return row, nil
}

// notApplied is why a replay that has nothing left to do is not done.
const notApplied = "until the warehouse has applied what came of it: late batches gather for sequence.late_limit first"

// shadowed says what a replay has to do with shadows.
func (r *replayRow) shadowed() string {
	switch {
	case r.PromotedBy > 0:
		return fmt.Sprintf("%s, promoted by %d", r.Shadow, r.PromotedBy)
	case r.Promotes != "":
		return "promotes " + r.Promotes
	}
	return r.Shadow
}

func (r *replayRow) cells() []string {
	n := func(i int64) string { return strconv.FormatInt(i, 10) }
	return []string{n(r.Replay), r.From, r.State, r.RequestedAt.Format(time.DateTime), r.By, n(r.Items), n(r.Waiting), n(r.UnderWay), n(r.Complete), n(r.Failed), n(r.Refused), r.shadowed(), r.Reason}
}

func newReplayShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one replay: what chose its files, and how they have ended",
		Long: "Show one replay, by its number, its run's id or its shadow's name: who asked for it, why, what chose its files, how far it is, and why\n" +
			"files failed or were refused.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withReplay(cmd.Context(), false, func(_ *replay.Manager, s *stores, _ config.Config) error {
			r, err := control.ReadReplayRun(cmd.Context(), s.Control, args[0])
			if err != nil {
				return err
			}
			row, err := readReplay(cmd.Context(), s.Control, &r)
			if err != nil {
				return err
			}
			ends, err := control.ReplayEnds(cmd.Context(), s.Control, r.ID)
			if err != nil {
				return err
			}
			for _, e := range ends {
				row.Ends = append(row.Ends, replayEnd(e))
			}
			waits, err := control.ReplayWaitsFor(cmd.Context(), s.Control, r.ID)
			if err != nil {
				return err
			}
			for _, w := range waits {
				row.Waits = append(row.Waits, replayWait(w))
			}
			if *output == "json" {
				return writeJSON(c.stdout, []*replayRow{row})
			}
			return row.write(c.stdout)
		})
	}
	return cmd
}

// write tells a replay to people.
func (r *replayRow) write(w io.Writer) error {
	items := "files"
	if r.From == schemas.FromData {
		items = "centres"
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	rate := ""
	if r.Rate > 0 {
		rate = strconv.FormatFloat(r.Rate, 'g', -1, 64) + " files a second"
	}
	lost := ""
	if r.Lost > 0 {
		lost = fmt.Sprintf("%d %s more: nothing told of them when control was restored, and they are not requested", r.Lost, items)
	}
	for _, line := range [][2]string{
		{"replay", fmt.Sprintf("%d, from %s: %s since %s, by %s", r.Replay, r.From, r.State, at(&r.ChangedAt), r.ChangedBy)},
		{"run", r.Run},
		{"shadow", r.shadowed()},
		{"requested", at(&r.RequestedAt) + " by " + r.By},
		{"reason", r.Reason}, {"where", r.Where}, {"since", at(r.Since)}, {"until", at(r.Until)}, {"offsets", r.Offsets}, {"rate", rate},
		{items, fmt.Sprintf("%d: %d waiting, %d under way, %d complete, %d failed, %d refused", r.Items, r.Waiting, r.UnderWay, r.Complete, r.Failed, r.Refused)},
		{"lost", lost},
		{"documents", strconv.FormatInt(r.Documents, 10)},
		{"waits", r.Held},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-10s %s\n", line[0], report.Plain(line[1])); err != nil {
			return err
		}
	}
	for _, wait := range r.Waits {
		if _, err := fmt.Fprintf(w, "%-10s %d %s such as %s: %s\n", "waits", wait.Items, items, report.Plain(wait.Example), report.Plain(wait.Message)); err != nil {
			return err
		}
	}
	if len(r.Ends) == 0 {
		return nil
	}
	var rows [][]string
	for _, e := range r.Ends {
		end := "failed at " + e.Phase
		if e.Refused {
			end = "refused"
		}
		rows = append(rows, []string{strconv.FormatInt(e.Items, 10), end, e.Exception, e.Example, e.Message})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeTable(w, []string{items, "end", "exception", "such as", "message"}, rows)
}

func newReplayStop(c *cli) *cobra.Command {
	return newReplayChange(c, "stop", "Let a replay request nothing more until it is resumed",
		"Let a replay, named by its number or its run's id, request nothing more until it is resumed. What is under way goes on\nto its end.",
		func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error) {
			return m.Stop(ctx, name, requester(), reason)
		})
}

func newReplayResume(c *cli) *cobra.Command {
	return newReplayChange(c, "resume", "Let a replay that was stopped go on",
		"Let a replay that was stopped, named by its number or its run's id, go on with what it has left.",
		func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error) {
			return m.Resume(ctx, name, requester(), reason)
		})
}

func newReplayChange(c *cli, verb, short, long string, change func(ctx context.Context, m *replay.Manager, name, reason string) (control.ReplayRun, bool, error)) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " RUN", Short: short, Long: long, Args: cobra.ExactArgs(1)}
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withReplay(cmd.Context(), false, func(m *replay.Manager, _ *stores, _ config.Config) error {
			r, changed, err := change(cmd.Context(), m, args[0], *reason)
			if err != nil {
				return err
			}
			if changed {
				_, err = fmt.Fprintf(c.stdout, "replay %d is %s\n", r.Number, r.State)
				return err
			}
			return fmt.Errorf("replay %d is %s, since %s by %s: there is nothing to %s", r.Number, r.State, r.ChangedAt.UTC().Format(time.RFC3339), r.ChangedBy, verb)
		})
	}
	return cmd
}
