package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/queries/asof"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/web/client"
	"tributary/web/order"
)

func newReplay(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Process files again from a phase on",
		Long: "Process again, from a phase on, the files that --where, --since and --until, or --offsets mean. --from says where\n" +
			"to begin: download (fetch again), unzip (the stored bytes), xsd (the documents known, by the schemas of now), upload\n" +
			"(the verdicts known, by the mapping of now), or data (the checks of now, on all records of the centres concerned).\n\n" +
			"A replay is a run: what is chosen is written down when it is asked for, and the attempts, events and batches are the\n" +
			"run's own. It replaces the results of the same versions only, so that the warehouse is the same after it, unless\n" +
			"something is judged or loaded otherwise by now. A running system takes it up, also after a crash; otherwise the next\n" +
			"tributary up does, and up --once finishes it.\n\n" +
			"--where is a condition in SQL on the tracker's view file, such as \"centre = 'JAX' AND phase = 'xsd' AND status = 'failed'\"; other\n" +
			"views are asked in brackets: \"id IN (SELECT file_id FROM document WHERE kind = 'specimen')\". It only reads.\n\n" +
			"With --shadow the results are kept beside the live ones and change none of them: replay compare says what would\n" +
			"change, and replay promote makes it so. A shadow begins with unzip, xsd or upload, and is judged by shadow_profile of\n" +
			"the configuration, while what arrives is judged by profile.\n\n" +
			"With --stale only those files are meant of which a change of the profile, or of the program, affects something: by\n" +
			"the phase of --from, or else by the first phase in which there is any. --dry-run says what and why.",
		Args: knownCommand,
	}
	output, server := outputFlag(cmd, "text", "json"), addServerFlags(cmd)
	var f replayFlags
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().NFlag() == 0 {
			return cmd.Help()
		}
		if err := f.read(time.Now()); err != nil {
			return err
		}
		if server.given() {
			return c.replayServer(cmd.Context(), server, &f, *output)
		}
		return c.open(cmd.Context(), need{Kafka: f.offsets != "", Postgres: true}, func(s *stores) error { return c.replay(cmd.Context(), s, &f, *output) })
	}
	cmd.AddCommand(newReplayList(c), newReplayShow(c), newReplayStop(c), newReplayResume(c), newReplayCompare(c), newReplayPromote(c))
	return cmd
}

// replay chooses what is processed again, and asks for it unless that is only
// tried.
func (c *cli) replay(ctx context.Context, s *stores, f *replayFlags, output string) error {
	stale, err := f.findStale(ctx, s)
	if err != nil {
		return err
	}
	if f.stale && f.choice.Stale == nil {
		return c.tell(output, replay.NothingStale(f.from, stale), func(w io.Writer) error { return replay.WriteStale(w, f.from, stale) })
	}
	codec, versions, err := f.versions(ctx, s)
	if err != nil {
		return err
	}
	t := replay.NewTally(f.from, f.shadow)
	t.Stale = stale
	if f.dry {
		for _, err := range t.Items(versions) {
			if err != nil {
				return err
			}
		}
		row := t.Requested(nil)
		return c.tell(output, row, row.WriteText)
	}
	r, err := askedRun(s.cfg, f.shadow != "")
	if err != nil {
		return err
	}
	r.Phase, r.Predicate, r.Since, r.Until, r.Shadow = f.from, f.choice.Predicate, f.choice.Since, f.choice.Until, f.shadow
	r.Rate, r.Reason = f.rate, f.reason
	if f.offsets != "" {
		r.Offsets = f.places.String()
	}
	return c.requestRun(ctx, s.replays(codec), r, t, t.Items(versions), output)
}

// replayServer asks a server for a replay, or for what it would be.
func (c *cli) replayServer(ctx context.Context, server *serverFlags, f *replayFlags, output string) error {
	if f.offsets != "" || f.rate > 0 {
		return usagef("--offsets and --rate go without --server: ask where the stores are")
	}
	return c.askServer(server, nil, func(r *client.Client) error {
		row, err := r.RequestReplay(ctx, order.Wanted{From: f.from, Where: f.choice.Predicate, Since: f.since, Until: f.until, Shadow: f.shadow, Stale: f.stale}, f.reason, f.dry)
		if err != nil {
			return err
		}
		if f.stale && row.Files == 0 {
			return c.tell(output, row, func(w io.Writer) error { return replay.WriteStale(w, row.From, row.Stale) })
		}
		return c.tell(output, row, row.WriteText)
	})
}

// versions are what the flags choose, and the codec with which it is read.
func (f *replayFlags) versions(ctx context.Context, s *stores) (*schemas.Codec, iter.Seq2[replay.Version, error], error) {
	if f.offsets == "" {
		codec, err := schemas.NewCodec()
		return codec, replay.Choose(ctx, s.Tracker, f.choice), err
	}
	_, codec, err := s.decided(ctx)
	if err != nil {
		return nil, nil, err
	}
	return codec, replay.ChooseOffsets(ctx, s.Kafka, codec, s.cfg.Kafka.TopicPrefix, s.Tracker, f.places), nil
}

// requestRun asks for a replay of items that a tally counts, and says so.
func (c *cli) requestRun(ctx context.Context, p *replay.Manager, r *control.ReplayRun, t *replay.Tally, items iter.Seq2[control.ReplayItem, error], output string) error {
	next, stop := iter.Pull2(items)
	defer stop()
	if _, err := p.Request(ctx, r, func() (control.ReplayItem, bool, error) {
		item, err, ok := next()
		return item, ok && err == nil, err
	}); err != nil {
		return err
	}
	row := t.Requested(r)
	return c.tell(output, row, row.WriteText)
}

// askedRun is a replay that somebody asks for here and now, with the profile that
// is configured, for shadows or for what is live.
func askedRun(cfg config.Config, shadow bool) (*control.ReplayRun, error) {
	if shadow {
		cfg = shadowConfig(cfg)
	}
	p, err := loadProfile(cfg)
	if err != nil {
		return nil, usage(err)
	}
	versions, err := json.Marshal(p.Versions())
	if err != nil {
		return nil, fmt.Errorf("versions of the profile %s: %w", p.Name, err)
	}
	r := &control.ReplayRun{ID: uuid.NewString(), By: requester(), Versions: versions}
	if shadow {
		r.ID, err = schemas.NewShadowRun()
	}
	return r, err
}

// replayFlags say what is replayed.
type replayFlags struct {
	from, since, until, offsets, reason string
	shadow                              string // its name; empty: the replay is live
	rate                                float64
	dry, stale                          bool
	choice                              replay.Choice
	places                              replay.Offsets
}

func (f *replayFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the phase to begin with: "+strings.Join(schemas.ReplayPhases(), ", "))
	flags.StringVar(&f.choice.Predicate, "where", "", "a condition in SQL on the tracker's view file; true means all files")
	flags.StringVar(&f.since, "since", "", "only files of which something was heard since then: "+asof.Moments)
	flags.StringVar(&f.until, "until", "", "only files of which nothing was heard since then")
	flags.StringVar(&f.offsets, "offsets", "", "instead, files that records of the log are about: TOPIC/PARTITION:FROM-TO, both included, of status.changed or document.ordered")
	flags.StringVar(&f.reason, "reason", "", "why, for those who read it later")
	flags.StringVar(&f.shadow, "shadow", "", "keep the results beside the live ones, under this name, for replay compare and promote")
	flags.BoolVar(&f.stale, "stale", false, "only files of which something was judged or loaded by other schemas, mapping or checks than those of now")
	flags.BoolVar(&f.dry, "dry-run", false, "only say how much it would be, and which phases would run")
	flags.Float64Var(&f.rate, "rate", 0, "at most so many files a second; 0: no limit but that 256 are under way at once")
}

const badRate = "--rate must be 0, or from 0.001 to 1000000 files a second"

func goodRate(rate float64) bool { return rate == 0 || rate >= 1e-3 && rate <= 1e6 }

// read judges the flags.
func (f *replayFlags) read(now time.Time) (err error) {
	if err := f.checkStale(); err != nil {
		return err
	}
	if f.from == "" && !f.stale {
		return usagef("from which phase? say --from with one of %s; tributary replay --help says what each does", strings.Join(schemas.ReplayPhases(), ", "))
	}
	if f.from != "" && !slices.Contains(schemas.ReplayPhases(), f.from) {
		return usagef("--from %q is not known: use %s", f.from, strings.Join(schemas.ReplayPhases(), ", "))
	}
	if err := replay.CheckShadow(f.shadow, f.from); err != nil {
		return usage(err)
	}
	if !goodRate(f.rate) {
		return usagef(badRate)
	}
	chosen := f.stale || f.choice.Predicate != "" || f.since != "" || f.until != ""
	switch {
	case chosen && f.offsets != "":
		return usagef("choose by --offsets, or by --where, --since and --until, not by both")
	case !chosen && f.offsets == "":
		return usagef("which files? say --where, --since and --until, --stale, or --offsets; --where true means all")
	}
	for _, t := range []struct {
		text string
		at   **time.Time
	}{{f.since, &f.choice.Since}, {f.until, &f.choice.Until}} {
		if t.text == "" {
			continue
		}
		at, err := asof.ParseMoment(t.text, now)
		if err != nil {
			return usage(err)
		}
		*t.at = &at
	}
	if since, until := f.choice.Since, f.choice.Until; since != nil && until != nil && !since.Before(*until) {
		return usagef("--since %s is not before --until %s, so no file is meant", f.since, f.until)
	}
	if f.offsets != "" {
		f.places, err = replay.ParseOffsets(f.offsets)
		return usage(err)
	}
	return usage(f.choice.Check())
}
