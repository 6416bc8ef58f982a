package schemas

import (
	"fmt"
	"strconv"
	"strings"

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
func namespace() uuid.UUID { return uuid.MustParse("5d2a1cb4-3c0e-5f27-9b0e-0b7f3f0c7f41") }

// ID is the identity that follows from the given parts: the same parts give
// the same UUIDv5 on every machine. Parts are length-prefixed, so that no two
// lists of parts are confused.
func ID(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return uuid.NewSHA1(namespace(), []byte(b.String())).String()
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
