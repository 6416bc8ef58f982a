package schemas

import (
	"crypto/sha1"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// LiveRun is the id of the live run: processing because a listing showed
// something. Replays have ids of their own.
const LiveRun = "00000000-0000-5000-8000-000000000000"

// NewShadowRun is the id of a new shadow run: a UUID of version 8 (RFC 9562,
// "custom"), random but for that. No other run has an id of that version, so
// every event of a shadow says by its run alone that it is one: whoever reads
// it needs to look nothing up, in whatever order events come.
func NewShadowRun() (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("no randomness for a shadow run's id: %w", err)
	}
	id[6] = id[6]&0x0f | shadowVersion<<4
	return id.String(), nil
}

// shadowVersion is the UUID version that shadow runs' ids have.
const shadowVersion = 8

// IsShadow reports whether the run of that id is a shadow: its results are
// compared with the live ones and change none of them. What is no UUID is no
// shadow's.
func IsShadow(run string) bool {
	id, err := uuid.Parse(run)
	return err == nil && id.Version() == shadowVersion
}

// namespace is the UUID under which every identity of this project is made;
// changing it would make every event look new.
func namespace() uuid.UUID {
	return uuid.UUID{0x5d, 0x2a, 0x1c, 0xb4, 0x3c, 0x0e, 0x5f, 0x27, 0x9b, 0x0e, 0x0b, 0x7f, 0x3f, 0x0c, 0x7f, 0x41}
}

// ID is the identity that follows from the given parts, as UUID, in text.
func ID(parts ...string) string { return UUID(parts...).String() }

// UUID is the identity that follows from the given parts: the same parts give
// the same UUIDv5 on every machine. Parts are length-prefixed, so that no two
// lists of parts are confused. Every event has several, so they are made here
// without memory from the heap.
func UUID(parts ...string) uuid.UUID {
	var room [256]byte
	ns := namespace()
	b := append(room[:0], ns[:]...)
	for _, p := range parts {
		b = append(strconv.AppendInt(b, int64(len(p)), 10), ':')
		b = append(b, p...)
	}
	sum := sha1.Sum(b)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 5<<4 // the version
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// FileID is the identity of a file: its action and its name.
func FileID(action, name string) string { return ID("file", action, name) }

// DocumentID is the identity of a document: its file and its entry's name.
func DocumentID(file, entry string) string { return ID("document", file, entry) }

// EventID is the identity of an event: the stage that produces it, the run,
// the id of the input that caused it, the kind of output and, where one input
// has several of a kind, what tells them apart (attempt, entry, outcome).
func EventID(stage, run, input, kind string, ordinal ...string) string {
	return ID(append([]string{"event", stage, run, input, kind}, ordinal...)...)
}

// QualityID is the identity of what people decide about a document's bytes: their
// sha256, and what file and entry bring them.
func QualityID(file, entry, sha256 string) string { return ID("quality", file, entry, sha256) }
