//go:build !race

package history

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// What a shadow run did is in the log, marked, and nowhere where things are
// counted; that it was asked for is an event like any other. A phase that was
// passed on the way has the version that judged then.
func TestShadowsAreInTheLogOnly(t *testing.T) {
	h, conn := fresh(t)
	run, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	judged := schemas.StatusChanged{Entity: schemas.EntityDocument, Phase: "xsd", Status: "done", VersionOf: "x1", FinishedAt: &at, StartedAt: &at,
		Passed: []schemas.PassedPhase{{Phase: "xml_name", VersionOf: "u1"}}}
	r := sink.Range{Topic: schemas.StatusChangedTopic}
	for _, one := range []struct{ run, entity string }{{schemas.LiveRun, schemas.EntityDocument}, {run, schemas.EntityDocument}, {run, schemas.EntityReplay}} {
		e := judged
		if e.Run, e.Entity = one.run, one.entity; e.Entity == schemas.EntityReplay {
			e = schemas.StatusChanged{Scope: schemas.Scope{Run: run}, Entity: e.Entity, Status: "running"}
		}
		raw, err := h.deps.Codec.Encode(schemas.Message{ID: schemas.ID("e", one.run, one.entity), Topic: schemas.StatusChangedTopic, Stage: "validate", Time: at, Body: &e})
		if err != nil {
			t.Fatal(err)
		}
		rec := kafka.ToKgo("test", raw)
		rec.Offset = r.To
		r.Records, r.To = append(r.Records, []*kgo.Record{rec}...), r.To+1
	}
	if err := h.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT toString(groupArray((entity, shadow))) FROM (SELECT * FROM log ORDER BY offset)":                            "[('document',0),('document',1),('replay',1)]",
		"SELECT toString(groupArray((entity, phase, version_of, shadow))) FROM (SELECT * FROM once ORDER BY entity, phase)": "[('document','xml_name','u1',0),('document','xsd','x1',0),('replay','','',1)]",
		"SELECT toString(sum(events)) FROM throughput_hour":                                                                 "2",
		"SELECT toString(sum(steps)) FROM latency":                                                                          "1",
	} {
		if got := scan[string](t, conn, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
