package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tributary/internal/blob"
	"tributary/internal/listing"
	"tributary/queries/asof"
	"tributary/queries/report"
)

// changedEntry is an entry that one of two listings has, as -o json writes it.
type changedEntry struct {
	Change string `json:"change"` // added or removed
	listing.Entry
}

func newListing(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "listing SOURCE",
		Short: "Show what a server showed",
		Long: "Show the entries of the last complete listing of a source, or with --at of the one that was current then: directory,\n" +
			"name, size and time as the server told them, and for what is no file of ours, or can't be fetched, why. Names that\n" +
			"can't be shown are percent-encoded, as everywhere. With --diff only what differs from the complete listing before:\n" +
			"an entry that changed is shown as it was (removed) and as it is (added). Which poll it was goes to stderr. Listings\n" +
			"are kept for poll.keep_listings in the blob store.",
		Args: cobra.ExactArgs(1),
	}
	output := outputFlag(cmd, report.Formats()...)
	at := cmd.Flags().String("at", "", "the listing that was current at this moment: "+asof.Moments)
	diff := cmd.Flags().Bool("diff", false, "only what differs from the complete listing before")
	brokenOff := cmd.Flags().Bool("broken-off", false, "also a listing that broke off, from which nothing was concluded")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until := now()
		if *at != "" {
			var err error
			if until, err = moment("at", *at); err != nil {
				return err
			}
		}
		return c.open(cmd.Context(), need{Postgres: true}, func(s *stores) error {
			return c.showListing(cmd.Context(), s, args[0], *output, until, *diff, *brokenOff)
		})
	}
	return cmd
}

func (c *cli) showListing(ctx context.Context, s *stores, source, format string, until time.Time, diff, brokenOff bool) error {
	blobs, err := openBlobs(ctx, s.cfg, s.Control)
	if err != nil {
		return err
	}
	defer blobs.Close()
	l, polled, err := openListing(ctx, s, blobs, source, until, brokenOff)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintln(c.stderr, polledText(source, polled))
	if !diff {
		return c.list(format, []string{"directory", "name", "size", "mod_time", "note"}, func(row func(any, ...string) error) error {
			return eachEntry(l.Next, func(e listing.Entry) error { return row(e, entryCells(e)...) })
		})
	}
	before, polled, err := openListing(ctx, s, blobs, source, polled.At.Add(-time.Microsecond), false)
	if err != nil {
		return err
	}
	defer before.Close()
	fmt.Fprintln(c.stderr, "compared with: "+polledText(source, polled))
	return c.list(format, []string{"change", "directory", "name", "size", "mod_time", "note"}, func(row func(any, ...string) error) error {
		return listing.Differ(before.Next, l.Next, func(d listing.Change) error {
			change := "removed"
			if d.Came {
				change = "added"
			}
			return row(changedEntry{change, d.Entry}, append([]string{change}, entryCells(d.Entry)...)...)
		})
	})
}

// openListing opens the listing of a source that was current at a moment.
func openListing(ctx context.Context, s *stores, blobs blob.Store, source string, at time.Time, brokenOff bool) (*listing.Reader, *report.Polled, error) {
	p, err := report.PolledBy(ctx, s.Tracker, source, at, brokenOff)
	switch {
	case err != nil:
		return nil, nil, err
	case p == nil:
		return nil, nil, fmt.Errorf("no listing of %s was complete by %s, as far as the tracker knows", source, at.Format(time.RFC3339Nano))
	case p.Listing == "" && p.Lacks != "":
		return nil, nil, fmt.Errorf("%s: it is not kept: %s", polledText(source, p), p.Lacks)
	case p.Listing == "":
		return nil, nil, fmt.Errorf("%s: it is not kept, as by a program of before, or where poll.keep_listings is 0", polledText(source, p))
	}
	l, err := listing.Open(ctx, blobs, p.Listing)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: its blob is not there; listings are kept for %s after they were last shown (poll.keep_listings), and 1 GiB of a source: %w",
			polledText(source, p), s.cfg.Poll.KeepListings.D(), err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", polledText(source, p), err)
	}
	return l, p, nil
}

func polledText(source string, p *report.Polled) string {
	how := "complete listing"
	if !p.Complete {
		how = "listing that broke off"
	}
	text := fmt.Sprintf("%s of %s, which ended %s (session %d)", how, source, p.At.UTC().Format(time.RFC3339Nano), p.Session)
	if p.Minimal > 0 {
		text += fmt.Sprintf(", and was followed by %d minimal polls, of which none is kept", p.Minimal)
	}
	return text
}

func eachEntry(next listing.Next, each func(listing.Entry) error) error {
	for {
		e, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(e)
		}
		if err != nil {
			return err
		}
	}
}

func entryCells(e listing.Entry) []string {
	size, at := "", ""
	if e.Size >= 0 {
		size = strconv.FormatInt(e.Size, 10)
	}
	if e.ModTime != nil {
		at = e.ModTime.Format(time.RFC3339Nano)
	}
	return []string{e.Directory, e.Name, size, at, e.Note}
}
