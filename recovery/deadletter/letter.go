// Package deadletter reads dead letters: records that a stage could not work
// on and set aside, as they came, with the cause in their headers. A Decider has
// them retried or drops them; what was decided, and what became of it, is kept in
// control and joined by whoever asks.
package deadletter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// Letter is one dead letter.
type Letter struct {
	// ID names the letter to people: stage, partition and offset of the record
	// in the stage's topic of dead letters, as validate:2:17.
	ID string
	// Key is its identity, a UUID that follows from where the original record
	// was read and when that was written: a letter that a crash has written
	// twice has two ids and one key.
	Key   string
	Stage string    // that gave the record up
	Topic string    // the original's logical name
	Time  time.Time // when it was given up

	Class    string    // panic, stalled, crashed, failed or undecodable
	Error    string    // the last failure in words
	Stack    string    // of a panic, its beginning
	Attempts int       // made before it was given up
	First    time.Time // failure
	Last     time.Time // failure

	OriginPartition int32
	OriginOffset    int64
	OriginTime      time.Time // when the original was written

	Run      string
	Centre   string // the producing centre
	Source   string
	File     string // its id; empty where Files tells several, or none
	FileName string
	Action   string
	Document string // its id; empty unless it is about one document
	Entry    string // the document's name in the archive
	Archive  string // sha256, where bytes had been accepted
	Attempt  int32
	Download string   // outcome of the download that it descends from
	Unzip    string   // outcome of the unzip that it descends from
	Files    []string // action/name of each file of a job of several; after Trim only the first
	Job      int      // how many files it is a job of; 0: it is about one, or none

	Named    string    // what it is about, where the record said so for people and is not at hand
	Outboxed *Outboxed // set: of an outbox, and in no topic

	Problem string      // why the record cannot be read by this binary; empty if it can
	Record  *kgo.Record // as it lies in the topic of dead letters
}

// Subject is what the letter is about, for people.
func (l *Letter) Subject() string {
	switch {
	case l.Job > 0:
		return fmt.Sprintf("%s and %d more", l.Files[0], l.Job-1)
	case l.FileName == "":
		return l.Named
	case l.Entry != "":
		return l.Action + "/" + l.FileName + "/" + l.Entry
	}
	return l.Action + "/" + l.FileName
}

// maxText bounds what is kept of an error's text, in bytes, whoever wrote it.
const maxText = 2048

// Trim forgets what is needed to show a letter, but not to list or retry it,
// so that many can be held.
func (l *Letter) Trim() {
	l.Record, l.Stack, l.Files = nil, "", l.Files[:min(len(l.Files), 1):min(len(l.Files), 1)]
}

// varying is what differs between two failures of the same cause: addresses,
// hashes, numbers.
var varying = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9a-f]{16,}|[0-9]+`)

// Lineage is the identity of what dies again and again: this file or document,
// at this stage, of this cause. Control does not see how insertion ends, and
// counts all retries there: so these are of one version.
func (l *Letter) Lineage() string {
	cause, version := varying.ReplaceAllString(l.Error, "#"), ""
	if l.Stage == Insert {
		version = l.Archive
	}
	return schemas.ID("dead_letter_lineage", l.File, l.Document, l.Stage, l.Class, cause, version)
}

// of makes a letter of a record of a stage's topic of dead letters.
func of(codec *schemas.Codec, stage, topic string, r *kgo.Record) *Letter {
	l := &Letter{ID: ID(stage, r.Partition, r.Offset), Stage: stage, Topic: topic, Time: r.Timestamp.UTC(), Record: r}
	var origin [3]string
	for _, h := range r.Headers {
		v := strings.ToValidUTF8(string(h.Value), string(utf8.RuneError))
		switch h.Key {
		case kafka.HeaderPartition:
			n, _ := strconv.ParseInt(v, 10, 32)
			l.OriginPartition, origin[0] = int32(n), v
		case kafka.HeaderOffset:
			l.OriginOffset, _ = strconv.ParseInt(v, 10, 64)
			origin[1] = v
		case kafka.HeaderTimestamp:
			l.OriginTime, origin[2] = moment(v), v
		case kafka.HeaderErrorClass:
			l.Class = v
		case kafka.HeaderError:
			l.Error = v[:min(len(v), maxText)]
		case kafka.HeaderStack:
			l.Stack = v
		case kafka.HeaderAttempts:
			l.Attempts, _ = strconv.Atoi(v)
		case kafka.HeaderFirstFailure:
			l.First = moment(v)
		case kafka.HeaderLastFailure:
			l.Last = moment(v)
		}
	}
	l.Key = schemas.ID("dead_letter", r.Topic, origin[0], origin[1], origin[2])
	m, err := codec.Decode(kafka.FromKgo(r))
	if err != nil {
		l.Problem = err.Error()
		return l
	}
	l.about(m.Body)
	return l
}

// about notes what the record is about. Ids that are none are left out: a
// statement would refuse them.
func (l *Letter) about(body any) {
	var file schemas.FileRef
	switch b := body.(type) {
	case *schemas.DownloadRequested:
		l.Run, l.Source = b.Run, b.Source
		if len(b.Files) == 1 {
			f := b.Files[0]
			file, l.Centre, l.Attempt = f.FileRef, f.Centre, f.Attempt
			break
		}
		for _, f := range b.Files {
			l.Files = append(l.Files, f.Action+"/"+f.FileName)
			l.Centre = f.Centre
		}
		l.Job = len(l.Files)
	case *schemas.DownloadFinished:
		l.Run, l.Centre, l.Source, file = b.Run, b.Centre, b.Source, b.FileRef
		l.Attempt, l.Download, l.Archive = b.Attempt, b.Outcome, b.SHA256
	case *schemas.StatusChanged: // a notice: what it is about is shown, and not processed again
		l.Run, l.Centre, l.Source, l.Entry = b.Run, b.Centre, b.Source, b.Entry
		file = schemas.FileRef{FileName: b.FileName, Action: b.Action}
	case *schemas.DocumentExtracted:
		l.Run, l.Centre, l.Source, file = b.Run, b.Centre, b.Source, b.FileRef
		l.Attempt, l.Download, l.Unzip, l.Archive = b.Attempt, b.Download, b.Unzip, b.Archive
		if isID(b.Document) {
			l.Document, l.Entry = b.Document, b.Entry
		}
	}
	l.FileName, l.Action = file.FileName, file.Action
	if isID(file.File) && isID(l.Run) {
		l.File = file.File
	}
}

func isID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }

func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// ID is the id of the letter at a place of a stage's topic of dead letters.
func ID(stage string, partition int32, offset int64) string {
	return fmt.Sprintf("%s:%d:%d", stage, partition, offset)
}

// ParseID reads an id.
func ParseID(id string) (stage string, partition int32, offset int64, err error) {
	parts := strings.Split(id, ":")
	if len(parts) == 3 {
		p, perr := strconv.ParseInt(parts[1], 10, 32)
		o, oerr := strconv.ParseInt(parts[2], 10, 64)
		if perr == nil && oerr == nil && p >= 0 && o >= 0 {
			return parts[0], int32(p), o, nil
		}
	}
	return "", 0, 0, fmt.Errorf("%q is no dead letter's id: ids are as validate:2:17, the stage, partition and offset; tributary dlq list shows them", id)
}
