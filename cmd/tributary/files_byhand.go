package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/report"
	"tributary/recovery/byhand"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

// fileOrder is a command by which a person orders something about files.
type fileOrder struct {
	use, short, long string
	give             giveOrder
}

// giveOrder gives an order about the file that is named.
type giveOrder func(byhand.Orders, context.Context, string) (byhand.Outcome, error)

// howNamed is how files are named, and what is not done.
const howNamed = "\n\nA file is named by its name, where only one file has it, or by action/name. It need not be that a system runs. Exit\n" +
	"code 1 if one of the files is refused."

func newFilesHold(c *cli) *cobra.Command {
	return c.fileOrder(fileOrder{
		use: "hold FILE …", short: "Keep files back until they are released",
		long: "End what is under way of files and has no position yet (held_by_hand), and let nothing of them begin: no new version, no\n" +
			"retry, no replay, no announcement, until tributary files release. Polls go on recording what they see. What has its\n" +
			"positions is refused: tributary warehouse unload takes it out." + howNamed,
		give: byhand.Orders.Hold,
	})
}

func newFilesRelease(c *cli) *cobra.Command {
	return c.fileOrder(fileOrder{
		use: "release FILE …", short: "Take files up again that are held",
		long: "Let files go on that are held. If something of a file was held back, what its sources show of it now is taken up at once,\n" +
			"as a late file. A replay that the hold has ended is asked for anew." + howNamed,
		give: byhand.Orders.Release,
	})
}

func newFilesCancel(c *cli) *cobra.Command {
	return c.fileOrder(fileOrder{
		use: "cancel FILE …", short: "End what is under way of files",
		long: "End what is under way of files and has no position yet (cancelled_by_hand). It is never tried again by itself; a new\n" +
			"version of the file, or tributary replay, begins anew. What has its positions is refused: tributary warehouse unload\n" +
			"takes it out." + howNamed,
		give: byhand.Orders.Cancel,
	})
}

func newFilesRetry(c *cli) *cobra.Command {
	return c.fileOrder(fileOrder{
		use: "retry FILE …", short: "Try files again at once that have failed",
		long: "Have files fetched at once that failed and are tried again later (plan.retry_failed), or that wait for their next attempt\n" +
			"(plan.backoff). What waits for nothing is refused, as is what no source shows any more: a new version begins by itself,\n" +
			"and tributary replay processes anew what was fetched." + howNamed,
		give: byhand.Orders.Retry,
	})
}

func newFilesPriority(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "priority FILE PRIORITY", Short: "Fetch a file that waits before others, or after them",
		Long: "Give a file that waits to be fetched another priority than its source's, from 0 to 9, which comes first: it goes before\n" +
			"all files of its source with a lower one, and its source's turn at the server comes by it. The file has it until it is\n" +
			"fetched, or has ended for good. What waits for no session of a server is refused." + howNamed,
		Args: cobra.ExactArgs(2),
	}
	c.orderFiles(cmd, func(args []string) (*filesOrdered, error) {
		p, err := strconv.Atoi(args[1])
		if err != nil || p < 0 || p > control.MostPriority {
			return nil, usagef("the priority %q: it is a number from 0 to %d, which comes first", args[1], control.MostPriority)
		}
		return &filesOrdered{args[:1], client.Wish{Priority: &p}, func(o byhand.Orders, ctx context.Context, file string) (byhand.Outcome, error) {
			return o.Priority(ctx, file, p)
		}}, nil
	})
	return cmd
}

func (c *cli) fileOrder(o fileOrder) *cobra.Command {
	cmd := &cobra.Command{Use: o.use, Short: o.short, Long: o.long, Args: cobra.MinimumNArgs(1)}
	c.orderFiles(cmd, func(args []string) (*filesOrdered, error) { return &filesOrdered{args, client.Wish{}, o.give}, nil })
	return cmd
}

// filesOrdered is an order about files, beside the stores and as a server is asked for it.
type filesOrdered struct {
	files []string
	wish  client.Wish
	give  giveOrder
}

// orderFiles lets a command give an order about files, which read finds in the command's
// arguments.
func (c *cli) orderFiles(cmd *cobra.Command, read func(args []string) (*filesOrdered, error)) {
	output, server := outputFlag(cmd, report.Formats()...), addServerFlags(cmd)
	reason := cmd.Flags().String("reason", "", "why, for those who read it later")
	dry := cmd.Flags().Bool("dry-run", false, "only tell what would be done")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := read(args)
		if err != nil {
			return err
		}
		if server.given() {
			o.wish.Reason, o.wish.DryRun = *reason, *dry
			return c.askServer(server, nil, func(r *client.Client) error {
				return c.listFilesDone(*output, o.files, func(file string) (byhand.Outcome, error) {
					return fileByServer(cmd.Context(), r, file, cmd.Name(), o.wish)
				})
			})
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			out, err := controlOutbox()
			if err != nil {
				return err
			}
			orders := byhand.Orders{Pool: s.Control, Outbox: out, Dry: *dry}
			return c.listFilesDone(*output, o.files, func(file string) (byhand.Outcome, error) {
				orders.Decision = control.Decision{By: requester(), Reason: *reason, At: now()}
				return o.give(orders, cmd.Context(), file)
			})
		})
	}
}

// listFilesDone gives an order about each file, and writes what became of it.
func (c *cli) listFilesDone(output string, files []string, give func(file string) (byhand.Outcome, error)) error {
	return c.listDone(output, []string{"file", "done", "detail"}, func(row func(bool, any, ...string) error) error {
		for _, file := range files {
			r, err := give(file)
			if err != nil {
				return err
			}
			if err := row(r.Done, r, r.File, fmt.Sprint(r.Done), r.Detail); err != nil {
				return err
			}
		}
		return nil
	})
}

// fileByServer has a server give an order about the file that is named.
func fileByServer(ctx context.Context, r *client.Client, named, name string, w client.Wish) (byhand.Outcome, error) {
	subjects, err := r.Subjects(ctx, named)
	switch {
	case err != nil:
		return byhand.Outcome{}, err
	case len(subjects) == 0:
		return byhand.Outcome{File: named, Detail: "the server's tracker knows no such file: name it as action/name, or see tributary files --server"}, nil
	case len(subjects) > 1:
		return byhand.Outcome{File: named, Detail: "several files have the name: say which, of " + strings.Join(subjects, ", ")}, nil
	}
	out, err := r.Order(ctx, order.Files, subjects[0], name, w)
	return byhand.Outcome{File: subjects[0], Done: out.Done, Detail: out.Detail}, err
}
