package why

import (
	"tributary/sql/control"
)

// listed judges a file that the source shows, or has shown.
func (f *Facts) listed(a *Answer) {
	k := f.Look
	if main := f.main(); main != nil && (k.Class == "taken" || k.Class == "" || k.Class == "gone" && k.State == "gone") {
		f.fetch(a, main)
	} else {
		f.found(a)
	}
	size := ""
	if k.Size >= 0 {
		size = " with " + bytes(k.Size)
	}
	a.proveAt(&k.ListedAt, "%s listed it so first%s (look %d%s)", f.SourceID, size, k.Look, inSession(k.Session))
	if f.Source.Filter != "" {
		a.prove("a filter of %s excludes it now (%s): its listings count as without it", f.SourceID, f.Source.Filter)
	}
	if f.Source.Ignored.LeftOut() {
		a.prove("its last complete listing shows another version, which is left, since %s (rule: %s)", f.Source.Ignored.Words(), f.Source.Ignored.Reason)
	}
	if k.State == "gone" && k.Class != "rejected" && a.Verdict != Gone {
		f.vanished(a)
	} else if k.Misses > 0 {
		a.prove("%s lacks it since %s", f.SourceID, many(int64(k.Misses), "complete listing"))
	}
}

// found judges what a listing showed and nobody has begun to fetch.
func (f *Facts) found(a *Answer) {
	k := f.Look
	switch {
	case k.Class == "rejected":
		f.refused(a)
	case k.State == "gone":
		a.say(Gone, "%s is not taken: %s showed it, and has ceased to before it was fetched.", a.File, f.SourceID)
		a.Next = "Nothing; or, if it should be there, have it uploaded again."
		f.vanished(a)
	case k.Class == "unsettled":
		if f.resting(f.Source.State, a) {
			return
		}
		a.say(Unsettled, "%s is taken once it has looked the same for %s: by the first poll of %s from %s on.", a.File, f.Limits.Settle, f.SourceID, moment(k.ListedAt.Add(f.Limits.Settle)))
		f.polls(a)
	case k.Class == "waiting":
		a.say(WaitsForOwnSource, "%s waits until the centre %s's own source %s is listed, whose files come first: until %s at the latest.", a.File, f.Centre, k.OwnPolling, f.cutoff())
		if k.OwnPolling == "" {
			a.say(WaitsForOwnSource, "%s has waited for the centre %s's own sources; plan takes it up next.", a.File, f.Centre)
		}
	case k.Class == "duplicate", k.Class == "superseded":
		f.passed(a)
	case k.Class == "announced":
		a.say(Announced, "%s was found at %s, and waits until plan takes it up.", a.File, f.SourceID)
		a.proveAt(k.AnnouncedAt, "it was announced to plan")
		a.Next = "Nothing, while a member has the role plan and events are published (tributary status)."
	case f.Tracked != nil && f.Tracked.Ended: // as in a control that was restored
		f.remembered(a)
	default:
		a.say(Announced, "%s was found at %s, and nothing has begun to fetch it.", a.File, f.SourceID)
	}
}

// refused judges what is recorded as rejected.
func (f *Facts) refused(a *Answer) {
	known := control.KnownFile{}
	if f.File != nil {
		known = *f.File
	}
	switch {
	case known.Centre == "" && known.Exception != "":
		a.say(NameRefused, "%s is not taken, since its name breaks the rule %s: %s.", a.File, known.Exception, known.Message)
		a.Next = remedy(known.Exception)
		if f.Bad == nil {
			a.prove("by this configuration the name is right: the next listing of %s judges it again", f.SourceID)
		} else if f.Bad.Exception != known.Exception {
			a.prove("by this configuration it breaks the rule %s", f.Bad.Exception)
		}
	case f.Source.Refusal != "":
		a.say(CentreNotHostedHere, "%s is not taken from %s: %s.", a.File, f.SourceID, f.Source.Refusal)
		a.Next = remedy("centre_not_hosted_here")
	default:
		name, message := known.Exception, known.Message
		if f.Hosted != nil && f.Hosted.Note != "" {
			name, message = f.Hosted.Note, f.Hosted.Message
		}
		a.say(EntryRefused, "%s can't be fetched as %s shows it: %s.", a.File, f.SourceID, because(name, message))
		a.Next = remedy(name)
	}
	f.elsewhere(a)
}

// passed judges what another source shows too, from where it is taken.
func (f *Facts) passed(a *Answer) {
	var other control.Hosting // from where it is taken, or else one that shows it
	main := f.main()
	for _, h := range f.Hostings {
		if h.Source == f.SourceID {
			continue
		}
		if main != nil && h.Source == main.Source {
			other = h
			break
		}
		if other.Source == "" || h.Present && !other.Present {
			other = h
		}
	}
	if f.Look.Class == "duplicate" {
		a.say(DuplicateHosting, "%s is not taken from %s, since %s shows it with the same size, and is where it is taken from.", a.File, f.SourceID, other.Source)
	} else {
		a.say(DivergentHosting, "%s is not taken from %s, since %s shows it with %s, and its word counts.", a.File, f.SourceID, other.Source, bytes(other.Size))
		a.Next = "Tell the centre " + f.Source.Centre + " that its copy differs."
	}
	f.elsewhere(a)
}

// elsewhere says how the file stands that this source has no part in.
func (f *Facts) elsewhere(a *Answer) {
	if main := f.main(); main != nil {
		var of Answer
		of.File = a.File
		f.fetch(&of, main)
		a.prove("%s: %s", of.Verdict, of.Sentence)
	}
}

// vanished says since when a source no longer shows a file.
func (f *Facts) vanished(a *Answer) {
	if f.Hosted != nil && f.Hosted.State == "gone" {
		a.proveAt(&f.Hosted.Changed, "%s no longer shows it", f.SourceID)
		return
	}
	a.prove("%s no longer shows it", f.SourceID)
}

// cutoff is when the session's polls are waited for no longer.
func (f *Facts) cutoff() string {
	if f.Look.SessionOpened == nil {
		return "the session's end"
	}
	return moment(f.Look.SessionOpened.Add(f.Limits.PollCutoff))
}
