package tracker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// BenchmarkApply applies the log of files of three documents, event by event
// as the stages send it, in batches of the default size.
func BenchmarkApply(b *testing.B) {
	pool := database(b)
	tr := newTracker(b, pool)
	const batch = 5000
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var records []*kgo.Record
	from := int64(0)
	flush := func() {
		r := sink.Range{Topic: schemas.StatusChangedTopic, From: from, To: from + int64(len(records)), Records: records}
		b.StartTimer()
		if err := tr.Apply(b.Context(), []sink.Range{r}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		from, records = r.To, nil
	}
	b.ResetTimer()
	b.StopTimer()
	// Events come as they do from stages that work side by side: the first
	// steps of a hundred files, then the next.
	for file := 0; from+int64(len(records)) < int64(b.N); file += 100 {
		var steps [][]schemas.StatusChanged
		for i := range 100 {
			steps = append(steps, wholeFile(fmt.Sprintf("H.2012-10-02.%d.impc.zip", file+i)))
		}
		for s := range steps[0] {
			for i := range steps {
				now = now.Add(time.Microsecond)
				records = append(records, record(b, tr, event{now, steps[i][s]}, from+int64(len(records))))
				if len(records) == batch {
					flush()
				}
			}
		}
	}
	if len(records) > 0 {
		flush()
	}
	b.ReportMetric(float64(from)/b.Elapsed().Seconds(), "events/s")
}

// wholeFile is the log of one file of three documents: 28 events.
func wholeFile(name string) []schemas.StatusChanged {
	e := unzippedFile(name, 3)
	named, hosted, requested, running, unzipping := e[0], e[0], e[0], e[0], e[0]
	named.Entity, named.Phase, named.Outcome, named.SHA256, named.FileDate, named.Attempt = schemas.EntityFile, "zip_name", "", "", "2012-10-02", 0
	hosted.Entity, hosted.Look, hosted.Attributes = schemas.EntityHosting, 1, map[string]string{"state": "present"}
	requested.Phase, requested.Status, requested.Outcome, requested.SHA256 = "download", "pending", "", ""
	running.Phase, running.Status, running.Outcome, running.SHA256 = "download", "running", "", ""
	unzipping.Phase, unzipping.Status, unzipping.SHA256 = "unzip", "running", ""
	out := []schemas.StatusChanged{named, hosted, requested, running, e[0], unzipping, e[1]}
	for _, phase := range []int{5, 6, 7, 8, 9, 10} {
		for i := range 3 {
			d := documentAt(name, fmt.Sprintf("H.2012-10-02.%d.specimen.impc.xml", i), step{Phase: phase, Status: done})
			if phase >= 8 {
				d.Check = 1
			}
			out = append(out, d)
		}
	}
	return out
}
