package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tributary/internal/config"
	"tributary/internal/profile"
	"tributary/queries/report"
	"tributary/recovery/replay"
)

// checkStale judges --stale beside other flags.
func (f *replayFlags) checkStale() error {
	switch {
	case !f.stale:
		return nil
	case f.offsets != "":
		return usagef("choose by --stale or by --offsets, not by both: offsets say which files, whatever they were judged by")
	case f.from != "" && !slices.Contains(profile.VersionedPhases(), f.from):
		return usagef("nothing is stale in %s: use --from with one of %s, or leave it out", f.from, strings.Join(profile.VersionedPhases(), ", "))
	}
	return nil
}

// findStale looks for what is stale, by the profile that is configured (for
// shadows, if it is for one), and
// chooses the phase to begin with. Where nothing is stale in it, or without
// --stale, nothing is chosen.
func (f *replayFlags) findStale(ctx context.Context, cfg config.Config, s *stores) ([]replay.StalePhase, error) {
	if !f.stale {
		return nil, nil
	}
	if f.shadow != "" {
		cfg = shadowConfig(cfg)
	}
	p, err := loadProfile(cfg)
	if err != nil {
		return nil, usage(err)
	}
	found, err := replay.FindStale(ctx, s.Tracker, f.choice, f.from, p.Versions())
	if err != nil || len(found) == 0 || f.from != "" && found[0].Phase != f.from {
		return found, err
	}
	f.from = found[0].Phase
	f.choice.Stale = &replay.Stale{Phase: f.from, Versions: p.Versions()}
	f.reason = cmp.Or(f.reason, "stale in "+f.from)
	return found, f.checkShadow()
}

// writeNothingStale says that nothing is replayed, as nothing is stale in the
// phase that was asked for, or at all; found is stale in others.
func (c *cli) writeNothingStale(output, from string, found []replay.StalePhase) error {
	if output != "json" {
		return c.writeStale(from, found)
	}
	t := tallyOf(from)
	t.Stale = found
	return writeJSON(c.stdout, []requestedRow{{chosen: t, From: from, Phases: []string{}, Centres: []string{}}})
}

// writeStale says what is stale, and why.
func (c *cli) writeStale(from string, found []replay.StalePhase) error {
	var b strings.Builder
	began := len(found) > 0 && found[0].Phase == from
	switch {
	case !began && from != "":
		fmt.Fprintf(&b, "nothing is stale in %s: all was judged by what the profile has now\n", from)
	case !began:
		b.WriteString("nothing is stale: all was judged by what the profile has now\n")
	}
	for i, p := range found {
		more := ""
		switch {
		case !began:
			more = "; ask for it with --from " + p.Phase
		case i > 0 && p.Other == 0:
			more = ", which the replay from " + from + " takes along"
		case i > 0:
			more = fmt.Sprintf("; of these, %d are not stale in %s and stay as they are: ask again after this replay", p.Other, from)
		}
		fmt.Fprintf(&b, "stale in %s: %d files%s\n", p.Phase, p.Files, more)
		for _, g := range p.Groups {
			by := "judged by version " + g.Version
			if g.Version == "" {
				by = "judged by nobody knows what"
			}
			fmt.Fprintf(&b, "  %s: %d documents of %d files, %s, now %s\n", report.Plain(cmp.Or(g.Kind, "of unknown kind")), g.Documents, g.Files, by, g.Now)
		}
	}
	_, err := fmt.Fprint(c.stdout, b.String())
	return err
}
