package plan

import (
	"time"

	"tributary/schemas"
	"tributary/sql/control"
)

// downloaded judges the outcome of an attempt: the first one read is accepted.
func (w *World) downloaded(d schemas.DownloadFinished, record schemas.Record) {
	f := w.files[d.File]
	t := w.attempts[control.AttemptKey{Run: d.Run, File: d.File, Attempt: d.Attempt}]
	if f == nil || t == nil || t.Download != "" {
		return // unknown, or judged before: a repeat, or an outcome set aside
	}
	a := f.Acquisition(t.Acquisition)
	if a != nil && a.Attempt == d.Attempt && withdrawn(a) { // only its job hears of it
		t.Download, t.Changed = d.Outcome, true
		w.jobs[t.Job]++
		return
	}
	if a == nil || a.State != control.Requested || a.Attempt != d.Attempt {
		return
	}
	t.Download, t.Changed = d.Outcome, true
	w.jobs[t.Job]++
	a.Changed = true
	w.rest(d)
	switch d.Result {
	case schemas.Fetched:
		w.fetched(f, a, t, d, record)
	case schemas.NotTried:
		t.Download = schemas.NotTried
		a.Alone = a.Alone || d.Exception == schemas.Quarantined
		a.State, a.NotBefore = control.Wanted, w.now.Add(w.pauseNotTried(a, t.Source, d.Exception))
		w.out = append(w.out, attemptEvent(f, a, t, string(schemas.Download), schemas.Cancelled, d.Exception, d.Message, schemas.NotTried, d.Outcome, w.now))
	case schemas.Quarantined:
		w.brings(t.Source).Missed(false)
		w.end(f, a, t, string(schemas.Download), schemas.Quarantined, d.Message, d.Outcome)
	default:
		w.brings(t.Source).Missed(d.Exception == "checksum_mismatch")
		w.fetchFailed(f, a, t, d)
	}
}

// pauseNotTried is how long what was not tried waits. A file for which there was
// no room waits longer each time, since whoever has the room keeps it for a while.
func (w *World) pauseNotTried(a *control.Acquisition, source, exception string) time.Duration {
	if exception != schemas.NoRoom {
		return min(w.backoff.Base, time.Second)
	}
	tried := a.Tried[source]
	tried.NoRoom++
	a.Tried[source] = tried
	return w.backoff.After(tried.NoRoom)
}

// fetched accepts bytes: either those that the file shows already, or a new
// version of it.
func (w *World) fetched(f *File, a *control.Acquisition, t *control.Attempt, d schemas.DownloadFinished, record schemas.Record) {
	w.brings(t.Source).Brought(d.Size, took(d))
	if a.Heals != "" {
		w.brought(f, a, t, d)
		return
	}
	for source, tried := range a.Tried {
		if tried.Bad == d.SHA256 && source != t.Source {
			w.brings(source).Cleared()
			w.end(f, a, t, string(schemas.Unzip), corrupted, "two hostings serve the same damaged archive: "+a.Message, d.Outcome)
			return
		}
	}
	a.Download, a.SHA256, f.Urgency = d.Outcome, d.SHA256, control.Urgency{}
	shown := d.SHA256 == f.CurrentSHA256 && !w.belongs(f, a) && !w.spoiled(f)
	if shown && a.Run == schemas.LiveRun {
		a.State, a.Result, a.EndedAt = control.Ended, control.Duplicate, &w.now
		w.out = append(w.out, duplicateEvent(f, a, t, d.Outcome, w.now))
		return
	}
	if origin := w.origin(f, a, d.SHA256); origin != "" {
		a.State, a.Result, a.EndedAt, a.Message = control.Ended, control.Duplicate, &w.now, SameBytes+origin
		w.out = append(w.out, originEvent(f, a, t, d.Outcome, origin, w.now))
		return
	}
	a.State = control.Received
	a.LastEvent, a.LastHeaders = record.Value, record.Headers
	current := w.current(f)
	w.origins.shows(f, d.SHA256)
	f.CurrentSHA256, f.CurrentAttempt = d.SHA256, d.Attempt
	if !shown || current == nil || !ranked(a, current) {
		w.rank(f, a, t)
	}
	if t.Early != nil {
		w.early(f, a, t)
	}
}

// took is how long a fetch took; 0 where it does not tell.
func took(d schemas.DownloadFinished) time.Duration {
	if d.StartedAt == nil || d.FinishedAt == nil {
		return 0
	}
	return d.FinishedAt.Sub(*d.StartedAt)
}

// rank gives accepted bytes their rank: above all that were accepted before
// from sources of the same kind, by the look that showed them.
func (w *World) rank(f *File, a *control.Acquisition, t *control.Attempt) {
	f.Acceptances++
	ordinal, own := f.Acceptances, false
	a.RankOrdinal = &ordinal
	for _, h := range f.hostings {
		if h.Source == t.Source {
			own = f.own(h)
			listed := h.ListedAt
			a.RankTime = &listed
		}
	}
	if t.ListedAt != nil {
		a.RankTime = t.ListedAt // of the look that was fetched; a later one may be listed by now
	}
	a.RankOwn = &own
	for _, before := range f.Acquisitions {
		// Our clock may have been set back between two looks of a source.
		if before.Source == a.Source && before.Look < a.Look && before.RankOwn != nil && *before.RankOwn == own && a.RankTime != nil && before.RankTime != nil && before.RankTime.After(*a.RankTime) {
			a.RankTime = before.RankTime
		}
	}
}

// ranked gives an acquisition the rank of the one that brought the same version
// before, if that has one: a replay of a version replaces its results, and no
// other version's.
func ranked(a, before *control.Acquisition) bool {
	if before.RankOrdinal == nil {
		return false
	}
	a.RankOwn, a.RankTime, a.RankOrdinal = before.RankOwn, before.RankTime, before.RankOrdinal
	return true
}

// belongs reports whether the bytes that the file shows were accepted by this
// very acquisition, from a hosting whose archive turned out damaged.
func (w *World) belongs(f *File, a *control.Acquisition) bool {
	t := w.shown(f)
	return t != nil && t.Acquisition == a.ID
}

// fetchFailed tries the same hosting again, or the next one, or ends.
func (w *World) fetchFailed(f *File, a *control.Acquisition, t *control.Attempt, d schemas.DownloadFinished) {
	tried := a.Tried[t.Source]
	tried.Attempts++
	tried.GivenUp = hopeless(d.Exception) || tried.Attempts >= max(1, w.perHosting)
	a.Tried[t.Source] = tried
	a.Phase, a.Exception, a.Message = d.Phase, d.Exception, d.Message
	if len(f.Candidates(a)) == 0 {
		w.end(f, a, t, d.Phase, d.Exception, d.Message, d.Outcome)
		if again := w.now.Add(asked(d)); a.RetryAt != nil && a.RetryAt.Before(again) {
			a.RetryAt = &again
		}
		return
	}
	a.State, a.NotBefore = control.Wanted, w.now
	if !tried.GivenUp {
		a.NotBefore = w.now.Add(w.backoff.After(tried.Attempts))
	}
	w.out = append(w.out, triedAgain(attemptEvent(f, a, t, d.Phase, schemas.Failed, d.Exception, d.Message, "", d.Outcome, w.now)))
	w.announceNext(f, a)
}

// announceNext numbers an acquisition's next attempt ahead and tells that it
// is pending, so that its file does not look ended meanwhile.
func (w *World) announceNext(f *File, a *control.Acquisition) {
	a.Attempt = w.nextAttempt(f, a)
	h := f.Candidates(a)[0]
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: h.Source, Look: h.Look}
	w.out = append(w.out, pendingEvent(f, a, t, "announced", h.Server, h.ModTime, nil, w.now))
}

// nextAttempt is the number of the attempt to be requested next: the one
// announced, or a new one.
func (w *World) nextAttempt(f *File, a *control.Acquisition) int32 {
	announced := a.Attempt > 0 && w.attempts[control.AttemptKey{Run: a.Run, File: f.ID, Attempt: a.Attempt}] == nil
	if announced {
		return a.Attempt
	}
	f.Attempts++
	return f.Attempts
}
