package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/own"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/web/client"
)

// ownFlags say of which centre what is its own is told, and by whom.
type ownFlags struct {
	server   *serverFlags
	linkFile string
	centre   string
}

func addOwnFlags(cmd *cobra.Command) *ownFlags {
	f := &ownFlags{server: addServerFlags(cmd)}
	cmd.Flags().StringVar(&f.linkFile, "link-file", "", "ask by a centre's link: the file with its whole address (in place of --server and --token-file)")
	cmd.Flags().StringVar(&f.centre, "centre", "", "without a server: what this centre would see")
	return f
}

// ownAsked is who tells a centre of what is its own: the stores, or a server.
type ownAsked interface {
	Home(ctx context.Context) (own.Home, error)
	Week(ctx context.Context, name string) (own.Summary, error)
	Files(ctx context.Context, f report.Filter, each func(own.Row) error) error
	Documents(ctx context.Context, f report.Filter, each func(own.Row) error) error
	File(ctx context.Context, action, name string) (own.FileTold, error)
	Document(ctx context.Context, action, file, name string) (own.DocumentTold, error)
}

// askOwn asks who is named. What is not the centre's is said in one way.
func (c *cli) askOwn(ctx context.Context, f *ownFlags, ask func(ownAsked) error) error {
	err := c.ownBy(ctx, f, ask)
	told := (*client.Error)(nil)
	if errors.Is(err, report.ErrNotFound) || errors.As(err, &told) && told.Name == "not_yours" {
		return errors.New("there is nothing of the centre's under this name")
	}
	return err
}

func (c *cli) ownBy(ctx context.Context, f *ownFlags, ask func(ownAsked) error) error {
	switch {
	case f.centre != "" && (f.server.given() || f.linkFile != ""):
		return usagef("--centre goes without a server: who asks one is told of the centre whose link or token they have")
	case f.linkFile != "":
		return c.askByLink(f, func(r *client.Client) error { return ask(client.Own{Client: r}) })
	case f.server.given():
		return c.askServer(f.server, nil, func(r *client.Client) error { return ask(client.Own{Client: r}) })
	case f.centre == "":
		return usagef("whose? a centre's link (--link-file), a producer's token (--server), or --centre beside the stores")
	}
	return c.open(ctx, need{Postgres: true}, func(s *stores) error {
		if err := report.Known(ctx, s.Tracker, f.centre, ""); err != nil {
			return err
		}
		return ask(ownStores{own.View{Tracker: s.Tracker, Centre: f.centre, Now: now()}})
	})
}

// askByLink asks a server by a centre's link.
func (c *cli) askByLink(f *ownFlags, ask func(*client.Client) error) error {
	if f.server.server != "" || f.server.tokenFile != "" {
		return usagef("--link-file names the server, and needs no token: leave out --server and --token-file")
	}
	link, err := readSecret("--link-file", f.linkFile)
	if err != nil {
		return usage(err)
	}
	r, err := client.New(client.Config{Link: link, CAFile: f.server.caFile, Version: version()})
	if err != nil {
		return usage(fmt.Errorf("--link-file: %w", err))
	}
	defer r.Close()
	return asServer(ask(r))
}

// ownStores tells what is a centre's own from the stores.
type ownStores struct{ own.View }

func (s ownStores) Week(ctx context.Context, name string) (own.Summary, error) {
	monday, ok := own.ParseWeek(name, s.Now)
	if !ok {
		return own.Summary{}, report.ErrNotFound
	}
	return s.Of(ctx, monday)
}

func (s ownStores) Files(ctx context.Context, f report.Filter, each func(own.Row) error) error {
	return ownRows(ctx, f, s.View.Files, own.FileRow, each)
}

func (s ownStores) Documents(ctx context.Context, f report.Filter, each func(own.Row) error) error {
	return ownRows(ctx, f, s.View.Documents, own.DocumentRow, each)
}

func (s ownStores) Document(ctx context.Context, action, file, name string) (own.DocumentTold, error) {
	return s.DocumentTold(ctx, action, file, name)
}

// ownRows gives the rows of page after page.
func ownRows[T any](ctx context.Context, f report.Filter, list func(context.Context, report.Filter) (report.Page[T], error), row func(T) own.Row, each func(own.Row) error) error {
	left := f.Limit
	for f.Errors = 1; ; {
		if f.Limit = report.MaxPage; left > 0 {
			f.Limit = min(left, report.MaxPage)
		}
		p, err := list(ctx, f)
		if err != nil {
			return err
		}
		for _, x := range p.Rows {
			if err := each(row(x)); err != nil {
				return err
			}
		}
		if left -= len(p.Rows); p.Next == "" || left == 0 {
			return nil
		}
		f.After = p.Next
	}
}

func newOwn(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "own", Short: "Tell a centre what is its own: its last week, and what is wrong",
		Long: "Tell a centre what is its own, in plain words, and nothing of others: what came in the last seven days, or in a week, how\n" +
			"that stands, what to correct, and how its servers are. A centre asks by its link (tributary centres link), or by the\n" +
			"token of a producer; beside the stores --centre says whose.",
		Args: knownCommand,
	}
	output, f := outputFlag(cmd, "text", report.JSON), addOwnFlags(cmd)
	week := cmd.Flags().String("week", "", "this week, such as 2026-W47: one of the last eight, or the present one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.askOwn(cmd.Context(), f, func(v ownAsked) error {
			if *week != "" {
				s, err := v.Week(cmd.Context(), *week)
				if err != nil {
					return err
				}
				return c.tell(*output, s, s.WriteText)
			}
			h, err := v.Home(cmd.Context())
			if err != nil {
				return err
			}
			return c.tell(*output, h, h.WriteText)
		})
	}
	cmd.AddCommand(
		c.ownList("files", "List a centre's own files", func(v ownAsked) ownLister { return v.Files }),
		c.ownList("documents", "List the documents of a centre's own files", func(v ownAsked) ownLister { return v.Documents }),
		newOwnShow(c),
	)
	return cmd
}

// ownLister lists what is a centre's own.
type ownLister = func(ctx context.Context, f report.Filter, each func(own.Row) error) error

func (c *cli) ownList(use, short string, by func(ownAsked) ownLister) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	output, f := outputFlag(cmd, report.Formats()...), addOwnFlags(cmd)
	var filter report.Filter
	cmd.Flags().StringVar(&filter.Contains, "q", "", "part of the file's name, capitals don't matter")
	cmd.Flags().StringVar(&filter.Status, "status", "", "pending, running, done, cancelled or failed")
	cmd.Flags().StringVar(&filter.Exception, "exception", "", "the stable name of what went wrong")
	cmd.Flags().Var(momentValue{&filter.Since}, "since", "only what changed last then or later")
	cmd.Flags().Var(momentValue{&filter.Until}, "until", "only what changed last before")
	cmd.Flags().BoolVar(&filter.Waiting, "waiting", false, "only what has not come to its end")
	cmd.Flags().IntVar(&filter.Limit, "limit", 0, "list at most so many; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if filter.Limit < 0 {
			return usagef("--limit must be 0 or more")
		}
		return c.askOwn(cmd.Context(), f, func(v ownAsked) error {
			return c.list(*output, own.RowHeader(), func(row func(any, ...string) error) error {
				return by(v)(cmd.Context(), filter, func(r own.Row) error { return row(r, r.Cells()...) })
			})
		})
	}
	return cmd
}

func newOwnShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show FILE", Short: "Tell the story of one of a centre's own files, or of a document in it",
		Long: "Tell the story of a file, named as action/name, or of a document in it, as action/name/document: how it stands, what is\n" +
			"wrong, where and what to do about it.",
		Args: cobra.ExactArgs(1),
	}
	output, f := outputFlag(cmd, "text", report.JSON), addOwnFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		action, rest, _ := strings.Cut(args[0], "/")
		name, document, one := strings.Cut(rest, "/")
		if schemas.ActionOrder(action) == 0 || name == "" || one && document == "" {
			return usagef("%q names no file: write action/name or action/name/document, with add, edit or delete", args[0])
		}
		return c.askOwn(cmd.Context(), f, func(v ownAsked) error {
			var told interface{ WriteText(io.Writer) error }
			var err error
			if one {
				told, err = v.Document(cmd.Context(), action, name, document)
			} else {
				told, err = v.File(cmd.Context(), action, name)
			}
			if err != nil {
				return err
			}
			return c.tell(*output, told, told.WriteText)
		})
	}
	return cmd
}
