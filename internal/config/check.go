package config

import (
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/internal/infile"
)

// The states that a configuration may give a source.
const (
	StateAvailable   = "available"
	StateMaintenance = "maintenance"
)

// What a source may make of an HTTP server's robots.txt.
const (
	RobotsObey   = "obey"
	RobotsIgnore = "ignore"
)

// check records what is wrong with values that could be read.
func (d *decoder) check(cfg *Config) {
	d.checkNumbers(reflect.ValueOf(cfg).Elem(), "")
	for _, c := range []struct{ path, value string }{{"data_dir", cfg.DataDir}, {"profile", cfg.Profile}, {"clickhouse.database", cfg.ClickHouse.Database}} {
		if c.value == "" {
			d.problem(c.path, "is empty: give a value, or take the key out for the default")
		}
	}
	d.checkKafka(cfg.Kafka)
	d.checkRegistry(cfg.Registry)
	d.checkTraces(cfg.Traces)
	d.checkNotify(cfg.Notify)
	d.oneOf("log.level", cfg.Log.Level, "debug", "info", "warn", "error")
	d.oneOf("log.format", cfg.Log.Format, "auto", "text", "json")
	if cfg.HTTP.Listen != "" {
		d.address("http.listen", cfg.HTTP.Listen)
	}
	d.checkWeb(cfg.Web)
	if !identifier().MatchString(cfg.ClickHouse.Database) && cfg.ClickHouse.Database != "" {
		d.problem("clickhouse.database", "%q is not a plain name: use letters, digits and _", cfg.ClickHouse.Database)
	}
	d.plainURL("postgres.url", cfg.Postgres.URL, "postgres", "postgresql")
	d.checkListen(cfg.Postgres)
	d.plainURL("clickhouse.url", cfg.ClickHouse.URL, "clickhouse", "clickhouses", "http", "https")
	d.checkCentres(cfg.Centres)
	d.checkSources(cfg.Sources)
}

func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// zeroAllowed lists the numbers that may be 0, which then means what their
// comment says; every other number must be greater.
func zeroAllowed() []string {
	return []string{"kafka.log_alarm_share", "kafka.partitions", "kafka.replication_factor", "schedule.jitter", "poll.settle", "poll.max_ignored", "poll.keep_listings", "poll.suspend_after", "poll.suspend_sooner.address", "poll.suspend_sooner.timeout", "poll.suspend_sooner.server", "poll.suspend_sooner.connection", "poll.suspend_sooner.authorization", "plan.backoff", "plan.max_retries", "download.partial_bytes", "download.progress_interval", "sequence.late_limit",
		"sources.interval", "sources.max_interval", "sources.complete_every", "sources.connect_timeout", "sources.idle_timeout", "sources.max_sessions", "blobs.min_free", "blobs.min_free_share", "history.retention", "notify.targets.digest"}
}

// checkNumbers walks all values: no number is negative, few are zero.
func (d *decoder) checkNumbers(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			d.checkNumbers(v.FieldByIndex(f.index), join(at, f.name))
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.checkNumbers(v.Index(i), item(at, i))
		}
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		d.positive(at, float64(v.Int()))
		if at == "history.retention" && v.Int() > 0 && v.Int() < int64(24*time.Hour) {
			d.problem(at, "is too short: write 24h or more, or 0s to keep every row")
		}
	case reflect.Float64:
		d.positive(at, v.Float())
		if at == "schedule.jitter" && v.Float() > 1 {
			d.problem(at, "is a share of the interval: write a number from 0 to 1")
		}
		if at == "poll.max_missing_share" && v.Float() > 1 {
			d.problem(at, "is a share of a directory's files: write a number above 0, up to 1")
		}
		if at == "blobs.server_share" && v.Float() > 1 {
			d.problem(at, "is a share of the room: write a number above 0, up to 1")
		}
		if (at == "blobs.min_free_share" || at == "kafka.log_alarm_share") && v.Float() > 1 {
			d.problem(at, "is a share of the file system: write a number from 0 to 1")
		}
	}
}

func (d *decoder) positive(at string, n float64) {
	if _, given := d.places[at]; !given {
		return
	}
	generic := regexp.MustCompile(`\[\d+\]`).ReplaceAllString(at, "")
	switch {
	case d.hasProblem(at):
	case n < 0:
		d.problem(at, "is negative: write a value above 0, or take the key out for the default")
	case n == 0 && !slices.Contains(zeroAllowed(), generic):
		d.problem(at, "is 0: write a value above 0, or take the key out for the default")
	}
}

// hasProblem keeps a value that could not be read from being judged as well.
func (d *decoder) hasProblem(at string) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Path == at })
}

func (d *decoder) checkKafka(k Kafka) {
	for i, server := range k.BootstrapServers {
		d.address(item("kafka.bootstrap_servers", i), server)
	}
	if k.ListenAddress != "" {
		d.address("kafka.listen_address", k.ListenAddress)
	}
	if !regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]{0,99}$`).MatchString(k.TopicPrefix) {
		d.problem("kafka.topic_prefix", "%q can't begin a topic's name: use up to 100 letters, digits, dots and dashes (no _: it collides with . in metrics)", k.TopicPrefix)
	}
	d.oneOf("kafka.group_protocol", k.GroupProtocol, "classic", "consumer")
	if k.SASL.Mechanism != "" {
		d.oneOf("kafka.sasl.mechanism", k.SASL.Mechanism, "plain", "scram-sha-256", "scram-sha-512")
		if k.SASL.Username == "" {
			d.problem("kafka.sasl.username", "is missing: the mechanism %s needs one", k.SASL.Mechanism)
		}
		if k.SASL.Password == "" {
			d.problem("kafka.sasl.password", "is missing: write file:PATH or env:NAME")
		}
	} else if k.SASL.Username != "" || k.SASL.Password != "" {
		d.problem("kafka.sasl.mechanism", "is missing: set plain, scram-sha-256 or scram-sha-512")
	}
	if (k.TLS.CertFile == "") != (k.TLS.KeyFile == "") {
		d.problem("kafka.tls", "cert_file and key_file belong together: set both or neither")
	}
	if !k.TLS.Enabled && (k.TLS.CAFile != "" || k.TLS.CertFile != "" || k.TLS.ServerName != "") {
		d.problem("kafka.tls.enabled", "is not true, though other keys of tls are set: add enabled: true")
	}
	for _, f := range []struct{ key, file string }{{"ca_file", k.TLS.CAFile}, {"cert_file", k.TLS.CertFile}, {"key_file", k.TLS.KeyFile}} {
		d.readable("kafka.tls."+f.key, f.file)
	}
}

// checkListen looks at the door of the embedded Postgres.
func (d *decoder) checkListen(p Postgres) {
	if p.Listen == "" {
		return
	}
	if p.URL != "" {
		d.problem("postgres.listen", "opens a door to the embedded engine, and postgres.url names another: take one of them out; a Postgres of your own has its own doors")
		return
	}
	d.address("postgres.listen", p.Listen)
	host, _, err := net.SplitHostPort(p.Listen)
	if ip := net.ParseIP(host); err == nil && (ip == nil || !ip.IsLoopback()) {
		d.problem("postgres.listen", "%q is not on loopback: the door has no TLS, so write 127.0.0.1:PORT or [::1]:PORT and reach it from elsewhere through ssh -L", p.Listen)
	}
}

func (d *decoder) checkCentres(centres []Centre) {
	first := map[string]int{}
	for i, c := range centres {
		at := item("centres", i) + ".short_name"
		if c.ShortName == "" {
			d.problem(at, "is missing: it is how the centre stands in file names")
			continue
		}
		key := strings.ToLower(c.ShortName)
		if j, twice := first[key]; twice {
			d.problem(at, "%q is %s too (line %d), capitals don't matter: keep one", c.ShortName, item("centres", j), d.where(item("centres", j)+".short_name").line)
			continue
		}
		first[key] = i
	}
}

// plainURL checks the address of a database that is not a reference.
func (d *decoder) plainURL(at string, s Secret, schemes ...string) {
	if s == "" || s.IsReference() {
		return
	}
	u, err := url.Parse(string(s))
	if err != nil || !slices.Contains(schemes, u.Scheme) {
		d.problem(at, "is neither file:PATH, env:NAME nor an address: write %s://user@host/name", schemes[0])
		return
	}
	_, password := u.User.Password()
	if password || u.Query().Has("password") {
		d.problem(at, "holds a password: put the whole address into a file or the environment and write file:PATH or env:NAME")
	}
}

func (d *decoder) oneOf(at, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		d.problem(at, "%q is not known: use %s", value, strings.Join(allowed, ", "))
	}
}

func (d *decoder) address(at, value string) {
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		d.problem(at, "%q is not an address: write host:port", value)
	}
}

func (d *decoder) readable(at, file string) {
	if file == "" {
		return
	}
	f, err := infile.Open(file)
	if err != nil {
		d.problem(at, "can't be read: %s: put the file there, readable by this user, or correct the path (relative paths are relative to the configuration)", err)
		return
	}
	f.Close()
}

// checkSecrets looks whether every reference leads somewhere.
func (d *decoder) checkSecrets(cfg *Config, env []string, o Options) {
	lookup := func(name string) (string, bool) {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
	secret := func(at string, s Secret) {
		if d.hasProblem(at) {
			return
		}
		if _, err := s.resolve(lookup); err != nil {
			d.problem(at, "%s", err)
		}
	}
	for _, s := range cfg.Secrets() {
		ofSource := strings.HasPrefix(s.Key, "sources[")
		if ofSource && !d.isReference(s.Key, s.Secret) || o.WithoutSecrets || ofSource && o.WithoutSourceSecrets {
			continue
		}
		secret(s.Key, s.Secret)
	}
	if o.WithoutSecrets || o.WithoutSourceSecrets {
		return
	}
	for i, s := range cfg.Sources {
		at := item("sources", i)
		d.readable(at+".identity_file", s.IdentityFile)
		d.readable(at+".known_hosts", s.KnownHosts)
		d.readable(at+".ca_file", s.CAFile)
	}
}

// isReference refuses a secret that is written plainly.
func (d *decoder) isReference(at string, s Secret) bool {
	if s == "" || s.IsReference() {
		return s != ""
	}
	d.problem(at, "is written plainly: put it into a file or the environment and write file:PATH or env:NAME")
	return false
}

func identifier() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`) }
