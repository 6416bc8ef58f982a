package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/queries/lineage"
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
	output := outputFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&f.file, "file", "", "the file whose rows are listed, instead of a key")
	cmd.Flags().StringVar(&f.action, "action", "", "add, edit or delete; with --file, default: all that there are")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "read the documents again and compare")
	cmd.Flags().BoolVar(&f.all, "all", false, fmt.Sprintf("list all claims (default the first %d) or keys (the first %d of a document)", claimsListed, keysListed))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.output = *output
		if err := f.check(args); err != nil {
			return err
		}
		return c.withStores(cmd.Context(), need{Postgres: true}, func(cfg config.Config, s *stores) error {
			_, m, err := configuredMapping(cfg)
			if err != nil {
				return err
			}
			r := &lineage.Reader{Warehouse: s.Warehouse, Tracker: s.Tracker, Mapping: m}
			if f.file != "" {
				return c.lineageOfFile(cmd.Context(), r, f)
			}
			return c.lineageOf(cmd.Context(), cfg, s, r, f, args)
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

func (c *cli) lineageOf(ctx context.Context, cfg config.Config, s *stores, r *lineage.Reader, f *lineageFlags, args []string) error {
	if !f.all {
		r.Limit = claimsListed
	}
	l, err := trace(ctx, r, args)
	if err != nil {
		return err
	}
	differs := false
	if f.verify {
		if differs, err = verifyAll(ctx, cfg, s, r, l); err != nil {
			return err
		}
	}
	if f.output == "json" {
		err = writeJSON(c.stdout, []*lineage.Lineage{l})
	} else {
		err = l.WriteText(c.stdout)
	}
	if err == nil && differs {
		return errSilent
	}
	return err
}

// trace finds out what is meant: a row, or a key.
func trace(ctx context.Context, r *lineage.Reader, args []string) (*lineage.Lineage, error) {
	table := ""
	if len(args) > 1 {
		table = args[0]
	}
	if position, ordinal, ok := lineage.ParsePlace(args[len(args)-1]); ok && len(args) <= 2 {
		return r.Row(ctx, table, position, ordinal)
	}
	return r.Key(ctx, table, args[1:])
}

// verifyAll verifies every claim that is listed, and tells whether something
// differs.
func verifyAll(ctx context.Context, cfg config.Config, s *stores, r *lineage.Reader, l *lineage.Lineage) (differs bool, err error) {
	blobs, err := openBlobs(ctx, cfg, s.Control)
	if err != nil {
		return false, err
	}
	for i := range l.Claims {
		v, err := r.Verify(ctx, blobs, &l.Claims[i])
		if err != nil {
			return false, err
		}
		l.Claims[i].Verification = v
		differs = differs || !v.OK
	}
	if l.Document != nil {
		if l.Verification, err = lineage.VerifyDocument(ctx, blobs, l.Document); err != nil {
			return false, err
		}
		differs = !l.Verification.OK
	}
	return differs, nil
}

func (c *cli) lineageOfFile(ctx context.Context, r *lineage.Reader, f *lineageFlags) error {
	if !f.all {
		r.Limit = keysListed
	}
	first := true
	return r.File(ctx, f.file, f.action, func(b *lineage.Brought) error {
		if f.output == "json" {
			return writeJSON(c.stdout, []*lineage.Brought{b})
		}
		if !first {
			fmt.Fprintln(c.stdout)
		}
		first = false
		return b.WriteText(c.stdout)
	})
}
