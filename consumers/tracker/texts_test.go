//go:build !race

package tracker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	trackersql "tributary/sql/tracker"
	"tributary/test/texts"
)

// hostileAt is when what these tests tell of happened.
func hostileAt() time.Time { return time.Unix(1e9, 0).UTC() }

// entities are what events of status.changed are about.
func entities() []string {
	return []string{schemas.EntityCentre, schemas.EntitySource, schemas.EntitySession, schemas.EntityTask, schemas.EntityHosting,
		schemas.EntityFile, schemas.EntityDownload, schemas.EntityDocument, schemas.EntityBatch, schemas.EntityReplay}
}

// bodyAbout is an event about one of them with something in each field.
func bodyAbout(entity string) *schemas.StatusChanged {
	name, at := "H.2012-10-02.1.impc.zip", hostileAt()
	return &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session"), Centre: "H", Source: "harwell"},
		FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, DocumentRef: schemas.DocumentRef{Entry: "a.xml"},
		Entity: entity, Attempt: 1, Phase: "xsd", Status: "failed", Exception: "xsd_invalid", FileDate: "2012-10-02", StartedAt: &at, FinishedAt: &at,
		Errors: []schemas.ErrorDetail{{Line: 1, Message: "m"}}, Passed: []schemas.PassedPhase{{Phase: "unzip", FinishedAt: &at}},
		Attributes: map[string]string{"state": "present", "centre": "H", "full_name": "n", "base_path": "/", "where": "true"},
	}
}

// recordOf is the record of an event, at an offset.
func recordOf(t *testing.T, tr *Tracker, body any, offset int64) *kgo.Record {
	t.Helper()
	value, err := tr.deps.Codec.EncodeBody(schemas.StatusChangedTopic, body)
	if err != nil {
		t.Fatal(err)
	}
	rec := kafka.ToKgo("test", schemas.Record{Topic: schemas.StatusChangedTopic, Value: value, Headers: []schemas.Header{
		{Key: "ce_id", Value: []byte(uuid.NewString())}, {Key: "ce_time", Value: []byte(hostileAt().Format(time.RFC3339Nano))}}})
	rec.Offset = offset
	return rec
}

// TestHostileTexts shows that no text of status.changed, in whatever field of an
// event about whatever, stops the tracker or reaches a column as it came.
func TestHostileTexts(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	var next int64
	for _, entity := range entities() {
		newBody := func() any { return bodyAbout(entity) }
		for _, hostile := range texts.Hostile() {
			r := sink.Range{Topic: schemas.StatusChangedTopic, From: next}
			for _, tc := range texts.Spoiled(newBody, hostile) {
				r.Records = append(r.Records, recordOf(t, tr, tc.Body, next))
				next++
			}
			r.To = next
			if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
				t.Fatalf("events about a %s with %.20q in a field each: %v", entity, hostile, err)
			}
		}
	}
	filled := strings.Join(texts.Look(t, pool, trackersql.Schema), " ")
	for _, column := range []string{"zip_file.file_name", "xml_file.", "file_source.short_name", "an_exception.short_name", "unreadable.reason"} {
		if !strings.Contains(filled, "tracker."+column) {
			t.Errorf("nothing was written to %s: %s", column, filled)
		}
	}
}
