package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tributary/internal/profile"
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
func (f *replayFlags) findStale(ctx context.Context, s *stores) ([]replay.StalePhase, error) {
	if !f.stale {
		return nil, nil
	}
	cfg := s.cfg
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
	return found, usage(replay.CheckShadow(f.shadow, f.from))
}
