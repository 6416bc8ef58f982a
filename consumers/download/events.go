package download

import (
	"strconv"
	"time"

	"tributary/schemas"
)

func (r *run) scope(f schemas.RequestFile) schemas.Scope {
	return schemas.Scope{Run: r.job.Run, Session: f.Session, Centre: f.Centre, Source: r.job.Source}
}

func (r *run) status(f schemas.RequestFile, kind, outcome string, at time.Time, body *schemas.StatusChanged) schemas.Message {
	body.Scope, body.FileRef, body.Entity, body.Server = r.scope(f), f.FileRef, schemas.EntityDownload, r.job.Server
	body.Attempt, body.Look, body.FileSize, body.ModTime, body.RequestedAt = f.Attempt, f.Look, f.Size, f.ModTime, f.RequestedAt
	return schemas.Message{
		ID:    schemas.EventID(Name, r.job.Run, r.in.Message.ID, kind, f.File, strconv.Itoa(int(f.Attempt)), outcome),
		Topic: schemas.StatusChangedTopic, Key: f.File, Stage: Name, Subject: f.Action + "/" + f.FileName, Time: at,
		Traceparent: r.in.Message.Traceparent, Body: body,
	}
}

// running tells that a file's transfer has begun.
func (r *run) running(f schemas.RequestFile, started time.Time) schemas.Message {
	return r.status(f, "running", "", started, &schemas.StatusChanged{
		Phase: string(schemas.Download), Status: string(schemas.Running), StartedAt: &started,
	})
}

// outcome is how a file's transfer ended: for the log, and for control and the
// stages.
type outcome struct {
	log      []schemas.Message
	finished schemas.Message
	body     *schemas.DownloadFinished // of finished
}

// outcome says how a file's transfer ended. What was not tried has no status
// of its own: control says what follows.
func (r *run) outcome(f schemas.RequestFile, res result) outcome {
	now := r.d.deps.Now()
	if res.started.IsZero() {
		res.started = now
	}
	out := &schemas.DownloadFinished{
		Scope: r.scope(f), FileRef: f.FileRef, Job: r.job.Job, Server: r.job.Server, Attempt: f.Attempt, Look: f.Look,
		Result: res.kind, Outcome: res.exception, Phase: string(res.phase), SHA256: res.ref.SHA256, MD5: res.ref.MD5, Size: res.ref.Size,
		Checksum: res.checksum, Exception: res.exception, Message: res.message,
		RequestedAt: f.RequestedAt, StartedAt: &res.started, FinishedAt: &now,
		RetryAfter: res.after.Milliseconds(),
	}
	if res.kind == schemas.Fetched {
		out.Outcome = res.ref.SHA256
	}
	if res.from > 0 { // it took more than this attempt, and nobody takes it for the time of all bytes
		out.StartedAt = nil
	}
	finished := schemas.Message{
		ID:    schemas.EventID(Name, r.job.Run, r.in.Message.ID, schemas.DownloadFinishedTopic, f.File, strconv.Itoa(int(f.Attempt)), out.Outcome),
		Topic: schemas.DownloadFinishedTopic, Key: f.File, Stage: Name, Subject: f.Action + "/" + f.FileName, Time: now,
		Traceparent: r.in.Message.Traceparent, Body: out,
	}
	if res.kind == schemas.NotTried {
		return outcome{nil, finished, out}
	}
	body := &schemas.StatusChanged{
		Phase: string(res.phase), Status: string(schemas.Done), Outcome: out.Outcome, Exception: res.exception, Message: res.message,
		Note: res.checksum, Bytes: res.ref.Size, StartedAt: &res.started, FinishedAt: &now, Attributes: res.transfer().Attributes(),
	}
	body.Archive, body.SHA256, body.MD5 = res.ref.SHA256, res.ref.SHA256, res.ref.MD5
	if res.kind != schemas.Fetched {
		body.Status, body.Bytes = string(schemas.Failed), res.arrived
	}
	return outcome{[]schemas.Message{r.status(f, "outcome", out.Outcome, now, body)}, finished, out}
}
