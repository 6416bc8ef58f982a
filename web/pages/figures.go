package pages

import (
	"fmt"
	"strings"
	"time"

	"tributary/queries/report"
)

// figure is a number, how it came about, and what is usual.
type figure struct {
	Name, Value, Unit string
	To                string // the list that it counts
	Spark             *spark
	Note, NoteTo      string
}

// span is a time over which figures are shown, and its address.
type span struct {
	Name, Title, To string
	Current         bool
}

// spans are those that people can choose.
func spans(s *Site, current string) (out []span) {
	titles := map[string]string{"1h": "1 h", "24h": "24 h", "7d": "7 d"}
	for i, x := range report.Spans() {
		name := x.Name
		if i == 0 {
			name = "" // which is the page itself
		}
		out = append(out, span{Name: x.Name, Title: titles[x.Name], To: s.to("/", "span", name), Current: x.Name == current})
	}
	return out
}

// newFigures are the four figures of the page Now.
func newFigures(s *Site, p report.Pace, stand report.Status, now time.Time) []figure {
	since := p.Since.UTC().Truncate(time.Minute).Format(time.RFC3339)
	received := series(p, p.Received, "Files received", "usual in such a time")
	received.To = s.to("/files", "since", since)
	inserted := series(p, p.Inserted, "Documents inserted", "usual in such a time")
	inserted.To = s.to("/documents", "phase", "overview", "status", "done", "since", since)
	return []figure{received, inserted, latency(s, p), waiting(s, stand, now)}
}

// series shows how many there were in all, and their course.
func series(p report.Pace, x report.Series, name, usual string) figure {
	f := figure{Name: name, Value: count(int64(x.Total)), Note: "nothing before to compare with"}
	var step *float64
	if x.Usual != nil {
		f.Note = usual + ": " + count(int64(*x.Usual))
		each := *x.Usual / float64(len(x.Values))
		step = &each
	}
	most := 0.0
	for _, v := range x.Values {
		most = max(most, v)
	}
	drawn := newSpark(fmt.Sprintf("%s: %s in all, at most %s in %s", name, count(int64(x.Total)), count(int64(most)), age(time.Duration(p.Step*float64(time.Second)))), x.Values, step)
	f.Spark = &drawn
	return f
}

// latency shows how long files take from being seen until they are inserted.
func latency(s *Site, p report.Pace) figure {
	f := figure{Name: "Seen until inserted", Value: "–", Note: "of the files first seen then, none is inserted"}
	if p.Latency.Most == nil || p.Latency.Half == nil {
		return f
	}
	f.Value, f.Unit, _ = strings.Cut(took(*p.Latency.Most), " ")
	f.Unit += ", for 95%"
	f.Note = "half within " + took(*p.Latency.Half) + ", of the files first seen then"
	f.To = s.to("/files", "phase", "overview", "status", "done", "since", p.Since.UTC().Truncate(time.Minute).Format(time.RFC3339))
	drawn := newSpark("How long 95% of them took at most, by when they were first seen: "+took(*p.Latency.Most)+" over all", p.Latency.Values, nil)
	f.Spark = &drawn
	return f
}

func took(seconds float64) string { return age(time.Duration(seconds * float64(time.Second))) }

// waiting shows how many files have not ended, and which has waited longest.
func waiting(s *Site, stand report.Status, now time.Time) figure {
	f := figure{Name: "Waiting", Value: count(stand.Pending), Unit: "files", To: s.to("/files", "waiting", "true"), Note: "nothing waits"}
	if stand.Pending == 1 {
		f.Unit = "file"
	}
	if len(stand.Oldest) > 0 {
		f.Note, f.NoteTo = "oldest "+age(now.Sub(stand.Oldest[0].Since)), "#oldest"
	}
	return f
}
