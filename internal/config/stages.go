package config

import "maps"

// Schedule configures when sources are polled.
type Schedule struct {
	Interval Duration `yaml:"interval"` // between polls of a source; default 15m
	Jitter   float64  `yaml:"jitter"`   // share of the interval by which polls are spread; default 0.1
	Tick     Duration `yaml:"tick"`     // how often due sources are looked for; default 1s
}

// Poll configures listings.
type Poll struct {
	Parallelism int      `yaml:"parallelism"` // polls at once in this process; default 8
	Timeout     Duration `yaml:"timeout"`     // of one poll; default 5m
	Attempts    int      `yaml:"attempts"`    // to list a source within one session; default 3
	Settle      Duration `yaml:"settle"`      // how long a file must have looked the same, by our clock; default 30s, none with --once
	GoneAfter   int      `yaml:"gone_after"`  // complete listings without a file before it is gone; default 2
	MaxEntries  int      `yaml:"max_entries"` // of one poll, all directories together; more is a broken-off poll; default 5000000

	MaxMissingShare float64 `yaml:"max_missing_share"` // of at least 20 files that were listed in a directory: if a listing lacks more, it is broken off, and nothing is gone; default 0.5, 1: never

	MaxNew        int      `yaml:"max_new"`        // new and changed files of a source that one poll takes up; the next polls take the rest, in turns; default 10000
	SuspendAfter  int      `yaml:"suspend_after"`  // failed polls in a row, over poll.probe_interval, after which a source is suspended; default 10, 0: never
	SuspendSooner ByClass  `yaml:"suspend_sooner"` // failed polls with errors of one class after which it is suspended before that
	ProbeInterval Duration `yaml:"probe_interval"` // at least, before a suspended source is polled again; the pauses grow to eight times that; default 6h

	MaxListingBytes Bytes    `yaml:"max_listing_bytes"` // of all names of one poll together; more is a broken-off poll; default 256MiB
	MaxIgnored      int      `yaml:"max_ignored"`       // names that are kept per source of what its last listing showed and was passed over; default 1000, 0: none
	KeepListings    Duration `yaml:"keep_listings"`     // how long is kept what each listing showed, of one source 1 GiB at most; default 2160h, 0: nothing

	ConnectTimeout Duration `yaml:"connect_timeout"` // for connecting and logging in, together; default 15s
	IdleTimeout    Duration `yaml:"idle_timeout"`    // for the whole reply to a request, and without a byte of a listing; default 60s
}

// ByClass are numbers of failed polls by the class of their errors, as package
// exception classes them; 0: no number of that class.
type ByClass struct {
	Address       int `yaml:"address"`       // default 0
	Timeout       int `yaml:"timeout"`       // default 0
	Server        int `yaml:"server"`        // default 0
	Connection    int `yaml:"connection"`    // default 0
	Authorization int `yaml:"authorization"` // default 3
}

// Numbers are those that are not 0, by the names of their classes.
func (c ByClass) Numbers() map[string]int {
	all := map[string]int{"address": c.Address, "timeout": c.Timeout, "server": c.Server, "connection": c.Connection, "authorization": c.Authorization}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

// Limits bound what servers send, beside the limits of the stages.
type Limits struct {
	Reply   Bytes `yaml:"reply"`   // of an FTP server to one command; default 64KiB
	Listing Bytes `yaml:"listing"` // of one directory, as it is sent; default 2GiB
}

// Plan configures what is fetched, from where, and how often.
type Plan struct {
	MaxSessions   int      `yaml:"max_sessions"`   // connections to a server at once where its sources don't say; default 4
	JobFiles      int      `yaml:"job_files"`      // files in one job at most; default 256
	JobBytes      Bytes    `yaml:"job_bytes"`      // listed bytes in one job at most; a larger file goes alone; default 64MiB
	Attempts      int      `yaml:"attempts"`       // per hosting before it is given up; default 3
	Backoff       Duration `yaml:"backoff"`        // before the second attempt at a hosting, doubling; default 5s
	BackoffMax    Duration `yaml:"backoff_max"`    // default 5m; with --once no wait exceeds 5s
	RetryFailed   Duration `yaml:"retry_failed"`   // first pause before a file that failed for good is tried again, doubling up to 24h; default 1h
	MaxRetries    int      `yaml:"max_retries"`    // how often it is, before it waits for a new version or an order; 0: without end; default 0
	SilenceBudget Duration `yaml:"silence_budget"` // without news before something outstanding is requested again; default 10m
}

// Publish configures the outboxes' publisher.
type Publish struct {
	Batch    int      `yaml:"batch"`     // events read at once; default 2000
	Interval Duration `yaml:"interval"`  // longest wait when no notification comes; default 2s
	LeaseTTL Duration `yaml:"lease_ttl"` // default 10s
}

// Stage holds what every Kafka-to-Kafka stage has.
type Stage struct {
	Parallelism int      `yaml:"parallelism"` // records worked on at once
	Window      int      `yaml:"window"`      // records in hand per partition, finished but not committed included
	Stall       Duration `yaml:"stall"`       // longest time without progress of one record
	Grace       Duration `yaml:"grace"`       // to finish when stopping
	BackoffMax  Duration `yaml:"backoff_max"` // longest pause before a record that failed is tried again
}

// Download configures fetching.
type Download struct {
	Stage          `yaml:",inline"`
	MaxFileSize    Bytes    `yaml:"max_file_size"` // default 64GiB
	ConnectTimeout Duration `yaml:"connect_timeout"`
	IdleTimeout    Duration `yaml:"idle_timeout"`
	Checksums      bool     `yaml:"checksums"`    // look for <name>.md5 beside a file; default true
	MinRate        Bytes    `yaml:"min_rate"`     // bytes a second that a connection's transfers must bring together, on average over rate_grace; else they end too_slow; default 1KiB
	RateGrace      Duration `yaml:"rate_grace"`   // how long a transfer may be slower; default 30s
	FileBudget     Duration `yaml:"file_budget"`  // for all that is done for one file; default 12h
	JobBudget      Duration `yaml:"job_budget"`   // after which a connection begins no further file: the rest is requested again; default 10m
	DetachAfter    Duration `yaml:"detach_after"` // after which a job goes on outside of its partition, so that others are not delayed; default 20s
	MaxDetached    int      `yaml:"max_detached"` // jobs that do so in one process at once; default 64

	PartialBytes Bytes `yaml:"partial_bytes"` // of files whose transfers were cut, kept so that the next attempt goes on behind them; 0: none; default 64GiB

	ProgressInterval Duration `yaml:"progress_interval"` // least time between two events that tell how far a transfer is; 0: none tells; default 10s
}

// Unzip configures the limits on archives.
type Unzip struct {
	Stage      `yaml:",inline"`
	MaxEntries int     `yaml:"max_entries"` // default 65535
	MaxTotal   Bytes   `yaml:"max_total"`   // uncompressed, all entries; default 4GiB
	MaxRatio   float64 `yaml:"max_ratio"`   // of an entry beyond ratio_free; default 200
	RatioFree  Bytes   `yaml:"ratio_free"`  // default 1MB
}

// Validate configures validation.
type Validate struct {
	Stage         `yaml:",inline"`
	MaxErrors     int   `yaml:"max_errors"`     // kept per document; default 500
	MaxBytes      Bytes `yaml:"max_bytes"`      // of one document; default 4GiB
	MaxDepth      int   `yaml:"max_depth"`      // default 256
	MaxAttributes int   `yaml:"max_attributes"` // of one element; default 4096
}

// Sequence configures batches.
type Sequence struct {
	PollCutoff   Duration `yaml:"poll_cutoff"`   // after which a session's batches no longer wait for its polls; default 10m
	ReleaseLimit Duration `yaml:"release_limit"` // after which a batch is released with what has ended; default 30m
	LateLimit    Duration `yaml:"late_limit"`    // how long a late batch gathers; default 1m, none with --once
	Interval     Duration `yaml:"interval"`      // longest wait between looks for complete batches; default 500ms
}

// Insert configures loading into the warehouse.
type Insert struct {
	Batch       int      `yaml:"batch"`       // positions in one transaction at most; default 500
	BatchRows   int      `yaml:"batch_rows"`  // rows in one transaction, beyond which it is committed after the document; default 50000
	Parallelism int      `yaml:"parallelism"` // documents read and parsed ahead; default 2
	LeaseTTL    Duration `yaml:"lease_ttl"`   // default 10s
}

// Tracker configures the projection into Postgres.
type Tracker struct {
	Batch int      `yaml:"batch"` // events in one transaction at most; default 20000
	Wait  Duration `yaml:"wait"`  // longest wait to fill one, a tenth of it in a lull; default 4s
}

// History configures the projection into ClickHouse.
type History struct {
	Batch int      `yaml:"batch"` // events in one insert at most; default 8000
	Wait  Duration `yaml:"wait"`  // longest wait to fill one, half of it in a lull; default 8s
	// Retention is how long after an event its row may be deleted; 0, the
	// default, keeps every row.
	Retention Duration `yaml:"retention"`
}

// Traces says which collector is told what becomes of each file, as traces by OTLP
// over HTTP.
type Traces struct {
	Endpoint      string `yaml:"endpoint"`      // http://host:4318 or https://…, to whose path v1/traces spans go where it has none; empty (default): no traces
	Authorization Secret `yaml:"authorization"` // what is sent as the header Authorization, such as Bearer and a token: env:NAME or file:PATH
	CAFile        string `yaml:"ca_file"`       // default: the system's roots
}
