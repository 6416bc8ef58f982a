package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultPath is the configuration file when nothing else is said.
const DefaultPath = "tributary.yaml"

// EnvPath is the environment variable that names the configuration file.
const EnvPath = "TRIBUTARY_CONFIG"

// maxFile bounds the size of a configuration file, in bytes.
const maxFile = 4 << 20

// Path is where the configuration is: the --config flag's value if given, else
// TRIBUTARY_CONFIG, else ./tributary.yaml.
func Path(flag string) string {
	if flag != "" {
		return flag
	}
	if p := os.Getenv(EnvPath); p != "" {
		return p
	}
	return DefaultPath
}

// Options say what Load leaves out.
type Options struct {
	// WithoutSourceSecrets skips the check that the files and secrets of
	// sources are there: only the roles that connect to sources need them.
	WithoutSourceSecrets bool
	// WithoutSecrets skips that check for all secrets: who says so looks at
	// Secrets and Files, and tells of each.
	WithoutSecrets bool
	// Origins, if it is a map, is told where each key is from that was given: the line
	// of the file, or the variable of the environment. Other values are defaults.
	Origins map[string]string
	// Also checks what this package can't, such as names that the profile
	// knows; report takes a key's path and what is wrong with it.
	Also func(cfg Config, report func(path, format string, args ...any))
}

// Load reads, completes and checks the configuration file at path. env is the
// environment, as os.Environ gives it, for overrides and secrets. Relative
// paths in the file become absolute, relative to the file. What is wrong is
// told all at once, as Problems.
func Load(path string, env []string, o Options) (Config, error) {
	text, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return parse(path, text, env, o)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no configuration file %s: name one with --config or %s, or write one with tributary init", path, EnvPath)
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration file can't be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("the configuration file can't be read: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the configuration file %s is larger than %s", path, Bytes(maxFile))
	}
	return text, nil
}

func parse(path string, text []byte, env []string, o Options) (Config, error) {
	d := &decoder{file: path, places: map[string]place{}}
	cfg := Default()
	if root := d.root(text); root != nil {
		d.value(root, "", "", reflect.ValueOf(&cfg).Elem())
	}
	d.overrides(env, &cfg)
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Config{}, fmt.Errorf("the folder of %s: %w", path, err)
	}
	cfg.Path = filepath.Join(dir, filepath.Base(path))
	d.complete(&cfg, dir)
	d.check(&cfg)
	d.checkSecrets(&cfg, env, o)
	if o.Also != nil {
		o.Also(cfg, d.problem)
	}
	if len(d.problems) > 0 {
		return Config{}, d.problems.sorted()
	}
	d.tell(o.Origins)
	return cfg, nil
}

// root parses the text, and is nil when there is nothing in it or it can't be
// parsed, which is then a problem.
func (d *decoder) root(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		d.syntax(err)
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		d.at(more.Line, "", "", "a second YAML document begins here: keep one, without ---")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	if _, err := (&repeats{sizes: map[*yaml.Node]int{}}).size(doc.Content[0]); err != nil {
		d.syntax(err)
		return nil
	}
	return doc.Content[0]
}

// syntax records an error of the YAML parser, or about aliases, which holds the line in words.
func (d *decoder) syntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimPrefix(message, m[0])
	}
	d.at(line, "", "", "not valid YAML: %s; look at the indentation (spaces, no tabs) and quotes around here", message)
}

// complete fills what follows from other values, and makes paths absolute.
func (d *decoder) complete(cfg *Config, dir string) {
	abs := func(paths ...*string) {
		for _, p := range paths {
			*p = absolute(*p, dir)
		}
	}
	secret := func(secrets ...*Secret) {
		for _, s := range secrets {
			*s = s.absolute(dir)
		}
	}
	for _, p := range []*string{&cfg.Profile, &cfg.ShadowProfile} {
		if strings.ContainsAny(*p, "/\\") || strings.HasPrefix(*p, ".") {
			abs(p)
		}
	}
	abs(&cfg.DataDir, &cfg.EnginesDir, &cfg.Blobs.Dir, &cfg.Kafka.TLS.CAFile, &cfg.Kafka.TLS.CertFile, &cfg.Kafka.TLS.KeyFile, &cfg.Registry.CAFile, &cfg.Traces.CAFile, &cfg.Notify.SMTP.CAFile, &cfg.Web.CertFile, &cfg.Web.KeyFile)
	secret(&cfg.Kafka.SASL.Password, &cfg.Registry.Password, &cfg.Traces.Authorization, &cfg.Notify.SMTP.Password, &cfg.Notify.Watchdog.Heartbeat, &cfg.Web.OIDC.ClientSecret, &cfg.Postgres.URL, &cfg.ClickHouse.URL)
	for i := range cfg.Notify.Targets {
		t := &cfg.Notify.Targets[i]
		abs(&t.CAFile)
		secret(&t.Webhook, &t.Secret)
	}
	if cfg.Blobs.Dir == "" && cfg.DataDir != "" {
		cfg.Blobs.Dir = filepath.Join(cfg.DataDir, "blobs")
	}
	partitions, replicas := int32(3), int16(1) // the embedded broker syncs each partition on its own
	if len(cfg.Kafka.BootstrapServers) > 0 {
		partitions, replicas = 6, 3
	}
	if cfg.Kafka.Partitions == 0 {
		cfg.Kafka.Partitions = partitions
	}
	if cfg.Kafka.ReplicationFactor == 0 {
		cfg.Kafka.ReplicationFactor = replicas
	}
	for i := range cfg.Sources {
		s := &cfg.Sources[i]
		s.absolute(dir)
		if s.Interval == 0 && s.Cron == "" {
			s.Interval = cfg.Schedule.Interval
		}
		if s.State == "" {
			s.State = StateAvailable
		}
	}
}

// absolute makes the paths of what the source is reached by absolute.
func (s *Source) absolute(dir string) {
	s.IdentityFile, s.IdentityAgent = absolute(s.IdentityFile, dir), absolute(s.IdentityAgent, dir)
	s.KnownHosts, s.CAFile = absolute(s.KnownHosts, dir), absolute(s.CAFile, dir)
	s.Password, s.IdentityPassphrase, s.Token = s.Password.absolute(dir), s.IdentityPassphrase.absolute(dir), s.Token.absolute(dir)
	s.Cookie, s.Headers, s.ProxyPassword = s.Cookie.absolute(dir), s.Headers.absolute(dir), s.ProxyPassword.absolute(dir)
}

// absolute is path relative to dir; ~/ is the user's home.
func absolute(path, dir string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
