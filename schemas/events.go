package schemas

import "time"

// Scope says to what an event belongs; fields that do not apply are empty.
type Scope struct {
	Run     string `avro:"run,default="`     // the run's UUID; LiveRun or a replay
	Session string `avro:"session,default="` // the session's UUID
	Centre  string `avro:"centre,default="`  // short name of the producing centre
	Source  string `avro:"source,default="`  // id of the source concerned
}

// FileRef names a file: its name and the action of the directory it lies in.
// The name is printable UTF-8: bytes that are not are percent-encoded, and no
// file with such a name is ever fetched.
type FileRef struct {
	File     string `avro:"file,default="`      // FileID of action and name
	FileName string `avro:"file_name,default="` // the zip's name
	Action   string `avro:"action,default="`    // add, edit or delete
}

// FileDiscovered says that a listing showed a new look of a file, or that it
// is gone. Read by plan; other systems may announce files with it.
type FileDiscovered struct {
	Scope
	FileRef
	Poll     string     `avro:"poll,default="`   // UUID of the poll that saw it
	Change   string     `avro:"change,default="` // new, changed or gone
	Look     int32      `avro:"look,default=0"`  // ordinal of the look on this hosting, from 1
	Size     int64      `avro:"size,default=0"`  // bytes as listed
	ModTime  *time.Time `avro:"mod_time,timestamp-micros"`
	ListedAt *time.Time `avro:"listed_at,timestamp-micros"` // when this look was first listed
}

// DownloadRequested is a job: one connection to one source, on which one or
// more files are fetched.
type DownloadRequested struct {
	Scope
	Job    string        `avro:"job,default="`    // the job's UUID
	Server string        `avro:"server,default="` // host:port, whose credit the job holds
	Files  []RequestFile `avro:"files"`
	// Definition is the source as it was defined when the job was made: JSON with
	// the configuration's keys, secrets as references.
	Definition string `avro:"definition,default="`
}

// RequestFile is one file of a job.
type RequestFile struct {
	FileRef
	Session     string     `avro:"session,default="` // the session that found it
	Centre      string     `avro:"centre,default="`  // the producing centre
	Attempt     int32      `avro:"attempt,default=0"`
	Look        int32      `avro:"look,default=0"`
	Path        string     `avro:"path,default="` // relative to the source's base path
	Size        int64      `avro:"size,default=0"`
	ModTime     *time.Time `avro:"mod_time,timestamp-micros"`
	RequestedAt *time.Time `avro:"requested_at,timestamp-micros"`
}

// Outcomes of a download or an unzip.
const (
	Fetched     = "fetched"     // the bytes are in the blob store
	Unzipped    = "done"        // every entry was checked, every document announced
	FailedEnd   = "failed"      // it failed, for the reason that exception names
	NotTried    = "not_tried"   // the session was lost before this file was begun, or there was no room for it; costs no attempt
	Quarantined = "quarantined" // poison: it crashed or outran its budget too often
	PassedOver  = "passed_over" // a person decided that the content of its position is lost
	Valid       = "valid"       // the document may be loaded
)

// NoteOverrun is the note of an event that tells an overrun of a source, which
// changes nothing of it.
const NoteOverrun = "overrun"

// NoteClockSkewed is the note of an event that tells that the clock of a source's server
// is wrong, otherwise wrong than before, or right again.
const NoteClockSkewed = "server_clock_skewed"

// NoteLate is the note of an event that tells that nothing new has come from a source
// for much longer than usual, which changes nothing of it.
const NoteLate = "late"

// TriedAgain is the attribute of a failed attempt at a file that another one follows.
const TriedAgain = "tried_again"

// Origin is the attribute of an attempt at a file which is not loaded since another shows
// the same bytes: that one, as action/name.
const Origin = "origin"

// Findings is the attribute of a batch that has ended which says how many findings of
// data checks were open in the centre's data then that made no document fail. Attributes
// of the form LEVEL FindingsOf CHECK (warn:young) say of which checks.
const (
	Findings   = "findings"
	FindingsOf = ":"
)

// NoRoom is the exception of a file for which there was no room. With NotTried,
// others had it.
const NoRoom = "no_room"

// DownloadFinished is the outcome of one attempt to fetch one file.
type DownloadFinished struct {
	Scope
	FileRef
	Job         string     `avro:"job,default="`
	Server      string     `avro:"server,default="`
	Attempt     int32      `avro:"attempt,default=0"`
	Look        int32      `avro:"look,default=0"`
	Result      string     `avro:"result,default="`  // Fetched, FailedEnd, NotTried or Quarantined
	Outcome     string     `avro:"outcome,default="` // sha256 of the bytes, or the exception: part of every descendant's id
	Phase       string     `avro:"phase,default="`   // where it failed: download or zip_md5
	SHA256      string     `avro:"sha256,default="`
	MD5         string     `avro:"md5,default="`
	Size        int64      `avro:"size,default=0"`    // bytes received
	Checksum    string     `avro:"checksum,default="` // matched, or no_checksum when there was none to compare
	Exception   string     `avro:"exception,default="`
	Message     string     `avro:"message,default="`
	Last        bool       `avro:"last,default=false"` // the job's last outcome: its credit returns
	RequestedAt *time.Time `avro:"requested_at,timestamp-micros"`
	StartedAt   *time.Time `avro:"started_at,timestamp-micros"`
	FinishedAt  *time.Time `avro:"finished_at,timestamp-micros"`
	RetryAfter  int64      `avro:"retry_after,default=0"` // milliseconds for which the server asks to be left alone, a day at most
}

// UnzipFinished says how many documents an archive holds, or why it was
// refused. The documents themselves are references into the archive.
type UnzipFinished struct {
	Scope
	FileRef
	Attempt   int32  `avro:"attempt,default=0"`
	Download  string `avro:"download,default="` // outcome of the download it unzipped
	Result    string `avro:"result,default="`   // Unzipped, FailedEnd or Quarantined
	Outcome   string `avro:"outcome,default="`  // "done", or the exception
	SHA256    string `avro:"sha256,default="`   // of the archive
	Documents int32  `avro:"documents,default=0"`
	Ignored   int32  `avro:"ignored,default=0"` // entries that are no documents
	Exception string `avro:"exception,default="`
	Message   string `avro:"message,default="`
}

// DocumentRef names a document and where its bytes lie in its archive.
type DocumentRef struct {
	Document string `avro:"document,default="` // DocumentID of file and entry
	Entry    string `avro:"entry,default="`    // the entry's name in the archive
	Ordinal  int32  `avro:"ordinal,default=0"` // the entry's place in the archive, from 0
	Archive  string `avro:"archive,default="`  // sha256 of the archive's blob; it is also the version
	Offset   int64  `avro:"offset,default=0"`  // of the compressed bytes in the archive
	Packed   int64  `avro:"packed,default=0"`  // compressed size in bytes
	Size     int64  `avro:"size,default=0"`    // size in bytes
	Method   int32  `avro:"method,default=0"`  // zip's compression method
	CRC32    int64  `avro:"crc32,default=0"`
	SHA256   string `avro:"sha256,default="`
	MD5      string `avro:"md5,default="`
}

// Named is the reference without what unzip told when it announced the
// document: enough for the events that tell how it fares.
func (r DocumentRef) Named() DocumentRef {
	return DocumentRef{Document: r.Document, Entry: r.Entry, Ordinal: r.Ordinal}
}

// DocumentName is what a document's name says; empty when it breaks the
// convention.
type DocumentName struct {
	Kind      string `avro:"kind,default="`       // specimen or experiment in the IMPC profile
	DocCentre string `avro:"doc_centre,default="` // the centre in the document's name
	DocDate   string `avro:"doc_date,default="`   // YYYY-MM-DD
	DocInc    int64  `avro:"doc_inc,default=0"`
}

// DocumentExtracted announces one document of an accepted archive.
type DocumentExtracted struct {
	Scope
	FileRef
	DocumentRef
	DocumentName
	Attempt   int32  `avro:"attempt,default=0"`
	Download  string `avro:"download,default="`  // outcome of the download it came from
	Unzip     string `avro:"unzip,default="`     // outcome of the unzip it came from
	Exception string `avro:"exception,default="` // set when the name breaks the convention: the document has ended at (xml_name, failed)
	Message   string `avro:"message,default="`

	UnzipVersion string `avro:"unzip_version,default="` // of the rules by which its archive and its name were judged
}

// DocumentValidated is a document's verdict.
type DocumentValidated struct {
	Scope
	FileRef
	DocumentRef
	DocumentName
	Attempt     int32  `avro:"attempt,default=0"`
	Download    string `avro:"download,default="`
	Unzip       string `avro:"unzip,default="`
	Result      string `avro:"result,default="`  // Valid, FailedEnd or Quarantined
	Outcome     string `avro:"outcome,default="` // "valid", or the exception
	Phase       string `avro:"phase,default="`   // where it failed: xml_name or xsd
	Exception   string `avro:"exception,default="`
	ErrorsTotal int32  `avro:"errors_total,default=0"`
	Profile     string `avro:"profile,default="` // the profile and version it was judged by

	UnzipVersion string `avro:"unzip_version,default="` // of the rules by which its archive and its name were judged
	XSDVersion   string `avro:"xsd_version,default="`   // of the schemas by which it was judged; empty if its name was refused
}

// Kinds of positions in document.ordered.
const (
	PositionDocument  = "document"    // one document of a batch: to load, or failed already
	PositionVersion   = "withdrawal"  // a version is complete: what it withdraws
	PositionBatchEnd  = "batch_end"   // checks, context and overview of the batch
	PositionSession   = "session_end" // all batches of the session are out
	PositionUnload    = "unload"      // a version is retracted: File and Archive; Batch is the operation
	PositionReference = "reference"   // a reference table is loaded: Entry is its name, Archive the blob; Batch is the operation
	PositionCheck     = "check"       // a domain's records are judged again by all data checks; Batch is the operation
)

// DocumentOrdered is one position of the one order in which the warehouse
// changes.
type DocumentOrdered struct {
	Scope
	FileRef
	DocumentRef
	DocumentName
	Position    int64      `avro:"position,default=0"` // gapless, from 1
	What        string     `avro:"what,default="`      // one of the Position kinds
	Batch       string     `avro:"batch,default="`     // the batch's UUID
	Domain      string     `avro:"domain,default="`    // the producing centre
	Number      int64      `avro:"number,default=0"`   // of the batch within its domain, from 1
	Late        bool       `avro:"late,default=false"`
	Attempt     int32      `avro:"attempt,default=0"`
	Download    string     `avro:"download,default="`
	Unzip       string     `avro:"unzip,default="`
	FileDate    string     `avro:"file_date,default="` // YYYY-MM-DD
	FileInc     int64      `avro:"file_inc,default=0"`
	RankOwn     bool       `avro:"rank_own,default=false"`     // the version's rank: from the producing centre's own source,
	RankTime    *time.Time `avro:"rank_time,timestamp-micros"` // when its look was first listed,
	RankOrdinal int32      `avro:"rank_ordinal,default=0"`     // how often these bytes were accepted anew; the hash is Archive
	RunNumber   int64      `avro:"run_number,default=0"`       // the live run is 0, replays count from 1
	Result      string     `avro:"result,default="`            // Valid: load it; otherwise it ended before: FailedEnd or Quarantined
	Phase       string     `avro:"phase,default="`
	Exception   string     `avro:"exception,default="`
	Profile     string     `avro:"profile,default="`
	Documents   int32      `avro:"documents,default=0"` // documents of the version, or positions of the batch
	Previous    string     `avro:"previous,default="`   // SHA-256, in hexadecimal, of the value of the position before, as published; 64 zeros where the chain begins; empty before it
}

// ErrorDetail is one error of a document.
type ErrorDetail struct {
	Line      int32  `avro:"line,default=0" json:"line"`
	Column    int32  `avro:"column,default=0" json:"column"`
	Exception string `avro:"exception,default=" json:"exception"`
	Message   string `avro:"message,default=" json:"message"`
}

// PassedPhase is a phase that was done on the way to another, in the same
// transaction.
type PassedPhase struct {
	Phase      string     `avro:"phase,default="`
	StartedAt  *time.Time `avro:"started_at,timestamp-micros"`
	FinishedAt *time.Time `avro:"finished_at,timestamp-micros"`
	VersionOf  string     `avro:"version_of,default="` // as StatusChanged.VersionOf
}

// StatusChanged is the event log: where a file, a download, a document, a
// session, a source or a centre stands. Which fields apply follows from
// Entity; Attributes holds what only people read.
type StatusChanged struct {
	Scope
	FileRef
	DocumentRef
	DocumentName
	Entity      string            `avro:"entity,default="`
	Server      string            `avro:"server,default="`
	Attempt     int32             `avro:"attempt,default=0"`
	Look        int32             `avro:"look,default=0"`
	Outcome     string            `avro:"outcome,default="`  // of the attempt: download's outcome, "/", unzip's outcome; as far as known
	Accepted    string            `avro:"accepted,default="` // control's judgement: the outcome that this attempt shows
	Repeats     int32             `avro:"repeats,default=0"` // control's judgement: the attempt whose bytes this one repeats
	Check       int32             `avro:"check,default=0"`   // number of the data check, the latest counts
	Passed      []PassedPhase     `avro:"passed"`            // phases done before this one in the same transaction
	Phase       string            `avro:"phase,default="`
	Status      string            `avro:"status,default="`
	Exception   string            `avro:"exception,default="`
	Message     string            `avro:"message,default="`
	Note        string            `avro:"note,default="` // no_checksum, duplicate, divergent_hosting, …
	Errors      []ErrorDetail     `avro:"errors"`
	ErrorsTotal int32             `avro:"errors_total,default=0"`
	FileDate    string            `avro:"file_date,default="`
	FileInc     int64             `avro:"file_inc,default=0"`
	FileSize    int64             `avro:"file_size,default=0"` // as listed, or as received once fetched
	Bytes       int64             `avro:"bytes,default=0"`     // received, loaded or read by this step
	Rows        int64             `avro:"rows,default=0"`      // loaded or touched by this step
	Position    int64             `avro:"position,default=0"`
	Number      int64             `avro:"number,default=0"` // a batch's or a session's number
	Revision    int64             `avro:"revision,default=0"`
	ModTime     *time.Time        `avro:"mod_time,timestamp-micros"`
	ListedAt    *time.Time        `avro:"listed_at,timestamp-micros"`
	RequestedAt *time.Time        `avro:"requested_at,timestamp-micros"`
	StartedAt   *time.Time        `avro:"started_at,timestamp-micros"`
	FinishedAt  *time.Time        `avro:"finished_at,timestamp-micros"`
	Attributes  map[string]string `avro:"attributes"`          // more of what is told, by name; of a download that runs: how far it is (received and rate, in bytes and bytes a second); of a batch that has ended: how many warnings and notes are open, in all (findings) and of each check (warn:CHECK, info:CHECK)
	VersionOf   string            `avro:"version_of,default="` // of what judged or loaded in this phase, at its end (package internal/profile); of a batch: by which all records of the centre were checked
}

// RecordPassedOver says that a person decided that no reader stops at a record of
// a topic any more, and who, why and what was lost by it. The decision holds for
// the record's bytes, wherever in the topics they are.
type RecordPassedOver struct {
	Topic     string `avro:"topic,default=" json:"topic"` // where the record was seen: its topic, without prefix and version
	Partition int32  `avro:"partition,default=0" json:"partition"`
	Offset    int64  `avro:"offset,default=0" json:"offset"`
	SHA256    string `avro:"sha256,default=" json:"sha256"`        // of the record's value, in hexadecimal
	Size      int64  `avro:"size,default=0" json:"size"`           // of the value, in bytes
	Position  int64  `avro:"position,default=0" json:"position"`   // document.ordered: the position that it holds; 0: it can't be read, or is of another topic
	GoesOn    string `avro:"goes_on,default=" json:"goes_on"`      // document.ordered: the digest that the next position names
	Missing   bool   `avro:"missing,default=false" json:"missing"` // document.ordered: the record counts, and what should come before it is lost
	Lost      string `avro:"lost,default=" json:"lost"`            // in words
	By        string `avro:"by,default=" json:"by"`
	Reason    string `avro:"reason,default=" json:"reason"`
}
