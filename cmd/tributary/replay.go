package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/schemas"
	"tributary/sql/control"
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
	output := outputFlag(cmd, "text", "json")
	var f replayFlags
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().NFlag() == 0 {
			return cmd.Help()
		}
		if err := f.read(time.Now()); err != nil {
			return err
		}
		ctx := cmd.Context()
		return c.withReplay(ctx, f.offsets != "", func(m *replay.Manager, s *stores, cfg config.Config) error {
			codec := m.Outbox.Codec
			stale, err := f.findStale(ctx, cfg, s)
			if err != nil || f.stale && f.choice.Stale == nil {
				return errors.Join(err, c.writeNothingStale(*output, f.from, stale))
			}
			var versions iter.Seq2[replay.Version, error]
			if f.offsets == "" {
				versions = replay.Choose(ctx, s.Tracker, f.choice)
			} else {
				versions = replay.ChooseOffsets(ctx, s.Kafka, codec, cfg.Kafka.TopicPrefix, s.Tracker, f.places)
			}
			t := tallyOf(f.from)
			t.shadow, t.Stale = f.shadow, stale
			if f.dry {
				for v, err := range versions {
					if err != nil {
						return err
					}
					t.take(v)
				}
				return t.write(c, *output, nil)
			}
			r, err := askedRun(cfg, f.shadow != "")
			if err != nil {
				return err
			}
			r.Phase, r.Predicate, r.Since, r.Until, r.Shadow = f.from, f.choice.Predicate, f.choice.Since, f.choice.Until, f.shadow
			r.Rate, r.Reason = f.rate, f.reason
			if f.offsets != "" {
				r.Offsets = f.places.String()
			}
			next, stop := iter.Pull2(versions)
			defer stop()
			if _, err := m.Request(ctx, r, func() (control.ReplayItem, bool, error) {
				for {
					v, err, ok := next()
					if !ok || err != nil {
						return control.ReplayItem{}, false, err
					}
					if item, ok := t.take(v); ok {
						return item, true, nil
					}
				}
			}); err != nil {
				return err
			}
			return t.write(c, *output, r)
		})
	}
	cmd.AddCommand(newReplayList(c), newReplayShow(c), newReplayStop(c), newReplayResume(c), newReplayCompare(c), newReplayPromote(c))
	return cmd
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
	if err := f.checkShadow(); err != nil {
		return err
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

// chosen counts what a replay processes again.
type chosen struct {
	from    string
	shadow  string // the name of its shadow; empty: it is live
	centres map[string]bool

	Files     int64 `json:"files"`
	Documents int64 `json:"documents"` // as far as known
	Bytes     int64 `json:"bytes"`
	Nameless  int64 `json:"nameless"` // files chosen whose names were refused: they are left out

	Stale []replay.StalePhase `json:"stale,omitempty"` // why they are chosen
}

func tallyOf(from string) *chosen {
	return &chosen{from: from, centres: map[string]bool{}}
}

// take counts a version and returns what is replayed of it, if it is: from
// data, that is its centre, once.
func (t *chosen) take(v replay.Version) (control.ReplayItem, bool) {
	if v.Centre == "" {
		t.Nameless++
		return control.ReplayItem{}, false
	}
	t.Files++
	t.Documents += v.Documents
	t.Bytes += v.Bytes
	known := t.centres[v.Centre]
	t.centres[v.Centre] = true
	if t.from == schemas.FromData {
		return control.ReplayItem{Domain: v.Centre}, !known
	}
	return control.ReplayItem{File: v.File, Archive: v.Archive}, true
}

// phasesOf are the phases that a replay runs: a shadow is not loaded.
func phasesOf(from string, shadow bool) (out []string) {
	last := schemas.Overview
	if shadow {
		last = schemas.XSD
	}
	for _, p := range schemas.Phases() {
		if p.ID() >= schemas.Phase(from).ID() && p.ID() <= last.ID() {
			out = append(out, string(p))
		}
	}
	return out
}

// requestedRow is a replay that was asked for, or would be, as -o json writes it.
type requestedRow struct {
	*chosen
	Replay  int64    `json:"replay,omitempty"` // its number
	Run     string   `json:"run,omitempty"`
	From    string   `json:"from"`
	Shadow  string   `json:"shadow,omitempty"`
	Phases  []string `json:"phases"`
	Centres []string `json:"centres"`
}

// write says what was chosen, and what is done with it. Without a run nothing is.
func (t *chosen) write(c *cli, output string, r *control.ReplayRun) error {
	row := requestedRow{chosen: t, From: t.from, Shadow: t.shadow, Phases: phasesOf(t.from, t.shadow != "")}
	for name := range t.centres {
		row.Centres = append(row.Centres, name)
	}
	slices.Sort(row.Centres)
	if r != nil {
		row.Replay, row.Run = r.Number, r.ID
	}
	if output == "json" {
		return writeJSON(c.stdout, []requestedRow{row})
	}
	what := fmt.Sprintf("%d files, %d documents, %d bytes, of %d centres", t.Files, t.Documents, t.Bytes, len(row.Centres))
	if t.Nameless > 0 {
		what += fmt.Sprintf(" (and %d files whose names were refused, of which nothing was ever fetched)", t.Nameless)
	}
	steps := cmp.Or(strings.Join(row.Phases, ", "), "none: the verdicts are known, and only rows are compared")
	see := "see tributary replay show"
	if t.shadow != "" {
		what += ", in the shadow " + t.shadow
		see = "when it is done, see tributary replay compare"
	}
	if t.from == schemas.FromData {
		steps += ", on all records of " + report.Plain(strings.Join(row.Centres, ", "))
	}
	if len(t.Stale) > 0 {
		if err := c.writeStale(t.from, t.Stale); err != nil {
			return err
		}
	}
	var err error
	if r == nil {
		_, err = fmt.Fprintf(c.stdout, "would be replayed: %s\nphases: %s\n", what, steps)
	} else {
		_, err = fmt.Fprintf(c.stdout, "replay %d (run %s): %s\nphases: %s\n%s %d\n", r.Number, r.ID, what, steps, see, r.Number)
	}
	return err
}

// withReplay opens what replays are asked for with.
func (c *cli) withReplay(ctx context.Context, broker bool, fn func(m *replay.Manager, s *stores, cfg config.Config) error) error {
	return c.withStores(ctx, need{Kafka: broker, Postgres: true}, func(cfg config.Config, s *stores) error {
		codec, err := schemas.NewCodec()
		if err != nil {
			return err
		}
		if broker {
			log, err := c.quietLogger(cfg)
			if err != nil {
				return err
			}
			if _, codec, err = s.passedOver(ctx, cfg, log); err != nil {
				return err
			}
		}
		m := &replay.Manager{Pool: s.Control, Outbox: pg.Outbox{Schema: control.Schema, Codec: codec}, Now: now}
		return fn(m, s, cfg)
	})
}
