package why

import (
	"cmp"
	"strings"

	"tributary/producers/plan"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
)

// main is the acquisition by which the file stands: the newest but for those of
// shadow runs and those that heal blobs, which bring no version.
func (f *Facts) main() *control.Fetch {
	for i := range f.Fetches {
		if x := &f.Fetches[i]; !schemas.IsShadow(x.Run) && x.Heals == "" {
			return x
		}
	}
	return nil
}

// active is the one that is under way, before the newest; nil if there is none.
func (f *Facts) active(newest *control.Fetch) *control.Fetch {
	for i := range f.Fetches {
		if x := &f.Fetches[i]; x.ID < newest.ID && !schemas.IsShadow(x.Run) && x.Heals == "" && x.State != control.Queued && x.State != control.Ended {
			return x
		}
	}
	return nil
}

// fetch judges a file that plan has taken up.
func (f *Facts) fetch(a *Answer, x *control.Fetch) {
	switch x.State {
	case control.Queued:
		f.behind(a, x)
	case control.Wanted:
		f.wanted(a, x)
	case control.Requested:
		f.requested(a, x)
	case control.Received, control.Extracted:
		f.working(a, x)
	default:
		f.ended(a, x)
	}
	if x.State != control.Ended && x.Run != schemas.LiveRun {
		f.replaying(a, x)
	}
}

// behind judges a version that waits for an earlier one.
func (f *Facts) behind(a *Answer, x *control.Fetch) {
	before := f.active(x)
	if before == nil {
		a.say(BehindEarlier, "%s shows another version now, which is taken up next: the one before it has ended.", a.File)
		return
	}
	var of Answer
	of.File = a.File
	f.fetch(&of, before)
	what := "an earlier version"
	if before.Look == x.Look && before.Source == x.Source {
		what = "an earlier attempt"
	}
	a.say(BehindEarlier, "%s waits until %s of it, which is under way, has ended.", a.File, what)
	a.Evidence = append(a.Evidence, of.Evidence...)
	a.prove("%s: %s", of.Verdict, of.Sentence)
	a.Next = of.Next
}

// requested judges what a job asks for.
func (f *Facts) requested(a *Answer, x *control.Fetch) {
	switch {
	case x.Job == nil:
		a.say(Requested, "%s was requested, and the job that asked for it is gone: it is requested again once it has been without news for long enough.", a.File)
		a.proveAt(&x.NewsAt, "attempt %d was requested", x.Attempt)
	case x.Holder != nil:
		far := ""
		if t := f.transfer(x); t != nil {
			far = " (" + t.Progress(f.Now) + ")"
		}
		a.say(Downloading, "%s is being downloaded%s: a member works on the job that was requested at %s.", a.File, far, moment(*x.JobSince))
		a.prove("%s works on the job %s; without an outcome yet: %s of it", *x.Holder, *x.Job, many(int64(*x.JobFiles), "file"))
	default:
		a.say(Requested, "%s is asked for by a job that no member has begun with, requested at %s.", a.File, moment(*x.JobSince))
		a.prove("the job is %s, with %s, at the server %s", *x.Job, many(int64(*x.JobFiles), "file"), *x.JobServer)
		a.Next = "Nothing, while a member has the role download and events are published (tributary status)."
	}
	if t := f.transfer(x); t != nil {
		a.proveAt(&t.Told, "%s of attempt %d had come; nothing is told while no bytes come", bytes(t.Received), t.Attempt)
	}
	f.throttled(a)
	f.tried(a, x)
}

// transfer is how far the download of x is; nil where nothing was told of it.
func (f *Facts) transfer(x *control.Fetch) *report.Transfer {
	if f.Tracked == nil || f.Tracked.Transfer == nil || f.Tracked.Transfer.Attempt != x.Attempt {
		return nil
	}
	return f.Tracked.Transfer
}

// working judges what is fetched and not ended.
func (f *Facts) working(a *Answer, x *control.Fetch) {
	if d := f.Damage; d != nil && d.SHA256 == x.SHA256 && d.State != control.DamageHealed {
		a.say(BlobDamaged, "%s waits for its bytes: those that were stored are damaged or gone (%s).", a.File, schemas.Cut(d.Problem, maxText))
		a.proveAt(&d.Changed, "the blob %s is %s", d.SHA256, d.State)
		a.Next = "Look at what became of it: tributary blobs damaged"
		return
	}
	if x.State == control.Received {
		a.say(WaitsForUnzip, "%s is fetched and waits for unzip.", a.File)
		a.Next = "Nothing, while a member has the role unzip."
	} else {
		a.say(WaitsForValidate, "%s is unzipped, and waits for validate to judge %d of %s.", a.File, int64(x.Documents)-x.Judged, many(int64(x.Documents), "document"))
		a.Next = "Nothing, while a member has the role validate."
	}
	a.proveAt(&x.NewsAt, "attempt %d had its last news", x.Attempt)
	if x.Repeats > 0 {
		a.prove("it was without news for too long and asked for again, %s", many(int64(x.Repeats), "time"))
	}
}

// ended judges an acquisition that has ended.
func (f *Facts) ended(a *Answer, x *control.Fetch) {
	switch {
	case x.Result == control.Complete:
		f.judged(a, x)
	case x.Result == control.Duplicate && strings.HasPrefix(x.Message, plan.SameBytes):
		a.say(SameBytes, "%s is %s.", a.File, x.Message)
		a.proveAt(x.EndedAt, "attempt %d brought the bytes %s, from %s", x.Attempt, x.SHA256, x.Source)
		a.Next = "Nothing, if that is as meant: look at the other file, and at same_bytes in the profile."
	case x.Result == control.Duplicate:
		a.proveAt(x.EndedAt, "it was fetched again and brought the bytes that the file shows already (attempt %d)", x.Attempt)
		if before := f.brought(x); before != nil {
			f.fetch(a, before)
			return
		}
		f.remembered(a)
	case x.Exception == schemas.Quarantined:
		f.quarantined(a, x.Phase, x.Message)
		a.proveAt(x.EndedAt, "attempt %d ended, at %s", x.Attempt, x.Source)
	case x.Exception == plan.CancelledByHand:
		f.cancelled(a, x)
	case x.Result == string(schemas.Cancelled):
		a.say(Cancelled, "%s was given up before it was inserted: %s.", a.File, because(x.Exception, x.Message))
		a.proveAt(x.EndedAt, "attempt %d ended, at %s", x.Attempt, x.Source)
		a.Next = remedy(x.Exception)
	default:
		f.failed(a, x)
	}
}

// failed judges what could not be fetched or unzipped.
func (f *Facts) failed(a *Answer, x *control.Fetch) {
	where := ""
	if x.Phase != "" {
		where = " in " + x.Phase
	}
	switch {
	case x.Exception == "source_unavailable" && f.restingNow(x):
		f.nowhere(a, x)
	case x.Exception == "gone":
		a.say(Gone, "%s is not taken: %s.", a.File, cmp.Or(x.Message, "no source shows it any more"))
	case x.RetryAt != nil:
		a.say(FailedRetried, "%s failed%s with %s; it is tried again at %s, or at once by tributary files retry.", a.File, where, because(x.Exception, x.Message), moment(*x.RetryAt))
	default:
		a.say(Failed, "%s failed%s with %s; it is not tried again by itself.", a.File, where, because(x.Exception, x.Message))
	}
	a.Next = cmp.Or(a.Next, remedy(x.Exception))
	a.proveAt(x.EndedAt, "attempt %d ended, at %s", x.Attempt, x.Source)
	if x.Retries > 0 {
		a.prove("it was tried again %s since it failed first", many(int64(x.Retries), "time"))
	}
	f.tried(a, x)
}

// restingNow tells whether a source that shows the file is not available now.
func (f *Facts) restingNow(x *control.Fetch) bool {
	for _, h := range f.Hostings {
		if h.Present && !x.Tried[h.Source].GivenUp && h.Available() {
			return false
		}
	}
	return true
}

// brought is the acquisition before x that brought the bytes that x brought again.
func (f *Facts) brought(x *control.Fetch) *control.Fetch {
	for i := range f.Fetches {
		if b := &f.Fetches[i]; b.ID < x.ID && b.SHA256 == x.SHA256 && b.Result != control.Duplicate && !schemas.IsShadow(b.Run) && b.Heals == "" {
			return b
		}
	}
	return nil
}

// tried is what was met at each source.
func (f *Facts) tried(a *Answer, x *control.Fetch) {
	for _, h := range f.Hostings {
		t, met := x.Tried[h.Source]
		if !met {
			continue
		}
		given := ""
		if t.GivenUp {
			given = ", and given up there"
		}
		a.prove("it was tried %s at %s%s", many(int64(t.Attempts), "time"), h.Source, given)
	}
}
