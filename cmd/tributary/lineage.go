package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tributary/queries/lineage"
	"tributary/web/client"
)

// Bounds of what lineage lists unless --all is given.
const (
	claimsListed = 100 // of a key
	keysListed   = 20  // of a document
)

// lineageFlags are what lineage is asked.
type lineageFlags struct {
	file, action, output string
	verify, all          bool
}

func newLineage(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lineage {TABLE KEY… | [TABLE] POSITION/ORDINAL | --file FILE}",
		Short: "Tell where rows of the warehouse come from, and what a file put where",
		Long: "Tell every claim on a record's natural key: which one is current and why the others are not, each with document,\n" +
			"file, action, version, download, source, session, and line, column and bytes in the document. KEY is the key's\n" +
			"values in the profile's order ('' for one that is absent), or COLUMN=VALUE …. POSITION/ORDINAL is any row, as\n" +
			"findings and views name it; its record's claims are told.\n\n" +
			"--verify reads each claim's document again from the blob store, re-hashes document and element, reads the record\n" +
			"anew and compares; exit code 1 when something differs.\n\n" +
			"--file tells what each version and document of a file put where. FILE is its name, or action/name.",
		Args: cobra.ArbitraryArgs,
	}
	f := &lineageFlags{}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	cmd.Flags().StringVar(&f.file, "file", "", "the file whose rows are listed, instead of a key")
	cmd.Flags().StringVar(&f.action, "action", "", "add, edit or delete; with --file, default: all that there are")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "read the documents again and compare")
	cmd.Flags().BoolVar(&f.all, "all", false, fmt.Sprintf("list all claims (default the first %d) or keys (the first %d of a document)", claimsListed, keysListed))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.output = *output
		if err := f.check(args); err != nil {
			return err
		}
		if server.given() {
			return c.lineageOfServer(cmd.Context(), server, f, args)
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			_, m, err := configuredMapping(s.cfg)
			if err != nil {
				return err
			}
			r := &lineage.Reader{Warehouse: s.Warehouse, Tracker: s.Tracker, Mapping: m}
			if f.file != "" {
				return c.lineageOfFile(cmd.Context(), r, f)
			}
			return c.lineageOf(cmd.Context(), s, r, f, args)
		})
	}
	return cmd
}

func (f *lineageFlags) check(args []string) error {
	switch {
	case f.file != "" && len(args) > 0:
		return usagef("either --file or a key, not both")
	case f.file != "" && f.verify:
		return usagef("--verify is for a key or a row, not for --file")
	case f.file == "" && f.action != "":
		return usagef("--action goes with --file")
	case f.file == "" && len(args) == 0:
		return usagef("say TABLE and KEY, or POSITION/ORDINAL, or --file FILE")
	case f.file == "" && len(args) == 1:
		if _, _, ok := lineage.ParsePlace(args[0]); !ok {
			return usagef("a key is missing behind %s: its values in the profile's order, or COLUMN=VALUE …, or POSITION/ORDINAL", args[0])
		}
	}
	if f.file != "" {
		f.file, f.action = fileAndAction(f.file, f.action)
	}
	return nil
}

// fileAndAction takes action/name apart, unless an action is given.
func fileAndAction(name, action string) (string, string) {
	if before, after, ok := strings.Cut(name, "/"); ok && action == "" {
		return after, before
	}
	return name, action
}

func (c *cli) lineageOf(ctx context.Context, s *stores, r *lineage.Reader, f *lineageFlags, args []string) error {
	if !f.all {
		r.Limit = claimsListed
	}
	l, err := r.Trace(ctx, args)
	if err != nil {
		return err
	}
	differs := false
	if f.verify {
		blobs, err := openBlobs(ctx, s.cfg, s.Control)
		if err != nil {
			return err
		}
		if differs, err = r.VerifyAll(ctx, blobs, l); err != nil {
			return err
		}
	}
	if err := c.tell(f.output, l, l.WriteText); err != nil || !differs {
		return err
	}
	return errSilent
}

func (c *cli) lineageOfFile(ctx context.Context, r *lineage.Reader, f *lineageFlags) error {
	if !f.all {
		r.Limit = keysListed
	}
	return r.File(ctx, f.file, f.action, c.brought(f))
}

// brought writes what documents brought, one after another.
func (c *cli) brought(f *lineageFlags) func(*lineage.Brought) error {
	first := true
	return func(b *lineage.Brought) error {
		if f.output == "json" {
			return writeJSON(c.stdout, []*lineage.Brought{b})
		}
		if !first {
			fmt.Fprintln(c.stdout)
		}
		first = false
		return b.WriteText(c.stdout)
	}
}

// lineageOfServer asks a server, which has bounds of its own and reads no documents.
func (c *cli) lineageOfServer(ctx context.Context, server *serverFlags, f *lineageFlags, args []string) error {
	if f.all || f.verify {
		return usagef("--all and --verify go without --server: ask where the stores are")
	}
	return c.askServer(server, nil, func(r *client.Client) error {
		if f.file != "" {
			return r.FileLineage(ctx, f.file, f.action, keysListed, c.brought(f))
		}
		l, err := r.Lineage(ctx, args)
		if err != nil {
			return err
		}
		return c.tell(f.output, l, l.WriteText)
	})
}
