package why

import (
	"fmt"
	"strings"

	"tributary/queries/report"
	"tributary/sql/control"
)

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
