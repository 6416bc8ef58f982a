package why

import (
	"strings"

	"tributary/internal/config"
	"tributary/producers/poll"
	"tributary/schemas"
	"tributary/sql/control"
)

// unlisted judges a file that the source is not known to show.
func (f *Facts) unlisted(a *Answer) {
	switch {
	case f.Outside != "":
		a.say(OutsideDirectories, "%s is not listed: of a source only the directories add, edit and delete below its base are.", a.File)
		a.Next = "Have it put into one of these: the directory says what is done with a file."
	case f.refusedEverywhere(a):
	case f.Source == nil:
		a.say(NoSource, "No source could show %s: none is of the centre %s, and none hosts that centre's files.", a.File, f.Centre)
		a.Next = "Name a source to ask about it; hosts in its definition says what it may show beside its own centre's files. All sources: tributary sources"
	case f.Source.Filter != "":
		a.say(Filtered, "%s is not taken from %s, whose filters exclude it (%s).", a.File, f.SourceID, f.Source.Filter)
		a.prove("rule: %s", f.Source.Filter)
		a.Next = "Nothing, if that is as meant. What the filters do to its last listings: tributary sources test-filter " + f.SourceID
	case f.Source.Ignored.Name != "":
		f.ignored(a)
	case f.Source.Refusal != "":
		a.say(WouldBeRefused, "%s was never listed by %s, and would not be taken from there: %s.", a.File, f.SourceID, f.Source.Refusal)
		a.prove("rule: centre_not_hosted_here")
		a.Next = remedy("centre_not_hosted_here")
	case f.resting(f.Source.State, a):
	default:
		f.unseen(a)
	}
	if f.Source != nil && f.Outside == "" {
		f.polls(a)
	}
	f.elsewhere(a)
}

// refusedEverywhere judges the name alone.
func (f *Facts) refusedEverywhere(a *Answer) bool {
	if f.Source != nil && f.Source.Ignored.Name != "" || f.Bad == nil {
		return false
	}
	by := ""
	if f.SourceID != "" {
		by = " by " + f.SourceID
	}
	if !strings.EqualFold(f.Name[max(0, len(f.Name)-4):], ".zip") {
		a.say(WouldBeRefused, "%s was not taken up%s and would not be: its name does not end in .zip.", a.File, by)
		a.prove("rule: not_zip")
		if f.Source != nil {
			f.cutOff(a)
		}
		return true
	}
	a.say(WouldBeRefused, "%s was never listed%s, and would be refused: %s.", a.File, by, f.Bad.Message)
	a.prove("rule: %s", f.Bad.Exception)
	a.Next = remedy(f.Bad.Exception)
	return true
}

// ignored judges an entry that its listing showed and nobody takes up.
func (f *Facts) ignored(a *Answer) {
	why := f.Source.Ignored.Words()
	if f.Source.Ignored.Reason == poll.Filtered {
		why = "a filter of the source excluded it then (" + f.Source.Ignored.Rule + "), and none does now"
	}
	a.say(Ignored, "%s shows %s, and nobody takes it up, since %s.", f.SourceID, a.File, why)
	a.prove("rule: %s", f.Source.Ignored.Reason)
	a.Next = f.ignoredNext() + " All that is passed over: tributary sources ignored " + f.SourceID
}

// ignoredNext is what to do about an entry that nobody takes up.
func (f *Facts) ignoredNext() string {
	switch key, _, _ := strings.Cut(f.Source.Ignored.Rule, ":"); f.Source.Ignored.Reason {
	case control.NoDoneFile:
		return "Have " + f.Source.Ignored.Rule + " put beside it once it is whole, or take done_file out of the source's definition."
	case control.TooYoung:
		return "Nothing: a poll takes it once it is old enough, if it is not changed until then."
	case control.TooSmall, control.TooLarge, control.TooOld:
		return "Nothing, if that is as meant; otherwise set " + key + " of the source to another value (tributary sources edit)."
	case control.NotLatest:
		return "Nothing, if that is as meant; otherwise take latest_only out of the source's definition (tributary sources edit)."
	}
	return "Nothing, if it is meant to lie there."
}

// cutOff says that not all names are kept which a listing showed and nobody takes up.
func (f *Facts) cutOff(a *Answer) {
	if l := f.Source.Listings; l.Ignored > l.Kept {
		a.prove("the last complete listing passed over %d entries, of which the names of the first %d are kept (poll.max_ignored): it may be among the others", l.Ignored, l.Kept)
	}
}

// resting judges what a source that is not available keeps from being taken, from
// its state and how it stands.
func (f *Facts) resting(state string, a *Answer) bool {
	s := f.Source
	switch {
	case state == control.SourceRemoved:
		a.say(SourceRemoved, "%s waits for nothing at %s: the source was removed, so it is neither listed nor fetched from.", a.File, f.SourceID)
		a.Next = "Nothing, if that is as meant; tributary sources add defines it again. Who removed it, and why: tributary sources history " + f.SourceID
	case state == control.SourceMaintenance:
		a.say(SourceMaintenance, "%s waits until %s, which is in maintenance, is resumed: until then it is neither listed nor fetched from.", a.File, f.SourceID)
		if s.MaintainedUntil != nil {
			a.prove("its maintenance ends by itself at %s", moment(*s.MaintainedUntil))
		}
		a.Next = "Once it may be used again: tributary sources resume " + f.SourceID + " (who ordered it, and why: tributary sources history " + f.SourceID + ")"
	case state == control.SourceSuspended:
		a.say(SourceSuspended, "%s waits until %s answers again: it is suspended and only probed, since %s.", a.File, f.SourceID, schemas.Cut(s.SuspendedWhy, maxText))
		a.proveAt(s.SuspendedAt, "%s is suspended", f.SourceID)
		a.Next = "Mend what does not work (tributary sources check " + f.SourceID + "), then: tributary sources resume " + f.SourceID
	case state == control.SourceClosed, state == control.SourceAvailable && s.Closed(f.Now):
		a.say(SourceClosed, "%s waits until the window of %s opens: outside of it, it is neither listed nor fetched from.", a.File, f.SourceID)
		if s.Opens != nil && s.Opens.After(f.Now) {
			a.prove("the window opens at %s", moment(*s.Opens))
		}
		a.Next = "Nothing, if the window is as meant: tributary sources show " + f.SourceID
	case s.Definition == control.Undefined:
		a.say(SourceUndefined, "%s waits until how %s is reached is known again: control was restored, or is an older program's.", a.File, f.SourceID)
		a.Next = "Start a member with the role schedule: it stores what the configuration declares."
	default:
		return false
	}
	return true
}

// unseen judges a file that could be taken from the source, were it seen there.
func (f *Facts) unseen(a *Answer) {
	l, complete := f.Source.Listings, f.complete()
	switch {
	case !l.CentreActive:
		a.say(CentreInactive, "%s was never listed by %s, which is not polled: its centre %s is not active.", a.File, f.SourceID, f.Source.Centre)
		a.Next = "Set active: true for the centre in the configuration, or, where people have defined it: tributary centres edit " + f.Source.Centre + " active=true"
	case l.Ended == nil && complete == nil:
		a.say(NeverPolled, "%s was never listed: no poll of %s has ended yet.", a.File, f.SourceID)
	case complete == nil:
		a.say(ListingFailed, "%s was never listed: no listing of %s came to its end, the last broke off with %s.", a.File, f.SourceID, because(l.Ended.Exception, l.Ended.Message))
		if l.Ended.State == "failed" {
			a.Sentence = strings.Replace(a.Sentence, "the last broke off", "the last poll failed", 1)
		}
		a.Next = "Look at what does not work: tributary sources check " + f.SourceID
	case l.Ended != nil && (l.Ended.State == "complete" || l.Ended.State == "minimal") && l.Ended.Postponed > 0:
		f.postponed(*l.Ended, a)
	case f.Source.OnDemand:
		a.say(PolledOnDemand, "%s was never listed by %s, whose last complete listing was at %s, and which is polled on demand only.", a.File, f.SourceID, moment(complete.At))
		a.Next = "Have the source listed, if the file lies there by now: tributary sources poll " + f.SourceID
	default:
		a.say(NotListed, "%s was never listed by %s, whose last complete listing was at %s.", a.File, f.SourceID, moment(complete.At))
		a.Next = "Look whether it lies in the right directory and under this name, capitals included. To have the source listed now: tributary sources poll " + f.SourceID
		f.cutOff(a)
	}
}

// postponed judges a file that the last listing may have shown beyond a limit.
func (f *Facts) postponed(l control.ListedPoll, a *Answer) {
	key := control.LimitKey(l.StoppedBy)
	if !control.OfDay(l.StoppedBy) {
		a.say(Postponed, "%s is not taken up yet if %s shows it: its last listing left %s to the next polls.", a.File, f.SourceID, many(l.Postponed, "new or changed file"))
		a.prove("one poll takes up no more (%s), those never seen and oldest first", key)
		return
	}
	ends := f.Now
	if l.EndedAt != nil {
		_, ends = config.DayOf(f.Source.Definition, *l.EndedAt)
	}
	a.say(Postponed, "%s is not taken up yet if %s shows it: its last listing left %s to polls from %s on, since no more are taken up on one day (%s).",
		a.File, f.SourceID, many(l.Postponed, "new or changed file"), moment(ends), key)
	a.prove("those never seen and oldest come first")
	a.Next = "Nothing, if the limit is as meant: tributary sources show " + f.SourceID + " says what was taken up today."
}

// complete is the last complete listing that control or the tracker knows.
func (f *Facts) complete() *CompleteListing {
	known, c := f.Source.Complete, f.Source.Listings.Complete
	switch {
	case c == nil && known == nil && !f.Source.Directories.Complete.IsZero():
		return &CompleteListing{At: f.Source.Directories.Complete} // long ago, and none but minimal polls since
	case c == nil || c.EndedAt == nil || known != nil && known.At.After(*c.EndedAt):
		return known
	case known != nil && known.At.Equal(*c.EndedAt):
		both := *known
		both.Session = c.Session
		return &both
	}
	return &CompleteListing{At: *c.EndedAt, Session: c.Session}
}

// polls are how the source was and will be listed.
func (f *Facts) polls(a *Answer) {
	l := f.Source.Listings
	if c := f.complete(); c != nil {
		shown := ""
		if c.Listed != "" {
			shown = ": " + c.Listed + " files, and " + c.Ignored + " entries passed over"
		}
		a.proveAt(&c.At, "%s was listed completely (session %d)%s", f.SourceID, c.Session, shown)
	}
	if l.Minimal > 0 {
		a.prove("since then %s of it passed over directories whose time says that no file has come (complete_every): of what was overwritten in place nothing is known yet", many(int64(l.Minimal), "poll"))
	}
	if e := l.Ended; e != nil && e.State != "complete" && e.State != "minimal" {
		how := "failed"
		if e.State == "broken_off" {
			how = "broke off"
		}
		a.proveAt(e.EndedAt, "the last poll of %s %s (session %d): %s", f.SourceID, how, e.Session, because(e.Exception, e.Message))
	}
	switch o := l.Open; {
	case o != nil && o.State == "running":
		a.proveAt(o.StartedAt, "%s is being polled (session %d)", f.SourceID, o.Session)
	case o != nil && o.Exception != "":
		a.prove("a poll of %s waits to be tried again (session %d): %s", f.SourceID, o.Session, because(o.Exception, o.Message))
	case o != nil:
		a.prove("a poll of %s waits for a member (session %d)", f.SourceID, o.Session)
	case f.Source.State != control.SourceAvailable && f.Source.State != control.SourceSuspended:
	case f.Source.OnDemand:
		a.prove("it is polled on demand only: tributary sources poll %s", f.SourceID)
	case l.NextDue != nil && l.NextDue.After(f.Now):
		a.prove("it is polled again from %s on", moment(*l.NextDue))
	default:
		a.prove("it is due: the role schedule opens the next session")
	}
}
