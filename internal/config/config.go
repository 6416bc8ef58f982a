// Package config reads Tributary's configuration: one strict YAML file, with
// overrides from the environment and secrets by reference. An unknown key, a
// bad value or a missing secret is an error that names the key, the line and
// the remedy.
package config

import "time"

// Config is the whole configuration. Every key is documented where it is
// declared; Default gives the values of keys that are absent.
type Config struct {
	// Path is the file that the configuration was read from, absolute.
	Path string `yaml:"-"`

	// DataDir is where embedded engines, blobs and logs live. Relative paths
	// are relative to the configuration file.
	DataDir string `yaml:"data_dir"`
	// Profile names the built-in profile, or a directory that holds one.
	Profile string `yaml:"profile"`
	// ShadowProfile is that by which shadow replays are judged; empty: the
	// same.
	ShadowProfile string `yaml:"shadow_profile"`
	// EnginesDir is where the engines' binaries were fetched to; empty: the
	// environment's TRIBUTARY_ENGINES, then the user's data directory.
	EnginesDir string `yaml:"engines_dir"`

	Sources []Source `yaml:"sources"`
	Centres []Centre `yaml:"centres"`

	Kafka      Kafka      `yaml:"kafka"`
	Registry   Registry   `yaml:"schema_registry"`
	Postgres   Postgres   `yaml:"postgres"`
	ClickHouse ClickHouse `yaml:"clickhouse"`
	Blobs      Blobs      `yaml:"blobs"`

	Schedule Schedule `yaml:"schedule"`
	Poll     Poll     `yaml:"poll"`
	Plan     Plan     `yaml:"plan"`
	Publish  Publish  `yaml:"publish"`
	Download Download `yaml:"download"`
	Unzip    Unzip    `yaml:"unzip"`
	Validate Validate `yaml:"validate"`
	Sequence Sequence `yaml:"sequence"`
	Insert   Insert   `yaml:"insert"`
	Tracker  Tracker  `yaml:"tracker"`
	History  History  `yaml:"history"`
	Traces   Traces   `yaml:"traces"`
	Notify   Notify   `yaml:"notify"`

	Limits Limits `yaml:"limits"`

	HTTP HTTP `yaml:"http"`
	Web  Web  `yaml:"web"`
	Log  Log  `yaml:"log"`
}

// Source is a base path on a server, run by a centre.
type Source struct {
	ID     string `yaml:"id"`     // stable name of the source
	Centre string `yaml:"centre"` // short name of the centre that runs it
	URL    string `yaml:"url"`    // sftp://user@host:port/base, ftp://user@host/base, ftpes://user@host/base, ftps://user@host/base, https://host/base, http://host/base, s3://keyid@bucket/base or file:///dir
	Hosts  Hosts  `yaml:"hosts"`  // centres whose files it may show beside its own centre's; all for a mirror

	Password           Secret   `yaml:"password"`                 // env:NAME or file:PATH
	IdentityFile       string   `yaml:"identity_file"`            // private key for SFTP
	IdentityAgent      string   `yaml:"identity_agent"`           // socket of an ssh-agent, which signs with the keys that it holds, SFTP
	IdentityPassphrase Secret   `yaml:"identity_passphrase"`      // of the private key
	KnownHosts         string   `yaml:"known_hosts"`              // known_hosts file that holds the host's key
	HostKey            []string `yaml:"host_key"`                 // pinned host keys: SHA256:… or a public key line
	Jump               []string `yaml:"jump,omitempty"`           // jump hosts through which an SFTP server is reached, user@host:port, in order, 3 at most
	Token              Secret   `yaml:"token"`                    // env:NAME or file:PATH: logs in to an HTTP server as Authorization: Bearer
	Feed               string   `yaml:"feed,omitempty"`           // RSS or Atom feed of an HTTP server, relative to url, that shows the files below url in place of index pages
	WebDAV             bool     `yaml:"webdav,omitempty"`         // an HTTP server is asked by WebDAV what its directories hold, in place of index pages
	Cookie             Secret   `yaml:"cookie,omitempty"`         // env:NAME or file:PATH: what an HTTP server is told as the header Cookie
	Headers            Secret   `yaml:"headers,omitempty"`        // env:NAME or file:PATH: what an HTTP server is told in other headers, one a line, Name: value
	Proxy              string   `yaml:"proxy,omitempty"`          // http://user@host:port through which an HTTP server is reached; default: none
	ProxyPassword      Secret   `yaml:"proxy_password,omitempty"` // env:NAME or file:PATH: of the proxy's user
	CAFile             string   `yaml:"ca_file"`                  // certificates, in PEM form, of those who vouch for an HTTPS or FTPS server; default: the system's
	CertificatePin     []string `yaml:"certificate_pin"`          // pinned public keys of the certificate of an HTTPS or FTPS server: sha256//…
	Robots             string   `yaml:"robots"`                   // obey (default), or ignore: what an HTTP server's robots.txt asks programs to leave alone is asked for

	Endpoint      string `yaml:"endpoint,omitempty"`       // server of an S3 bucket, https://host:port; default: Amazon's in region
	Region        string `yaml:"region,omitempty"`         // where an S3 bucket is; default us-east-1
	VirtualHosted bool   `yaml:"virtual_hosted,omitempty"` // the S3 bucket is asked for as bucket.host, not as host/bucket; at Amazon it always is

	Interval    Duration `yaml:"interval"`              // between polls; default schedule.interval
	MaxInterval Duration `yaml:"max_interval"`          // to which interval doubles while polls find nothing new or changed; default: it stays
	Cron        string   `yaml:"cron"`                  // in place of interval: minute, hour, day of the month, month and day of the week at which it is polled; @once: until one poll is complete, then when a person asks
	TimeZone    string   `yaml:"time_zone"`             // of cron, windows and the limits of a day, an IANA name; default UTC
	Windows     []Window `yaml:"windows"`               // outside of which no poll and no job begins; none: always
	MaxSessions int      `yaml:"max_sessions"`          // connections to its server at once, polls included; the least of a server's sources counts
	Priority    *int     `yaml:"priority"`              // 0 to 9, 9 comes first: sources of a server share its sessions by priority + 1; default 5
	Preference  *int     `yaml:"preference,omitempty"`  // 0 to 9, 9 comes first: of several sources that host a file the producing centre's own are asked first, among these and among the others by preference, then by reputation; default 5
	Server      string   `yaml:"server"`                // under which name its sessions are counted, in small letters; default the url's host:port. Sources that name the same share its max_sessions
	State       string   `yaml:"state"`                 // available (default), or maintenance: not polled and not fetched from; counts when it says another than before
	Filters     Filters  `yaml:"filters"`               // which entries it shows are taken: in order, the first pattern that fits decides, what none fits is taken
	DoneFile    string   `yaml:"done_file,omitempty"`   // name of the file beside another that says that this is whole: * stands for its name without .zip; default: none is waited for
	MinSize     Bytes    `yaml:"min_size,omitempty"`    // of files that are taken, as listed: smaller ones are left; default: none is too small
	MaxSize     Bytes    `yaml:"max_size,omitempty"`    // likewise larger ones; default: none is too large
	MinAge      Duration `yaml:"min_age,omitempty"`     // how long ago a file must have been changed, by its server's clock: younger ones are left until then; default: none is too young
	MaxAge      Duration `yaml:"max_age,omitempty"`     // how long ago it may have been changed: older ones are left, what was taken before stays; default: none is too old
	LatestOnly  bool     `yaml:"latest_only,omitempty"` // of each centre's files in a directory only the latest is taken, by date and increment in their names; default: all are
	DisableEPSV bool     `yaml:"disable_epsv"`          // for FTP servers behind address translation
	MayBeEmpty  bool     `yaml:"may_be_empty"`          // directories that held files may be missing: then these count as gone
	DoneWith    string   `yaml:"done_with,omitempty"`   // once all of a file is inserted: delete, move DIRECTORY (relative to url) or mark SUFFIX (default .done: an empty file beside it), by SFTP, FTP, S3, WebDAV and in local directories; only shown until tributary sources act
	Description string   `yaml:"description,omitempty"` // for people, up to 500 characters: what lies there, who is asked, where that is written down

	MaxEntries     int   `yaml:"max_entries,omitempty"`       // of one listing, all directories together: if it shows more, nothing of it is taken and the source suspended; default: no limit but poll.max_entries
	MaxNew         int   `yaml:"max_new,omitempty"`           // new and changed files that one poll takes up; default poll.max_new
	MaxNewBytes    Bytes `yaml:"max_new_bytes,omitempty"`     // of them, as listed; the first file is taken up whatever its size; default: no limit
	MaxFilesPerDay int64 `yaml:"max_files_per_day,omitempty"` // new and changed files that its polls take up on a day in time_zone; default: no limit
	MaxBytesPerDay Bytes `yaml:"max_bytes_per_day,omitempty"` // of them, as listed; the first file of a day is taken up whatever its size; default: no limit

	ConnectTimeout Duration `yaml:"connect_timeout,omitempty"` // to connect and log in; the members' own (poll.connect_timeout, download.connect_timeout) where that is shorter; default: theirs
	IdleTimeout    Duration `yaml:"idle_timeout,omitempty"`    // without a byte from the server; likewise

	Throttle Throttles `yaml:"throttle,omitempty"` // how fast its server, or it alone, is asked by all members together; of its server's sources the least counts

	CompleteEvery Duration `yaml:"complete_every,omitempty"` // after which a poll is complete again; those between pass over directories whose own time says that no file has come; default: every poll is complete
}

// Centre adds a centre to the profile's, or replaces its particulars.
type Centre struct {
	ShortName string `yaml:"short_name"`
	FullName  string `yaml:"full_name"`
	Email     string `yaml:"email"`
	Phone     string `yaml:"phone"`
	Address   string `yaml:"address"`
	IMITSName string `yaml:"imits_name"`
	Active    *bool  `yaml:"active"` // default true
}

// Web serves the pages and the API.
type Web struct {
	Listen   string `yaml:"listen"`    // host:port; empty (default): up takes DefaultWeb or another free port, and nobody else serves them; NoWeb: nobody does
	Prefix   string `yaml:"prefix"`    // path below which a proxy passes requests on, such as /tributary; empty (default): none
	URL      string `yaml:"url"`       // where browsers reach them, with the prefix: https://…; empty (default): as oidc.url, or nobody says it, and notices lead nowhere
	CertFile string `yaml:"cert_file"` // file in PEM with the chain; empty (default): without TLS
	KeyFile  string `yaml:"key_file"`  // file in PEM with its private key
	Insecure bool   `yaml:"insecure"`  // beyond loopback without TLS: passwords can be read on the way

	OIDC OIDC `yaml:"oidc"`

	Proxies []string `yaml:"proxies"` // addresses or networks of proxies before the pages, whose word on who asks (X-Forwarded-For) is taken; default: nobody's
}

// OIDC is a provider with which people log in to the pages (OpenID Connect).
type OIDC struct {
	Issuer       string   `yaml:"issuer"`        // https://…; empty (default): there is none
	ClientID     string   `yaml:"client_id"`     // of Tributary there
	ClientSecret Secret   `yaml:"client_secret"` // env:NAME or file:PATH
	URL          string   `yaml:"url"`           // where browsers reach the pages, with the prefix; the provider must know URL/login/oidc/callback
	NameClaim    string   `yaml:"name_claim"`    // what the account is called; default preferred_username
	RoleClaim    string   `yaml:"role_claim"`    // what roles go by; default groups
	Scopes       []string `yaml:"scopes"`        // beside openid and profile, where the provider wants some for the claims

	Roles OIDCRoles `yaml:"roles"` // whom each role is given to, by values of role_claim; the highest counts
}

// OIDCRoles are values of role_claim that have a role.
type OIDCRoles struct {
	Reader   []string `yaml:"reader"`
	Wrangler []string `yaml:"wrangler"`
	Operator []string `yaml:"operator"`
}

// DefaultWeb is where up serves the pages if no address is configured, and NoWeb what is
// written for one to have nobody serve them.
const (
	DefaultWeb = "127.0.0.1:8400"
	NoWeb      = "off"
)

// HTTP serves /livez, /readyz and /metrics.
type HTTP struct {
	Listen string `yaml:"listen"` // host:port; empty (default): not served
}

// Log configures logging to stderr.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error; default info
	Format string `yaml:"format"` // text, json, or auto: text on a terminal; default auto
}

// Default returns the configuration of keys that are absent.
func Default() Config {
	d := func(v time.Duration) Duration { return Duration(v) }
	stage := Stage{Parallelism: 4, Window: 256, Stall: d(5 * time.Minute), Grace: d(10 * time.Second), BackoffMax: d(time.Minute)}
	return Config{
		DataDir: "./data", Profile: "impc",
		Kafka:      Kafka{TopicPrefix: "tributary", LogAlarmShare: 0.25, GroupProtocol: "classic", SessionTimeout: d(45 * time.Second)},
		Postgres:   Postgres{MaxConnections: 8},
		ClickHouse: ClickHouse{Database: "tributary", MaxMemory: 2 << 30},
		Blobs:      Blobs{MinFree: 1 << 30, MinFreeShare: 0.05, ServerShare: 0.5},
		Schedule:   Schedule{Interval: d(15 * time.Minute), Jitter: 0.1, Tick: d(time.Second)},
		Poll: Poll{Parallelism: 8, Timeout: d(5 * time.Minute), Attempts: 3, Settle: d(30 * time.Second), GoneAfter: 2, MaxMissingShare: 0.5,
			MaxEntries: 5_000_000, MaxNew: 10_000, SuspendAfter: 10, SuspendSooner: ByClass{Authorization: 3}, ProbeInterval: d(6 * time.Hour), MaxListingBytes: 256 << 20, MaxIgnored: 1000, KeepListings: d(90 * 24 * time.Hour), ConnectTimeout: d(15 * time.Second), IdleTimeout: d(time.Minute)},
		Plan: Plan{MaxSessions: 4, JobFiles: 256, JobBytes: 64 << 20, Attempts: 3, Backoff: d(5 * time.Second), BackoffMax: d(5 * time.Minute),
			RetryFailed: d(time.Hour), SilenceBudget: d(10 * time.Minute)},
		Publish: Publish{Batch: 2000, Interval: d(2 * time.Second), LeaseTTL: d(10 * time.Second)},
		Download: Download{Stage: Stage{Parallelism: 8, Window: 64, Stall: d(5 * time.Minute), Grace: d(10 * time.Second), BackoffMax: d(time.Minute)},
			MaxFileSize: 64 << 30, ConnectTimeout: d(15 * time.Second), IdleTimeout: d(time.Minute), Checksums: true,
			MinRate: 1 << 10, RateGrace: d(30 * time.Second), FileBudget: d(12 * time.Hour), JobBudget: d(10 * time.Minute), DetachAfter: d(20 * time.Second), MaxDetached: 64, PartialBytes: 64 << 30, ProgressInterval: d(10 * time.Second)},
		Unzip:    Unzip{Stage: stage, MaxEntries: 65535, MaxTotal: 4 << 30, MaxRatio: 200, RatioFree: 1_000_000},
		Validate: Validate{Stage: stage, MaxErrors: 500, MaxBytes: 4 << 30, MaxDepth: 256, MaxAttributes: 4096},
		Sequence: Sequence{PollCutoff: d(10 * time.Minute), ReleaseLimit: d(30 * time.Minute), LateLimit: d(time.Minute), Interval: d(500 * time.Millisecond)},
		Insert:   Insert{Batch: 500, BatchRows: 50000, Parallelism: 2, LeaseTTL: d(10 * time.Second)},
		Tracker:  Tracker{Batch: 20000, Wait: d(4 * time.Second)},
		History:  History{Batch: 8000, Wait: d(8 * time.Second)},
		Notify:   Notify{SMTP: SMTP{TLS: TLSStart}, GiveUpAfter: d(24 * time.Hour), Watchdog: Watchdog{Interval: d(time.Minute), StoppedAfter: d(15 * time.Minute)}},
		Limits:   Limits{Reply: 64 << 10, Listing: 2 << 30},
		Web:      Web{OIDC: OIDC{NameClaim: "preferred_username", RoleClaim: "groups"}},
		Log:      Log{Level: "info", Format: "auto"},
	}
}
