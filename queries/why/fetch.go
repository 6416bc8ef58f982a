package why

import (
	"cmp"
	"fmt"
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

// wanted judges what is to be requested.
func (f *Facts) wanted(a *Answer, x *control.Fetch) {
	switch {
	case x.NotBefore.After(f.Now):
		why := "it was not begun"
		if x.Exception != "" {
			why = "the last attempt failed with " + because(x.Exception, x.Message)
		} else if n := x.Tried[x.Source].NoRoom; n > 0 {
			why = "others had the room for it, " + many(int64(n), "time") + " (no_room)"
		}
		a.say(NextAttempt, "%s is to be fetched again from %s on: %s.", a.File, moment(x.NotBefore), why)
	case f.From == nil:
		f.nowhere(a, x)
	case f.From.Source == f.SourceID && f.resting(f.Source.State, a):
	case f.Dormant != "":
		a.say(DiskLow, "%s waits, since nothing is fetched: %s.", a.File, f.Dormant)
		a.Next = "Make room, or change blobs.min_free."
	case f.Left.After(f.Now):
		a.say(Throttled, "%s is throttled by the server %s, which has asked to be left alone until %s.", a.File, f.From.Server, moment(f.Left))
		a.Next = "Nothing: it is fetched then, or before from another source that shows it."
	case f.Credit.Free <= 0:
		a.say(CreditUsed, "%s waits for a session, of which the server %s allows %d: all are used%s.", a.File, f.From.Server, f.Credit.Limit, f.uses())
		f.turns(a)
		a.Next = "Nothing, if that is as meant: the least max_sessions of the server's sources says how many it allows."
	default:
		a.say(Queued, "%s waits for its turn to be requested from %s, behind %s of it; in all %s so.", a.File, f.From.Source, atLeast(f.Queue.Before, "other file"), waits(f.Queue.All))
		a.prove("the server %s has %d of %d sessions free", f.From.Server, f.Credit.Free, f.Credit.Limit)
		f.turns(a)
		a.Next = "Nothing, while a member has the role plan."
	}
	f.throttled(a)
	f.tried(a, x)
}

// throttled proves how fast the server may be asked.
func (f *Facts) throttled(a *Answer) {
	if f.Pace != "" {
		a.prove("throttled by what sources say of how fast it is asked (throttle): %s", f.Pace)
	}
}

// turns proves before whom the file is requested, and after whom.
func (f *Facts) turns(a *Answer) {
	a.prove("%s has the priority %d; before it in its source: %s; at its server, other sources with files that wait: %d", f.From.Source, f.Queue.Priority,
		atLeast(f.Queue.Before, "file"), f.Queue.Rivals)
	if len(f.Choice) < 2 {
		return
	}
	for i, h := range f.Choice[:min(len(f.Choice), 5)] {
		own := ""
		if h.SourceCentre == f.Centre {
			own = "the centre's own, "
		}
		a.prove("%d. of %d to be asked for it is %s: %s%s", i+1, len(f.Choice), h.Source, own, report.ReputationOf(h.Choice).Text())
	}
}

// nowhere judges what no source can be fetched from now.
func (f *Facts) nowhere(a *Answer, x *control.Fetch) {
	for _, h := range f.Hostings {
		if !h.Present || x.Tried[h.Source].GivenUp {
			continue
		}
		verdict, why := Verdict(""), ""
		switch {
		case h.State == control.SourceRemoved:
			verdict, why = SourceRemoved, "was removed"
		case h.State == control.SourceMaintenance:
			verdict, why = SourceMaintenance, "is in maintenance"
		case h.State == control.SourceSuspended:
			verdict, why = SourceSuspended, "is suspended"
		case h.State == control.SourceClosed:
			verdict, why = SourceClosed, "is outside of its window"
		case !h.Settled:
			verdict, why = Unsettled, "shows it in another version, which has not looked the same for long enough"
		}
		if verdict == "" {
			continue
		}
		if h.Source == f.SourceID && f.resting(h.State, a) {
			return
		}
		a.say(verdict, "%s can't be fetched now: %s %s.", a.File, h.Source, why)
		a.Next = "Look at how it stands: tributary sources show " + h.Source
		if verdict == Unsettled {
			a.Next = ""
		}
		return
	}
	for _, h := range f.Hostings {
		if h.Refused {
			a.say(CentreNotHostedHere, "%s can't be fetched: %s shows it, but may not show files of the centre %s (any more).", a.File, h.Source, f.Centre)
			a.Next = remedy("centre_not_hosted_here")
			return
		}
	}
	a.say(Gone, "%s can't be fetched: no source shows it any more; it ends so as soon as plan looks at it.", a.File)
}

// uses is what uses the credit, as the end of a sentence.
func (f *Facts) uses() string {
	var parts []string
	for _, u := range f.Credit.By {
		for _, of := range []struct {
			n    int64
			what string
		}{{u.Jobs, "job"}, {u.Polls, "poll"}, {u.DuePolls, "poll that is due"}} {
			switch {
			case of.n == 1:
				parts = append(parts, "a "+of.what+" of "+u.Source)
			case of.n > 1:
				parts = append(parts, fmt.Sprintf("%d %ss of %s", of.n, of.what, u.Source))
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.ReplaceAll(strings.Join(parts, ", "), "poll that is dues", "polls that are due") + ")"
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
