package download

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/schemas"
)

const (
	// progressShare bounds what the log keeps of one transfer: between two tellings
	// passes at least this part of the time that it has taken, so that their number
	// grows with that time's logarithm. Of 12 hours, 10 s apart at first, it is some 125.
	progressShare = 20
	// tellPause is the least time between what the whole member tells: 10 a second.
	tellPause = 100 * time.Millisecond
)

// turn is a member's turn to tell how far a transfer is. Only one is out at a time,
// so that a broker that is away, or slow, is told less, and never finds a heap.
type turn struct {
	mu        sync.Mutex
	transfers int  // that are under way
	out       bool // what was told last is not settled
	last      time.Time
}

// take takes the turn for a transfer that was told of so long ago. Who has had it
// gives way until all others could have had it twice, so that none is never told of.
func (t *turn) take(now time.Time, since time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out || now.Sub(t.last) < tellPause || since < 2*time.Duration(t.transfers)*tellPause {
		return false
	}
	t.out, t.last = true, now
	return true
}

func (t *turn) settled(error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = false
}

// add counts a transfer that begins, or with -1 one that ends.
func (t *turn) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.transfers += n
}

// progress tells how far one transfer is, while bytes come: one that stands still
// is known by what is not told. Nothing depends on what it tells.
type progress struct {
	run      *run
	file     schemas.RequestFile
	begun    time.Time
	received int64              // of the file: also in the attempt before, behind which this one goes on
	all      prometheus.Counter // bytes of all transfers from the source

	at     time.Time // when it was told last, or begun
	before int64     // bytes until then
}

// progressOf begins to count a transfer that goes on behind so many bytes, until end.
func (r *run) progressOf(f schemas.RequestFile, from int64) *progress {
	now := r.d.deps.Now()
	r.d.turn.add(1)
	return &progress{run: r, file: f, begun: now, received: from, at: now, before: from, all: r.d.metrics.bytes(r.job.Source)}
}

func (p *progress) end() { p.run.d.turn.add(-1) }

// came counts bytes that came once more, and new ones, and tells of these where it
// is time and the member's turn.
func (p *progress) came(again, n int) {
	p.received += int64(n)
	p.all.Add(float64(again + n))
	every, d := p.run.d.cfg.ProgressInterval.D(), p.run.d
	if every <= 0 || p.run.in.Tell == nil {
		return
	}
	now := d.deps.Now()
	since := now.Sub(p.at)
	if since < max(every, now.Sub(p.begun)/progressShare) || !d.turn.take(now, since) {
		return
	}
	told := schemas.Progress{Received: p.received, Rate: int64(float64(p.received-p.before) / since.Seconds())}
	p.run.in.Tell(p.run.status(p.file, "progress", strconv.FormatInt(now.UnixNano(), 10), now, &schemas.StatusChanged{
		Phase: string(schemas.Download), Status: string(schemas.Running), StartedAt: &p.begun, Attributes: told.Attributes(),
	}), d.turn.settled)
	p.at, p.before = now, p.received
}
