package config

// Notify says who is told of what.
type Notify struct {
	Targets []NotifyTarget `yaml:"targets"`
	Rules   []NotifyRule   `yaml:"rules"`
	SMTP    SMTP           `yaml:"smtp"`

	GiveUpAfter     Duration `yaml:"give_up_after"`    // for which a target isn't reached before notices become dead letters; default 24h
	WeeklySummaries bool     `yaml:"weekly_summaries"` // each centre is sent the summary of its week, to its email

	Watchdog Watchdog `yaml:"watchdog"`
}

// NotifyTarget is a webhook, or people with mail.
type NotifyTarget struct {
	ID      string   `yaml:"id"`                // stable: its consumer group has it in its name
	Webhook Secret   `yaml:"webhook,omitempty"` // https://host/path, or file:PATH or env:NAME of it
	Secret  Secret   `yaml:"secret,omitempty"`  // file:PATH or env:NAME of what the webhook's messages are signed with
	CAFile  string   `yaml:"ca_file,omitempty"` // for the webhook; default: the system's roots
	Mail    []string `yaml:"mail,omitempty"`    // addresses
	Digest  Duration `yaml:"digest,omitempty"`  // between two mails that tell all that came between; default 0: each notice is a mail
}

// NotifyRule says what some targets are told. What a limit doesn't name is not told;
// without a limit all is.
type NotifyRule struct {
	When       string   `yaml:"when"` // one of NotifyKinds
	To         []string `yaml:"to"`   // ids of targets
	Phase      string   `yaml:"phase,omitempty"`
	Centres    []string `yaml:"centres,omitempty"`
	Sources    []string `yaml:"sources,omitempty"`
	Exceptions []string `yaml:"exceptions,omitempty"`
}

// What notices may be about.
const (
	PhaseReached    = "phase_reached"
	FileFailed      = "file_failed"
	CentreLate      = "centre_late"
	BatchClosed     = "batch_closed"
	SourceSuspended = "source_suspended"
	FindingOpened   = "finding_opened"
	ClockSkewed     = "server_clock_skewed"
)

// NotifyKinds lists them.
func NotifyKinds() []string {
	return []string{PhaseReached, FileFailed, CentreLate, BatchClosed, SourceSuspended, FindingOpened, ClockSkewed}
}

// SMTP is the server that sends mail.
type SMTP struct {
	Server   string `yaml:"server"`   // host:port
	TLS      string `yaml:"tls"`      // TLSStart (default), TLSAlways or TLSNone
	Username string `yaml:"username"` // empty: it is not logged in
	Password Secret `yaml:"password"` // env:NAME or file:PATH
	From     string `yaml:"from"`     // address
	CAFile   string `yaml:"ca_file"`  // default: the system's roots
}

// How mail is encrypted on its way to the server.
const (
	TLSStart  = "starttls" // the server is asked to, and must
	TLSAlways = "tls"      // from the first byte
	TLSNone   = "none"     // on loopback only
)

// Watchdog reports what stops without an event that says so.
type Watchdog struct {
	To           []string `yaml:"to"`            // ids of targets; empty (default): it doesn't run
	Interval     Duration `yaml:"interval"`      // between looks, and heartbeats; default 1m
	StoppedAfter Duration `yaml:"stopped_after"` // that positions wait and none is applied, before insertion has stopped; default 15m
	Heartbeat    Secret   `yaml:"heartbeat"`     // https://host/path, or file:PATH or env:NAME of it: asked at each look
}

// Configured tells whether anybody is told anything.
func (n Notify) Configured() bool {
	return len(n.Targets) > 0 || n.WeeklySummaries || n.Watchdog.Heartbeat != ""
}

// Target is the target with the given id.
func (n Notify) Target(id string) (NotifyTarget, bool) {
	for _, t := range n.Targets {
		if t.ID == id {
			return t, true
		}
	}
	return NotifyTarget{}, false
}
