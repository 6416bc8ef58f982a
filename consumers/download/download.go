// Package download fetches the files of a job over one connection to one
// source, streamed to the blob store with sha256 and md5.
//
// A file's size and time must be the same after the fetch as before it, or those of the
// very version that was fetched where the server's answer tells, and what arrives must be
// as long as the server says. A <name>.md5 beside the
// file is compared, unless listings have shown that the source has none. When the connection is lost, what was under way fails and
// the files not begun end not_tried, which costs them no attempt. The
// connection is closed before the job's last outcome is produced, since that
// outcome returns the server's credit.
//
// Whatever the server does, a job ends (bounds.go): transfers have a least rate,
// a file and a job have budgets. One that takes long is detached from its
// partition, which goes on without it.
package download

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/internal/throttle"
	"tributary/schemas"
)

// Name of the stage.
const Name = "download"

// Deps are what the stage works with.
type Deps struct {
	Sources map[string]config.Source // by id, for jobs that carry no definition
	Limits  config.Limits            // of what servers send
	Blobs   blob.Store
	Space   *blob.Space // room for more blobs; nil: enough
	// Partials keeps what came of files whose transfers were cut. Nil: each attempt
	// begins anew.
	Partials *blob.Partials
	Dial     func(context.Context, remote.Config) (remote.Session, error)
	// Outstanding asks control whether a job still holds its credit. Without an
	// answer the job goes on: then no credit is given either.
	Outstanding func(ctx context.Context, job string) (bool, error)
	// Rests asks control why nothing is to be fetched from a source now, as it is
	// in maintenance, suspended or removed: the job is then given back without a connection.
	// Nil, or without an answer: it may be fetched from.
	Rests func(ctx context.Context, source string) (state string, err error)
	// WithoutChecksums asks control whether listings of a source, defined so, have shown
	// that there is no checksum beside any of the files, by their ids: then none is asked
	// for. Nil, or without an answer: each is.
	WithoutChecksums func(ctx context.Context, source, definition string, files []string) (bool, error)
	// Hold tells control, before it is asked whether the job is outstanding, that
	// a session is about to be opened for it, and returns what ends that. So the
	// job's last outcome, if it is read meanwhile, gives no credit away that this
	// session uses: the job may have been worked on before, here or elsewhere.
	// An error says that another member has a session open for the job, which
	// then waits; held ends if another member takes this one over. Nil: nobody
	// is told.
	Hold func(ctx context.Context, job, server string) (held context.Context, end func(), err error)
	// Lease is for how long another member that has a session need not be heard of
	// before this one may take it over. 0: this one waits for as long as it takes.
	Lease time.Duration
	// Deaths says how many members died while they had a session for a job. Nil:
	// none did. Without an answer the job is not detached.
	Deaths func(ctx context.Context, job string) (int, error)
	// Gate keeps to the pace at which a source, as it is defined, and its server may be
	// asked, with all other sessions. Nil: nobody does.
	Gate    func(src config.Source, server string) *throttle.Gate
	Metrics prometheus.Registerer // nil: nobody reads them
	Log     *slog.Logger
	Now     func() time.Time
}

// Downloader is the stage.
type Downloader struct {
	cfg  config.Download
	deps Deps

	metrics *metrics
	ended   ended
	waits   waits
	turn    turn
}

// New makes a Downloader.
func New(cfg config.Download, d Deps) *Downloader {
	return &Downloader{cfg: cfg, deps: d, metrics: newMetrics(d.Metrics)}
}

// Work fetches the files of one job.
func (d *Downloader) Work(ctx context.Context, in stage.Input) error {
	job, ok := in.Message.Body.(*schemas.DownloadRequested)
	if !ok || len(job.Files) == 0 {
		return nil
	}
	if d.ended.before(job.Job, in.Record) {
		d.deps.Log.Debug("the job ended here after it was requested again; the repeat is dropped", "job", job.Job)
		return nil
	}
	held, end, err := d.hold(ctx, job)
	if err != nil {
		if d.waits.tooLong(job.Job, 2*d.deps.Lease) {
			d.deps.Log.Debug("another member works on the job; the repeat is dropped", "job", job.Job)
			return nil
		}
		return stage.Transient(err)
	}
	defer end()
	d.waits.forget(job.Job)
	ask, cancel := context.WithTimeout(held, askTimeout)
	outstanding, err := d.deps.Outstanding(ask, job.Job)
	cancel()
	if err == nil && !outstanding {
		d.deps.Log.Debug("the job is no longer outstanding and is dropped", "job", job.Job)
		return nil
	}
	if err := d.deps.Space.Low(); err != nil {
		_, derr := d.deps.Partials.Drop()
		return stage.Transient(errors.Join(err, derr))
	}
	r := &run{d: d, in: in, job: job, remaining: len(job.Files)}
	if state := d.rests(held, job.Source); state != "" {
		return r.tell(ctx, r.rest(job.Files, "nothing is fetched from the source "+job.Source+" now, whose state is "+state))
	}
	r.withoutChecksums = d.withoutChecksums(held, job)
	var giveBack context.CancelCauseFunc
	r.transfers, giveBack = context.WithCancelCause(held)
	var detaching sync.WaitGroup
	detaching.Go(func() { r.detachWhenLong(r.transfers, giveBack) })
	err = r.do(held)
	giveBack(nil)
	detaching.Wait()
	if err != nil {
		if held.Err() != nil && ctx.Err() == nil {
			return stage.Transient(context.Cause(held)) // another member goes on with it
		}
		return err
	}
	d.ended.note(job.Job, in.Record, d.deps.Now())
	return nil
}

// askTimeout bounds the wait for control before a job begins.
const askTimeout = 5 * time.Second

// rests asks control whether the source is left alone now.
func (d *Downloader) rests(ctx context.Context, source string) string {
	if d.deps.Rests == nil {
		return ""
	}
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	state, err := d.deps.Rests(ask, source)
	if err != nil {
		d.deps.Log.Debug("control does not say how the source stands; the job goes on", "source", source, "error", err)
	}
	return state
}

// withoutChecksums tells whether no checksum is to be asked for beside the job's files.
func (d *Downloader) withoutChecksums(ctx context.Context, job *schemas.DownloadRequested) bool {
	if !d.cfg.Checksums {
		return true
	}
	if d.deps.WithoutChecksums == nil {
		return false
	}
	files := make([]string, len(job.Files))
	for i, f := range job.Files {
		files[i] = f.File
	}
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	none, err := d.deps.WithoutChecksums(ask, job.Source, job.Definition, files)
	if err != nil {
		d.deps.Log.Debug("control does not say whether the source shows checksums; they are asked for", "source", job.Source, "error", err)
	}
	return none && err == nil
}

// hold tells control that a session is about to be opened.
func (d *Downloader) hold(ctx context.Context, job *schemas.DownloadRequested) (held context.Context, end func(), err error) {
	if d.deps.Hold == nil {
		return ctx, func() {}, nil
	}
	return d.deps.Hold(ctx, job.Job, job.Server)
}

// source is the job's source as its definition says, so that no configuration and
// no database need to know it. Jobs of programs before download.requested had
// version 2 carry none: then the configuration counts.
func (d *Downloader) source(job *schemas.DownloadRequested) (config.Source, error) {
	if job.Definition != "" {
		return config.ParseDefinition(job.Definition)
	}
	src, known := d.deps.Sources[job.Source]
	if !known {
		return src, errors.New("the job was requested by an older program, and this member's configuration has no source " + job.Source + ": the file is requested again with all that is needed once no older member has the role plan")
	}
	return src, nil
}

// Fail ends the files of a job that is poison: one file alone is quarantined;
// several are given back, to be requested each alone.
func (d *Downloader) Fail(in schemas.Message, cause error) []schemas.Message {
	job, ok := in.Body.(*schemas.DownloadRequested)
	if !ok {
		return nil
	}
	r := &run{d: d, in: stage.Input{Message: in}, job: job}
	var out []schemas.Message
	for i, f := range job.Files {
		res := result{kind: schemas.NotTried, exception: schemas.Quarantined, message: cause.Error()}
		if len(job.Files) == 1 {
			res = result{kind: schemas.Quarantined, phase: schemas.Download, exception: schemas.Quarantined, message: cause.Error()}
		}
		o := r.outcome(f, res)
		o.body.Last = i == len(job.Files)-1
		out = append(append(out, o.log...), o.finished)
	}
	return out
}
