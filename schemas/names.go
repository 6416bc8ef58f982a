package schemas

// Names of the topics, without the configured prefix and the version that the
// catalogue of package topics adds to them.
const (
	FileDiscoveredTopic    = "file.discovered"
	DownloadRequestedTopic = "download.requested"
	DownloadFinishedTopic  = "download.finished"
	UnzipFinishedTopic     = "unzip.finished"
	DocumentExtractedTopic = "document.extracted"
	DocumentValidatedTopic = "document.validated"
	DocumentOrderedTopic   = "document.ordered"
	StatusChangedTopic     = "status.changed"
	RecordPassedOverTopic  = "record.passed.over"
)

// Phase is one of the eleven processing phases. Their order is a contract: a
// later phase has a higher id.
type Phase string

// The phases, in order.
const (
	ZipName  Phase = "zip_name"
	Download Phase = "download"
	ZipMD5   Phase = "zip_md5"
	Unzip    Phase = "unzip"
	XMLName  Phase = "xml_name"
	XSD      Phase = "xsd"
	Upload   Phase = "upload"
	Data     Phase = "data"
	Context  Phase = "context"
	Overview Phase = "overview"
	QC       Phase = "qc"
)

// Phases lists every phase in order; a phase's id is its index plus one.
func Phases() []Phase {
	return []Phase{ZipName, Download, ZipMD5, Unzip, XMLName, XSD, Upload, Data, Context, Overview, QC}
}

// ID is the phase's ordinal from 1 to 11, or 0 for an unknown name.
func (p Phase) ID() int {
	for i, q := range Phases() {
		if p == q {
			return i + 1
		}
	}
	return 0
}

// Status is where a phase stands. Statuses are ordered by severity.
type Status string

// The statuses, in order.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Done      Status = "done"
	Cancelled Status = "cancelled"
	Failed    Status = "failed"
)

// Statuses lists every status in order; a status's id is its index plus one.
func Statuses() []Status {
	return []Status{Pending, Running, Done, Cancelled, Failed}
}

// ID is the status's ordinal from 1 to 5, or 0 for an unknown name.
func (s Status) ID() int {
	for i, q := range Statuses() {
		if s == q {
			return i + 1
		}
	}
	return 0
}

// The actions a file's directory asks for.
const (
	Add    = "add"
	Edit   = "edit"
	Delete = "delete"
)

// Actions lists the action directories in the order in which they are listed
// and in which ties between versions are broken.
func Actions() []string { return []string{Add, Edit, Delete} }

// ActionOrder is an action's ordinal from 1 to 3, or 0 for an unknown name.
func ActionOrder(action string) int {
	for i, a := range Actions() {
		if a == action {
			return i + 1
		}
	}
	return 0
}

// ReplayRequested is the note of the event that tells of a new replay: that
// one's attributes say what it is.
const ReplayRequested = "requested"

// Where a replay begins.
const (
	FromDownload = "download" // the file is fetched again
	FromUnzip    = "unzip"    // with the stored bytes
	FromXSD      = "xsd"      // with the documents known: they are judged by the schemas of now
	FromUpload   = "upload"   // with the verdicts known: what is valid is loaded by the mapping of now
	FromData     = "data"     // with what is loaded: a centre's records are checked by the checks of now
)

// ReplayPhases returns where a replay may begin, the earliest first.
func ReplayPhases() []string {
	return []string{FromDownload, FromUnzip, FromXSD, FromUpload, FromData}
}

// The entities whose state a status.changed event tells.
const (
	EntityCentre   = "centre"   // a centre's particulars, with a revision
	EntitySource   = "source"   // a source's particulars and state, with a revision
	EntitySession  = "session"  // a session opened or closed
	EntityTask     = "task"     // one poll of a session ended, or a batch was released
	EntityHosting  = "hosting"  // a look at a file on a source, or that it is gone
	EntityFile     = "file"     // a file's own phase: its name, its pending looks
	EntityDownload = "download" // one attempt: requested, running, its outcome, what control accepted
	EntityDocument = "document" // one document of one attempt
	EntityBatch    = "batch"    // a batch of a domain released or ended
	EntityReplay   = "replay"   // a replay was asked for, stopped, resumed or is done
	EntityQuality  = "quality"  // what a person decided about a document's bytes, with a revision

	// EntityAnnouncement is of what another program announced and nobody took up:
	// it says nothing about the file of that name, so only the history keeps it.
	EntityAnnouncement = "announcement"

	// EntityMember is of a process of which a person has ordered something: a setting
	// was changed, or it was asked to stop. It says nothing about any file, so only
	// the history keeps it.
	EntityMember = "member"

	// EntityLink is of a link by which people of a centre see what is theirs, which a
	// person has made or revoked. It says nothing about any file, so only the history
	// keeps it.
	EntityLink = "link"

	// EntityOperation is of what a person has ordered of the warehouse: that a version is
	// unloaded, or a reference table loaded. It says nothing about where a file stands.
	EntityOperation = "operation"
)
