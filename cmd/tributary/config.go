package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/sql/warehouse"
)

func newConfig(c *cli) *cobra.Command {
	return group("config", "Look at the configuration", newConfigCheck(c), newConfigDump(c))
}

func newConfigCheck(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with the configuration, line by line",
		Long: "Read the configuration, the environment's overrides, the profile and the secrets' whereabouts, and say everything that is wrong, and whose files each source may show. Nothing is connected to; see sources check, and profile check for a profile of your own.\n\n" +
			"With --connect it also asks each store that an address is configured for, at most half a minute, for its version, its rights\n" +
			"and its topics, and says line by line what to do about what is missing. Nothing is changed. Exit code 1 if anything is missing.",
		Args: cobra.NoArgs,
	}
	connect := cmd.Flags().Bool("connect", false, "also connect to the stores; sources check connects to the sources")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.load()
		if err != nil {
			return err
		}
		profiles := cfg.Profile
		if cfg.ShadowProfile != "" {
			profiles += ", shadows by " + cfg.ShadowProfile
			if err := checkMapping(shadowConfig(cfg)); err != nil {
				return err
			}
		}
		if err := checkMapping(cfg); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "%s is good: %d sources, profile %s, data in %s\n", cfg.Path, len(cfg.Sources), profiles, cfg.DataDir)
		for _, s := range cfg.Sources {
			fmt.Fprintf(c.stdout, "  %s\n", hosting(s))
		}
		if *connect {
			return c.connect(cmd.Context(), cfg)
		}
		return nil
	}
	return cmd
}

// hosting says whose files a source may show.
func hosting(s config.Source) string {
	shown := s.Shown(func(centre string) string { return centre })
	switch {
	case shown == nil:
		return s.ID + " hosts files of every centre"
	case len(shown) == 1:
		return s.ID + " hosts files of " + s.Centre + " only"
	}
	return fmt.Sprintf("%s hosts files of %s, and of others: %s", s.ID, s.Centre, strings.Join(shown[1:], ", "))
}

// loadProfile reads the configured profile: a built-in one or a folder.
func loadProfile(cfg config.Config) (*profile.Profile, error) {
	if strings.Contains(cfg.Profile, string(os.PathSeparator)) {
		return profile.Load(os.DirFS(cfg.Profile))
	}
	return profile.Builtin(cfg.Profile)
}

// shadowConfig is the configuration by which shadow runs are judged and
// compared: its profile is the one for shadows, if there is one.
func shadowConfig(cfg config.Config) config.Config {
	cfg.Profile = cmp.Or(cfg.ShadowProfile, cfg.Profile)
	return cfg
}

// checkMapping finds out whether the configured profile's mapping can be read,
// and its SQL fits it.
func checkMapping(cfg config.Config) error {
	p, m, err := configuredMapping(cfg)
	if err != nil {
		return err
	}
	statements, err := warehouse.Load(p.FS())
	if err == nil {
		err = statements.Fit(m)
	}
	if err != nil {
		return usage(fmt.Errorf("SQL of the profile %s: %w", p.Name, err))
	}
	return nil
}

// loadMapping reads the mapping of a profile.
func loadMapping(p *profile.Profile) (*mapping.Mapping, error) {
	m, err := mapping.Load(p.FS())
	if err != nil {
		return nil, fmt.Errorf("mapping of the profile %s: %w", p.Name, err)
	}
	return m, nil
}

// configuredMapping reads the configured profile, and how its documents become
// rows.
func configuredMapping(cfg config.Config) (*profile.Profile, *mapping.Mapping, error) {
	p, err := loadProfile(cfg)
	if err != nil {
		return nil, nil, usage(err)
	}
	m, err := loadMapping(p)
	return p, m, usage(err)
}

// checkProfile finds out whether the profile can be read and knows every
// source's centre, and whether the one for shadows can be read.
func checkProfile(cfg config.Config, report func(path, format string, args ...any)) {
	load := func(path string, cfg config.Config) *profile.Profile {
		p, err := loadProfile(cfg)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				report(path, "%s", line)
			}
		}
		return p
	}
	if cfg.ShadowProfile != "" {
		if p := load("shadow_profile", shadowConfig(cfg)); p != nil {
			if _, err := centres.Set(p, cfg); err != nil {
				report("shadow_profile", "its centres and those below centres: %s", err)
			}
		}
	}
	p := load("profile", cfg)
	if p == nil {
		return
	}
	set, err := centres.Set(p, cfg)
	if err != nil {
		report("centres", "%s", err)
		return
	}
	for i, s := range cfg.Sources {
		if _, ok := set.Lookup(s.Centre); !ok && s.Centre != "" {
			report(fmt.Sprintf("sources[%d].centre", i), "the centre %q is neither in the profile %s nor below centres: correct it, or add it there", s.Centre, p.Name)
		}
		for j, h := range s.Hosts {
			if _, ok := set.Lookup(h.Centre); !ok && h.Centre != "" && h.Centre != config.AllCentres {
				report(fmt.Sprintf("sources[%d].hosts[%d]", i, j), "the centre %q is neither in the profile %s nor below centres: correct it, or add it there", h.Centre, p.Name)
			}
		}
	}
}

func newConfigDump(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "dump",
		Short: "Write the configuration in effect: file, environment and defaults",
		Long:  "Write the configuration in effect as YAML: the file, overridden by the environment, completed with defaults. Secrets stay references.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadWith(config.Options{WithoutSourceSecrets: true})
			if err != nil {
				return err
			}
			text, err := cfg.Dump()
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(text)
			return err
		},
	}
}
