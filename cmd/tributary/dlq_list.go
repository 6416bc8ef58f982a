package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/deadletter"
	"tributary/sql/control"
)

func newDLQList(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the newest first",
		Long: "List what stages could not work on and gave up: the newest 100, the newest first. With --limit 0 all are listed as\n" +
			"they lie, topic by topic. Those that were dropped are shown with --all, or --where state=dropped.\n\n" +
			"States: open (it waits for somebody), under_way, completed, died_again and failed (what became of its retry),\n" +
			"ordered_again (of insert: if it died again, it has a letter of its own), split (a job of several files,\n" +
			"each of which was requested again alone), unreadable (its record asks for nothing), dropped. DEATHS counts the\n" +
			"retries that died of the same cause.",
		Args: cobra.NoArgs,
	}
	output := outputFlag(cmd, report.Formats()...)
	var w whereFlags
	w.add(cmd)
	limit := cmd.Flags().Int("limit", 100, "at most so many; 0: all, as they lie")
	everything := cmd.Flags().Bool("all", false, "those that were dropped, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 0 || *limit > deadletter.MaxNewest {
			return usagef("--limit must be from 0 to %d", deadletter.MaxNewest)
		}
		f, err := w.filter(time.Now())
		if err != nil {
			return err
		}
		meant := func(l *letter) bool {
			if f.State != "" {
				return l.state == f.State
			}
			return *everything || l.state != control.LetterDropped
		}
		return c.withLetters(cmd.Context(), func(d *letters) error {
			out, err := report.NewOutput(c.stdout, *output, letterHeader()...)
			if err != nil {
				return usage(err)
			}
			newest := deadletter.Newest[*letter]{N: *limit, Of: func(l *letter) *deadletter.Letter { return l.Letter }}
			err = d.each(cmd.Context(), f, meant, func(chunk []*letter) error {
				for _, l := range chunk {
					if *limit > 0 {
						newest.Add(l)
					} else if err := out.Row(l.row(), l.cells()...); err != nil {
						return err
					}
				}
				return nil
			})
			for _, l := range newest.List() {
				if err == nil {
					err = out.Row(l.row(), l.cells()...)
				}
			}
			return errors.Join(err, out.Close())
		})
	}
	return cmd
}

// letterRow is a dead letter as -o json writes it.
type letterRow struct {
	ID         string    `json:"id"`
	Time       time.Time `json:"time,omitzero"`
	Stage      string    `json:"stage"`
	Topic      string    `json:"topic"`
	Exception  string    `json:"exception"`
	Error      string    `json:"error"`
	Attempts   int       `json:"attempts,omitempty"`
	Action     string    `json:"action,omitempty"`
	File       string    `json:"file,omitempty"`
	Document   string    `json:"document,omitempty"`
	Files      int       `json:"files,omitempty"`
	Centre     string    `json:"centre,omitempty"`
	Source     string    `json:"source,omitempty"`
	Attempt    int32     `json:"attempt,omitempty"`
	State      string    `json:"state"`
	Deaths     int       `json:"deaths"`
	Replayed   *decision `json:"replayed,omitempty"`
	Dropped    *decision `json:"dropped,omitempty"`
	NewAttempt int32     `json:"new_attempt,omitempty"`
	Problem    string    `json:"problem,omitempty"`
}

type decision struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Forced bool      `json:"forced,omitempty"`
}

func (l *letter) row() letterRow {
	r := letterRow{ID: l.ID, Time: l.Time, Stage: l.Stage, Topic: l.Topic, Exception: l.Class, Error: l.Error, Attempts: l.Attempts,
		Action: l.Action, File: l.FileName, Document: l.Entry, Files: l.Job, Centre: l.Centre, Source: l.Source, Attempt: l.Attempt,
		State: l.state, Deaths: l.deaths, NewAttempt: l.decided.Attempt, Problem: l.Problem}
	if d := l.decided.Retry; !d.At.IsZero() {
		r.Replayed = &decision{d.By, d.Reason, d.At, l.decided.Forced}
	}
	if d := l.decided.Drop; !d.At.IsZero() {
		r.Dropped = &decision{By: d.By, Reason: d.Reason, At: d.At}
	}
	return r
}

func letterHeader() []string {
	return []string{"id", "given up", "exception", "about", "centre", "state", "deaths", "decided by", "reason", "error"}
}

func (l *letter) cells() []string {
	at, about, last := "", l.Subject(), l.decided.Retry
	if !l.Time.IsZero() {
		at = l.Time.Format(time.DateTime)
	}
	if about == "" {
		about = l.Topic + "/" + strconv.Itoa(int(l.OriginPartition)) + " at offset " + strconv.FormatInt(l.OriginOffset, 10)
	}
	if l.state == control.LetterDropped {
		last = l.decided.Drop
	}
	return []string{l.ID, at, l.Class, about, l.Centre, l.state, strconv.Itoa(l.deaths), last.By, last.Reason, l.Error}
}
