package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tributary/queries/report"
	"tributary/schemas"
)

// version is what happened to one version of a file, the oldest first.
type version struct {
	Name, About string
	Events      []storyEvent
}

// storyEvent is one thing that happened, as it is told, and, where all events are listed, in
// columns.
type storyEvent struct {
	At                    time.Time
	Clock, Full, DateTime string
	Status                string // whose shape is shown; seen: of a look
	Text, Exception, More string
	Who                   string // reported or judged; empty: it is no line of the log
	Asked, Answered       string // heads of the request and of its answer, where it ended a transfer over HTTP
}

// story arranges what happened by versions, the newest first. What is not of a version
// belongs to the one that was received next.
func (s *Site) story(t report.Told) []version {
	out := make([]version, len(t.Versions)+1)
	for i, v := range t.Versions {
		out[i].Name = fmt.Sprintf("Version %d", i+1)
		out[i].About = s.full(v.Received) + " · " + bytesOf(v.Size)
		if v.Current {
			out[i].About += " · current"
		} else {
			out[i].About += " · superseded"
		}
	}
	last := len(t.Versions)
	out[last].Name = "No version yet"
	if last > 0 {
		out[last].Name = "Since then"
	}
	of := func(sha *string, at time.Time) int {
		for i, v := range t.Versions {
			if sha != nil && v.SHA256 == *sha || sha == nil && !v.Received.Before(at) {
				return i
			}
		}
		return last
	}
	add := func(version int, at *time.Time, e storyEvent) {
		if at != nil {
			e.At, e.Clock, e.Full, e.DateTime = *at, at.UTC().Format("15:04:05"), s.full(*at), at.UTC().Format(time.RFC3339)
			out[version].Events = append(out[version].Events, e)
		}
	}
	for _, h := range t.Hostings {
		if h.ListedAt != nil {
			text := "Seen at " + h.Source + ", " + bytesOf(h.Size)
			if h.State != nil && *h.State == "gone" {
				text = "Gone from " + h.Source
			}
			add(of(nil, *h.ListedAt), h.ListedAt, storyEvent{Status: "seen", Text: text, More: fmt.Sprintf("look %d of this source", h.Look)})
		}
	}
	for _, a := range t.Tries {
		attemptTold(a, of, add)
	}
	out = slices.DeleteFunc(out, func(v version) bool { return len(v.Events) == 0 })
	for _, v := range out {
		slices.SortStableFunc(v.Events, func(a, b storyEvent) int { return a.At.Compare(b.At) })
	}
	slices.Reverse(out)
	return out
}

// speed says how fast an attempt brought its bytes, where that is known.
func speed(a report.Attempt) string {
	if a.Speed() == 0 {
		return ""
	}
	return ", " + size(a.Speed()) + " a second"
}

// resumed says with how many bytes of attempts before an attempt went on.
func resumed(a report.Attempt) string {
	if a.From == nil {
		return ""
	}
	return ", of which attempts before brought " + count(*a.From)
}

// attemptTold tells of an attempt what is known of it.
func attemptTold(a report.Attempt, of func(*string, time.Time) int, add func(int, *time.Time, storyEvent)) {
	name, from := fmt.Sprintf("Attempt %d", a.Attempt), ""
	if a.Source != nil {
		from = " from " + *a.Source
	}
	in := func(t *time.Time) int { return of(a.SHA256, *t) }
	if a.Requested != nil {
		add(in(a.Requested), a.Requested, storyEvent{Status: "pending", Text: name + from + " was requested"})
	}
	if a.Received != nil && a.SHA256 != nil {
		add(in(a.Received), a.Received, storyEvent{Status: "done", Text: name + from + " brought " + count(a.Bytes) + " bytes" + resumed(a) + speed(a), More: strings.TrimSpace("SHA-256 " + *a.SHA256 + " " + text(a.Note)), Asked: text(a.Request), Answered: text(a.Response)})
	}
	if a.Unzipped != nil && a.Documents != nil {
		add(in(a.Unzipped), a.Unzipped, storyEvent{Status: "done", Text: "Unzipped: " + plural(*a.Documents, "document", "documents")})
	}
	for _, l := range a.Log {
		e := storyEvent{Status: l.Status, Text: fmt.Sprintf("%s%s %s at %s:", name, from, l.Status, l.Phase), Exception: l.Exception, More: text(l.Message), Who: "reported"}
		if l.Judged {
			e.Who = "judged"
		} else if l.Phase == string(schemas.Download) {
			e.Asked, e.Answered = text(a.Request), text(a.Response)
		}
		add(in(&l.At), &l.At, e)
	}
}

func bytesOf(n *int64) string {
	if n == nil {
		return "size not told"
	}
	return size(*n)
}
