package e2e

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tributary/schemas"
)

// told is an event of the log as `topics tail` prints it. What is computed
// from these shares no code and no table with the history.
type told struct {
	ID, Stage string
	Time      time.Time
	Body      struct {
		Run, Session, Centre, Source, File, Action, Document, Entry, Entity string
		FileName                                                            string `json:"file_name"`
		Phase, Status, Exception, Note, Outcome, Accepted                   string
		Attempt, Look, Check, Repeats                                       int
		Bytes, Rows, Number                                                 int64
		Listed                                                              *time.Time `json:"listed_at"`
		Started                                                             *time.Time `json:"started_at"`
		Finished                                                            *time.Time `json:"finished_at"`
		Requested                                                           *time.Time `json:"requested_at"`
		Attributes                                                          map[string]string
	}
}

// log reads the log from Kafka: every event once, as it was told first.
func (s *system) log() []told {
	s.t.Helper()
	all := list[told](s, "topics", "tail", "status.changed", "--from", "start")
	slices.SortStableFunc(all, func(a, b told) int { return a.Time.Compare(b.Time) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e told) bool {
		again := seen[e.ID]
		seen[e.ID] = true
		return again
	})
}

// fetch is one transfer that brought a file.
type fetch struct {
	file    string // with its action
	source  string
	attempt int
	size    int64
	seconds float64
	at      time.Time
}

func (e told) fetched() bool {
	return e.Stage == "download" && e.Body.Phase == "zip_md5" && e.Body.Status == "done"
}

func (e told) inserted() bool {
	return e.Body.Entity == "document" && e.Body.Phase == "upload" && e.Body.Status == "done"
}

func (e told) seconds() float64 { return e.Body.Finished.Sub(*e.Body.Started).Seconds() }

func (e told) name() string { return e.Body.Action + "/" + e.Body.FileName }

func fetches(log []told) (out []fetch) {
	for _, e := range log {
		if e.fetched() {
			out = append(out, fetch{e.name(), e.Body.Source, e.Body.Attempt, e.Body.Bytes, e.seconds(), *e.Body.Finished})
		}
	}
	return out
}

// quantile is the value that the given share of the sorted values stays below.
func quantile(sorted []float64, share float64) float64 {
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// thousandths rounds as ClickHouse does, which gives halves to the even neighbour.
func thousandths(v float64) float64 { return math.RoundToEven(v*1000) / 1000 }

// latencies are the seconds from when a document's file was listed until the
// document was inserted, by centre.
func latencies(log []told) map[string][]float64 {
	listed := map[[2]string]map[int]time.Time{} // by file and source: by look
	type attempt struct {
		file   string
		number int
	}
	looks := map[attempt][2]string{}
	look := map[attempt]int{}
	for _, e := range log {
		at := [2]string{e.Body.File, e.Body.Source}
		switch {
		case e.Body.Entity == schemas.EntityHosting && e.Body.Listed != nil:
			if listed[at] == nil {
				listed[at] = map[int]time.Time{}
			}
			if t, ok := listed[at][e.Body.Look]; !ok || e.Body.Listed.Before(t) {
				listed[at][e.Body.Look] = *e.Body.Listed
			}
		case e.fetched():
			looks[attempt{e.Body.File, e.Body.Attempt}], look[attempt{e.Body.File, e.Body.Attempt}] = at, e.Body.Look
		}
	}
	out := map[string][]float64{}
	for _, e := range log {
		if e.inserted() {
			a := attempt{e.Body.File, e.Body.Attempt}
			out[e.Body.Centre] = append(out[e.Body.Centre], e.Body.Finished.Sub(listed[looks[a]][look[a]]).Seconds())
		}
	}
	for _, v := range out {
		slices.Sort(v)
	}
	return out
}

// waitsFor are the phases whose beginning and end the log tells of documents.
var waitsFor = []struct{ phase, opens string }{{"xsd", "xml_name"}, {"upload", "xsd"}, {"data", "upload"}}

// waiting counts the documents that wait in a phase at a moment, and tells for
// how many seconds the oldest has.
func waiting(log []told, phase, opens string, at time.Time) (n int, oldest float64) {
	accepted := map[string]bool{}
	for _, e := range log {
		if e.Body.Entity == schemas.EntityDownload && e.Body.Accepted != "" && e.Body.Phase == "unzip" && e.Body.Status == "done" {
			accepted[e.Body.File+e.Body.Accepted] = true
		}
	}
	began, ended := map[string]time.Time{}, map[string]time.Time{}
	for _, e := range slices.Backward(log) { // the first one counts
		if e.Body.Entity != schemas.EntityDocument || !accepted[e.Body.File+e.Body.Outcome] {
			continue
		}
		key := e.Body.Document + e.Body.Outcome
		if e.Body.Phase == opens && e.Body.Status == "done" {
			began[key] = e.Time
		}
		if e.Body.Phase == phase || e.Body.Phase == "overview" || e.Body.Status == "failed" {
			ended[key] = e.Time
		}
	}
	for key, t := range began {
		if end, ok := ended[key]; !t.After(at) && (!ok || end.After(at)) {
			n, oldest = n+1, max(oldest, at.Sub(t).Seconds())
		}
	}
	return n, oldest
}

// slowestOf are the steps of one kind, the slowest first.
func slowestOf(log []told, is func(told) bool, limit int) (out []float64) {
	for _, e := range log {
		if is(e) && e.Body.Started != nil && e.Body.Finished != nil && (e.Body.Status == "done" || e.Body.Status == "failed") {
			out = append(out, thousandths(e.seconds()))
		}
	}
	slices.SortFunc(out, func(a, b float64) int { return cmp.Compare(b, a) })
	return out[:min(len(out), limit)]
}
