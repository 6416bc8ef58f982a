//go:build synctests

package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// Budgets of the model of control.
const (
	silenceBudget = 20 * time.Second
	retryPause    = 15 * time.Second
	releaseLimit  = 40 * time.Second
	perHosting    = 3 // attempts
	pollEvery     = 5 * time.Second
	pollLease     = 12 * time.Second
	heartbeat     = 10 * time.Second
)

// corrupted is an archive that no hosting has whole.
const corrupted = "corrupted_at_producer"

// States of an acquisition.
type acqState string

const (
	queued    acqState = "queued"
	wanted    acqState = "wanted"
	requested acqState = "requested"
	received  acqState = "received"
	extracted acqState = "extracted"
	ended     acqState = "ended"
)

// control is the model of the control plane: what poll, plan and sequence
// decide, each in a transaction. It is written as plainly as can be.
type control struct {
	database
	files    map[string]*cfile
	order    []*cfile
	jobs     map[string]*job
	jobNo    int
	sessions []*csession
	batches  []*batch
	numbers  map[string]int64 // of batches, by domain
	position int64            // the last one given
	previous chain.Digest     // of its record
	given    time.Time        // when it was
	polls    []*poll
	held     []*held
}

// cfile is what control knows of a file.
type cfile struct {
	id, name, action, centre, bad string
	hostings                      map[string]*hosting
	acqs                          []*acq
	attempts                      map[int32]*attempt
	last                          int32 // attempt
	current                       string
	currentAcq                    *acq
	acceptances                   int32
	looks                         []*look // announced, not yet taken up
}

type hosting struct {
	source   string
	look     int32
	size     int64
	mtime    time.Time
	listedAt time.Time
	present  bool
	missed   int
}

type look struct {
	source  string
	look    int32
	session *csession
	rec     schemas.Record
	newsAt  time.Time
}

// acq is the pursuit of one look.
type acq struct {
	file                                    *cfile
	batch                                   *batch
	source                                  string
	look                                    int32
	state                                   acqState
	tried                                   map[string]*tries
	attempt                                 int32
	notBefore, retryAt, newsAt, begun, over time.Time
	result, exception                       string // inserted (in order), duplicate, failed
	download, unzip                         string
	documents                               int32
	rankTime                                time.Time
	ordinal                                 int32
	last                                    schemas.Record
	ordered                                 bool // its documents are out
	failures                                int
}

type tries struct {
	n       int
	givenUp bool
	bad     string
}

type attempt struct {
	acq             *acq
	source, job     string
	listedAt        time.Time
	download, unzip string
	early           *schemas.UnzipFinished
	verdicts        map[string]*verdict // by download, unzip and document
}

type verdict struct {
	body schemas.DocumentValidated
}

type job struct {
	id, server string
	left       int
	rec        schemas.Record
	newsAt     time.Time
	repeats    int
}

type csession struct {
	number int
	id     string
	polls  []*poll
	opened time.Time
	ended  bool // its end is out, or it has none
	over   time.Time
}

type poll struct {
	session  *csession
	source   string
	state    string // due, running, ended
	holder   string
	until    time.Time
	complete bool
	fate     string
}

type batch struct {
	session  *csession // nil: late
	domain   string
	opened   time.Time
	number   int64 // 0: nothing of it is out
	released bool
	acqs     []*acq

	documents int32 // that are out
}

func newControl(s *sim) *control {
	return &control{database: newDatabase(s, "control"), files: map[string]*cfile{}, jobs: map[string]*job{}, numbers: map[string]int64{}}
}

// credit is how many sessions a server still allows.
func (c *control) credit(server string) int {
	n := c.s.scene.limits[server]
	for _, j := range c.jobs {
		if j.server == server {
			n--
		}
	}
	for _, q := range c.polls {
		if q.state == "running" && sceneSources()[q.source] == server {
			n--
		}
	}
	for _, h := range c.held {
		if h.server == server && c.jobs[h.job] == nil && time.Now().Before(h.until) {
			n--
		}
	}
	return n
}

// plan decides about what a batch of events tells.
func (c *control) plan(batch []sink.Range) {
	c.s.each(batch, func(_ sink.Range, rec *kgo.Record, m schemas.Message) {
		record := kafka.FromKgo(rec)
		record.Topic = m.Topic
		switch b := m.Body.(type) {
		case *schemas.FileDiscovered:
			c.discovered(b)
		case *schemas.DownloadFinished:
			c.downloaded(b, record)
		case *schemas.UnzipFinished:
			c.unzipped(b)
		}
	})
}

func (c *control) discovered(d *schemas.FileDiscovered) {
	f := c.files[d.File]
	if f == nil {
		c.s.violate("L1", "file.discovered of a file that control does not know: %s", d.FileName)
		return
	}
	for i, k := range f.looks {
		if k.source == d.Source && k.look == d.Look {
			f.looks = slices.Delete(f.looks, i, i+1)
			if d.Source != centreSource(f.centre) {
				return // passed over: the producing centre's own source has it
			}
			c.take(f, k.source, k.look, k.session)
			return
		}
	}
}

// take begins the pursuit of a look, behind those under way.
func (c *control) take(f *cfile, source string, look int32, session *csession) {
	a := &acq{file: f, source: source, look: look, state: wanted, tried: map[string]*tries{}, notBefore: time.Now(), begun: time.Now()}
	for _, o := range f.acqs {
		o.retryAt = time.Time{}
		if o.state != ended {
			a.state = queued
		}
		a.failures = max(a.failures, o.failures)
	}
	a.batch = c.openBatch(session, f.centre)
	a.batch.acqs = append(a.batch.acqs, a)
	f.acqs = append(f.acqs, a)
}

// openBatch is the batch of a session and a domain, or a late one if that is
// out already.
func (c *control) openBatch(session *csession, domain string) *batch {
	for _, b := range c.batches {
		if b.session == session && b.domain == domain && !b.released {
			return b
		}
		if session != nil && b.session == session && b.domain == domain {
			return c.openBatch(nil, domain)
		}
	}
	b := &batch{session: session, domain: domain, opened: time.Now()}
	c.batches = append(c.batches, b)
	return b
}

func (c *control) downloaded(d *schemas.DownloadFinished, rec schemas.Record) {
	f := c.files[d.File]
	if f == nil {
		return
	}
	t := f.attempts[d.Attempt]
	if t == nil || t.download != "" || t.acq.state != requested || t.acq.attempt != d.Attempt {
		return
	}
	a := t.acq
	t.download = d.Outcome
	if j := c.jobs[t.job]; j != nil {
		j.newsAt = time.Now()
		if j.left--; j.left <= 0 {
			delete(c.jobs, t.job)
			c.s.tracef("control", "job %s has ended", t.job)
		}
	}
	switch d.Result {
	case schemas.Fetched:
		c.fetched(f, a, t, d, rec)
	case schemas.NotTried:
		t.download = schemas.NotTried
		a.state, a.notBefore = wanted, time.Now().Add(time.Second)
		c.tell(f, a, d.Attempt, "download", schemas.Cancelled, d.Exception, "")
	case schemas.Quarantined:
		c.s.violate("L1", "%s was quarantined: %s", f.name, d.Message)
		c.end(f, a, "failed", "download", d.Exception)
	default:
		c.fetchFailed(f, a, t, d)
	}
}

func (c *control) fetchFailed(f *cfile, a *acq, t *attempt, d *schemas.DownloadFinished) {
	n := a.try(t.source)
	n.n++
	if n.n >= perHosting || d.Exception == "file_gone" {
		n.givenUp = true
	}
	a.exception = d.Exception
	if c.best(f, a) == nil {
		c.end(f, a, "failed", d.Phase, d.Exception)
		return
	}
	a.state, a.notBefore = wanted, time.Now().Add(time.Duration(n.n)*time.Second)
	c.tell(f, a, d.Attempt, d.Phase, schemas.Failed, d.Exception, "")
}

func (a *acq) try(source string) *tries {
	if a.tried[source] == nil {
		a.tried[source] = &tries{}
	}
	return a.tried[source]
}

// best is the hosting to fetch from: the producing centre's own, else another, whichever:
// reputation may choose any.
func (c *control) best(f *cfile, a *acq) *hosting {
	var names []string
	for s, h := range f.hostings {
		if h.present && !a.try(s).givenUp {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	own := centreSource(f.centre)
	if slices.Contains(names, own) {
		return f.hostings[own]
	}
	if len(names) == 0 {
		return nil
	}
	return f.hostings[names[len(f.attempts)%len(names)]]
}

func (c *control) fetched(f *cfile, a *acq, t *attempt, d *schemas.DownloadFinished, rec schemas.Record) {
	for source, n := range a.tried {
		if n.bad == d.SHA256 && source != t.source {
			c.end(f, a, "failed", "unzip", corrupted)
			return
		}
	}
	a.download = d.Outcome
	if d.SHA256 == f.current && f.currentAcq != a && !(f.currentAcq.result == "failed" || f.currentAcq.state != ended) {
		a.state, a.result = ended, "duplicate"
		c.tell(f, a, d.Attempt, "zip_md5", schemas.Done, "", "duplicate")
		c.next(f)
		return
	}
	a.state, a.last, a.newsAt = received, rec, time.Now()
	f.current, f.currentAcq = d.SHA256, a
	f.acceptances++
	a.ordinal, a.rankTime = f.acceptances, t.listedAt
	if u := t.early; u != nil && u.Download == d.Outcome {
		c.judge(f, a, t, u)
	}
}

func (c *control) unzipped(u *schemas.UnzipFinished) {
	f := c.files[u.File]
	if f == nil {
		return
	}
	t := f.attempts[u.Attempt]
	if t == nil || t.unzip != "" {
		return
	}
	if t.download == "" {
		t.early = u
		return
	}
	if t.download != u.Download || t.acq.state != received || t.acq.attempt != u.Attempt {
		return
	}
	c.judge(f, t.acq, t, u)
}

func (c *control) judge(f *cfile, a *acq, t *attempt, u *schemas.UnzipFinished) {
	t.unzip = u.Outcome
	if u.Result == schemas.Unzipped {
		a.state, a.unzip, a.documents, a.newsAt = extracted, u.Outcome, u.Documents, time.Now()
		c.tell(f, a, u.Attempt, "", "", "", u.Download+"/"+u.Outcome)
		c.complete(f, a)
		return
	}
	if u.Result == schemas.Quarantined {
		c.s.violate("L1", "%s was quarantined: %s", f.name, u.Message)
	}
	n := a.try(t.source)
	n.givenUp, n.bad = true, u.SHA256
	switch {
	case u.Exception == "no_documents":
		c.end(f, a, "failed", "unzip", u.Exception)
		return
	case c.best(f, a) == nil:
		c.end(f, a, "failed", "unzip", corrupted)
		return
	}
	a.state, a.notBefore = wanted, time.Now()
	c.tell(f, a, u.Attempt, "unzip", schemas.Failed, u.Exception, "")
}

// end ends an acquisition that failed; what a hosting still shows is tried
// again later.
func (c *control) end(f *cfile, a *acq, result, phase, exception string) {
	a.state, a.result, a.exception = ended, result, exception
	a.failures++
	if (phase != "unzip" || exception == corrupted) && result == "failed" && a == f.acqs[len(f.acqs)-1] {
		// Growing pauses: else slow files that nothing can cure would never
		// leave their server alone.
		a.retryAt = time.Now().Add(retryPause << min(a.failures-1, 5))
	}
	c.tell(f, a, a.attempt, phase, schemas.Failed, exception, "")
	c.next(f)
}

// next lets the look behind an ended one be fetched.
func (c *control) next(f *cfile) {
	for _, a := range f.acqs {
		if a.state == queued {
			a.state, a.notBefore = wanted, time.Now()
			return
		}
		if a.state != ended {
			return
		}
	}
}

// sequence keeps verdicts; the first of each counts.
func (c *control) sequence(batch []sink.Range) {
	c.s.each(batch, func(_ sink.Range, _ *kgo.Record, m schemas.Message) {
		v, ok := m.Body.(*schemas.DocumentValidated)
		if !ok || c.files[v.File] == nil {
			return
		}
		f := c.files[v.File]
		t := f.attempts[v.Attempt]
		if t == nil {
			return
		}
		if v.Result == schemas.Quarantined {
			c.s.violate("L1", "%s of %s was quarantined", v.Entry, v.FileName)
		}
		key := v.Download + " " + v.Unzip + " " + v.Document
		if old := t.verdicts[key]; old != nil {
			if old.body.Result != v.Result || old.body.Exception != v.Exception {
				c.s.violate("L4", "%s of %s has two verdicts: %s and %s", v.Entry, v.FileName, old.body.Outcome, v.Outcome)
			}
			return
		}
		t.verdicts[key] = &verdict{*v}
		t.acq.newsAt = time.Now()
		c.complete(f, t.acq)
	})
}

// of are the verdicts of what was accepted.
func (a *acq) verdicts() (out []*verdict) {
	t := a.file.attempts[a.attempt]
	for key, v := range t.verdicts {
		if v.body.Download == a.download && v.body.Unzip == a.unzip {
			_ = key
			out = append(out, v)
		}
	}
	return out
}

func (c *control) complete(f *cfile, a *acq) {
	if a.state != extracted {
		return
	}
	n := len(a.verdicts())
	if n > int(a.documents) {
		c.s.violate("L6", "%s has %d verdicts and %d documents", f.name, n, a.documents)
	}
	if n < int(a.documents) {
		return
	}
	a.state, a.result, a.over = ended, "inserted", time.Now()
	if a.documents == 0 {
		a.result, a.exception = "failed", "no_documents"
	}
	c.next(f)
}

// tell writes control's judgement to the log.
func (c *control) tell(f *cfile, a *acq, attempt int32, phase string, st schemas.Status, exception, accepted string) {
	c.s.tracef("control", "%s attempt %d: %s %s %s %s", f.name, attempt, phase, st, exception, accepted)
	c.put(schemas.Message{
		ID:    schemas.EventID("plan", schemas.LiveRun, f.id, "told", strconv.Itoa(int(attempt)), phase, string(st), accepted),
		Topic: schemas.StatusChangedTopic, Key: f.id, Stage: "plan", Time: time.Now(),
		Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: f.centre, Source: a.source},
			FileRef: f.ref(), Entity: schemas.EntityDownload, Attempt: attempt, Accepted: accepted, Phase: phase, Status: string(st), Exception: exception},
	})
}

func (f *cfile) ref() schemas.FileRef {
	return schemas.FileRef{File: f.id, FileName: f.name, Action: f.action}
}

// dispatch gathers what is wanted into jobs, as far as credit goes, tries
// again what failed, and requests again what has gone silent.
func (c *control) dispatch() {
	now := time.Now()
	bySource := map[string][]*acq{}
	for _, f := range c.order {
		if n := len(f.acqs); n > 0 {
			if a := f.acqs[n-1]; a.state == ended && !a.retryAt.IsZero() && now.After(a.retryAt) {
				a.retryAt = time.Time{}
				if own := f.hostings[a.source]; own != nil && own.present {
					c.take(f, a.source, own.look, nil)
				}
			}
		}
		for _, a := range f.acqs {
			if a.state != wanted || a.notBefore.After(now) {
				continue
			}
			h := c.best(f, a)
			if h == nil {
				c.end(f, a, "gone", "download", "gone")
				continue
			}
			bySource[h.source] = append(bySource[h.source], a)
		}
	}
	sources := make([]string, 0, len(bySource))
	for s := range bySource {
		sources = append(sources, s)
	}
	slices.Sort(sources)
	for _, s := range sources {
		for rest := bySource[s]; len(rest) > 0 && c.credit(sceneSources()[s]) > 0; {
			n := min(len(rest), 1+int(c.jobNo)%3)
			c.request(s, rest[:n], now)
			rest = rest[n:]
		}
	}
	c.remind(now)
}

func (c *control) request(source string, acqs []*acq, now time.Time) {
	c.jobNo++
	id := fmt.Sprintf("job-%d", c.jobNo)
	server := sceneSources()[source]
	body := &schemas.DownloadRequested{Scope: schemas.Scope{Run: schemas.LiveRun, Source: source}, Job: id, Server: server}
	names := ""
	for _, a := range acqs {
		f := a.file
		h := f.hostings[source]
		f.last++
		a.state, a.attempt, a.newsAt = requested, f.last, now
		f.attempts[f.last] = &attempt{acq: a, source: source, job: id, listedAt: h.listedAt, verdicts: map[string]*verdict{}}
		mtime := h.mtime
		body.Files = append(body.Files, schemas.RequestFile{FileRef: f.ref(), Centre: f.centre, Attempt: f.last, Look: h.look,
			Path: f.action + "/" + f.name, Size: h.size, ModTime: &mtime, RequestedAt: &now})
		names += " " + f.name
	}
	rec, err := c.s.shared.codec.Encode(schemas.Message{ID: schemas.EventID("plan", schemas.LiveRun, id, "job"), Topic: schemas.DownloadRequestedTopic,
		Key: id, Stage: "plan", Time: now, Body: body})
	if err != nil {
		c.s.violate("sim", "encode a job: %v", err)
		return
	}
	c.jobs[id] = &job{id: id, server: server, left: len(acqs), rec: rec, newsAt: now}
	c.putRecord(rec)
	c.s.tracef("control", "%s from %s:%s", id, source, names)
}

// remind repeats the last event of what has gone silent.
func (c *control) remind(now time.Time) {
	repeat := func(rec schemas.Record, newsAt *time.Time, what string) {
		if now.Sub(*newsAt) < silenceBudget {
			return
		}
		*newsAt = now
		c.putRecord(rec)
		c.s.tracef("control", "%s has gone silent: %s again", what, rec.Topic)
	}
	for _, j := range sorted(c.jobs) {
		repeat(j.rec, &j.newsAt, j.id)
	}
	for _, f := range c.order {
		for _, k := range f.looks {
			repeat(k.rec, &k.newsAt, f.name)
		}
		for _, a := range f.acqs {
			if a.state == received || a.state == extracted {
				repeat(a.last, &a.newsAt, f.name)
			}
		}
	}
}

func sorted[T any](m map[string]T) []T {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]T, len(keys))
	for i, k := range keys {
		out[i] = m[k]
	}
	return out
}
