package download

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxEnded bounds the jobs remembered, beyond which all are forgotten.
const maxEnded = 1000

// ended remembers jobs that ended in this member. A job that takes longer than
// control waits is requested again meanwhile; its repeat comes right behind it,
// before control has read how it ended, and must not fetch everything anew.
type ended struct {
	mu   sync.Mutex
	jobs map[string]endedJob
}

type endedJob struct {
	partition int32
	offset    int64
	at        time.Time
}

// note remembers that the job of a record ended.
func (e *ended) note(job string, rec *kgo.Record, now time.Time) {
	if rec == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs == nil || len(e.jobs) >= maxEnded {
		e.jobs = map[string]endedJob{}
	}
	e.jobs[job] = endedJob{rec.Partition, rec.Offset, now}
}

// before tells whether a record is a repeat that was requested before the job
// ended. Records of one key are worked on in order, so the end of the earlier
// one is acknowledged. A repeat requested later is wanted: what was told of
// the end may be lost. The same record again is another attempt at it.
func (e *ended) before(job string, rec *kgo.Record) bool {
	if rec == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known, ok := e.jobs[job]
	return ok && known.partition == rec.Partition && rec.Offset > known.offset && rec.Timestamp.Before(known.at)
}
