package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/explained"
	"tributary/queries/original"
	"tributary/queries/report"
	"tributary/recovery/quality"
	"tributary/web/client"
)

func newDocumentsShow(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show DOCUMENT", Short: "Explain what is wrong with a document, line by line",
		Long: "Tell where a document stands, and explain each of its errors: the lines of the document around it (that of the error\n" +
			"begins with >), what it says, the rule of the schema in plain words, and what to do. DOCUMENT is action/file/document.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, "text", report.JSON)
	past, server := asOfFlags(cmd), addServerFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named, err := quality.Parse(args[0])
		if err != nil {
			return usage(err)
		}
		tell := func(d explained.Document, err error) error {
			if told := (*client.Error)(nil); errors.Is(err, report.ErrNotFound) || errors.As(err, &told) && told.Name == "no_such_document" {
				return fmt.Errorf("the file shows no such document: which it shows: tributary show %s/%s", named.Action, named.File)
			}
			if err != nil {
				return err
			}
			return c.tell(*output, d, d.WriteText)
		}
		if server.given() {
			return c.askServer(server, past, func(r *client.Client) error {
				return tell(r.Explained(cmd.Context(), named.Action, named.File, named.Entry))
			})
		}
		return c.withOriginals(cmd.Context(), past, asof.Scope{Name: named.File}, *output, func(q pg.Querier, at *time.Time, reader *explained.Reader) error {
			x, meanings, err := report.DocumentOf(cmd.Context(), q, named.Action, named.File, named.Entry)
			if err != nil {
				return tell(explained.Document{}, err)
			}
			x.AsOf = at
			return tell(reader.Document(cmd.Context(), x, meanings), nil)
		})
	}
	return cmd
}

// withOriginals asks the tracker, of a moment if one is given, beside what reads stored
// bytes. Where they can't be read, it has nothing to read, and the answer says so.
func (c *cli) withOriginals(ctx context.Context, past *pastFlags, scope asof.Scope, format string, ask func(q pg.Querier, at *time.Time, reader *explained.Reader) error) error {
	var at time.Time
	if past.asOf != "" {
		var err error
		if at, err = moment("as-of", past.asOf); err != nil {
			return err
		}
	}
	return c.open(ctx, need{Postgres: true, ClickHouse: past.asOf != ""}, func(s *stores) error {
		var originals *original.Reader
		if blobs, err := openBlobs(ctx, s.cfg, s.Control); err == nil {
			defer blobs.Close()
			originals = &original.Reader{Blobs: blobs, Limits: archiveLimits(s.cfg.Unzip)}
		}
		reader := explained.New(originals)
		if past.asOf == "" {
			return ask(s.Tracker, nil, reader)
		}
		return c.pastOf(s, max(past.maxEvents, 1), func(r *asof.Reader) error {
			return c.trackerAt(ctx, r, at, scope, format, func(q pg.Querier, at *time.Time) error { return ask(q, at, reader) })
		})
	})
}
