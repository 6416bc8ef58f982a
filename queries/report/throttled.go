package report

import (
	"context"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/internal/throttle"
	"tributary/sql/control"
)

// Throttled is how fast a source may be asked now, and until when it is not asked at all.
type Throttled struct {
	Bounds    []ThrottleBound `json:"bounds"`               // that hold now; of several all are kept
	Error     string          `json:"error,omitempty"`      // why some can't be read, as a newer program has defined them
	LeftUntil *time.Time      `json:"left_until,omitempty"` // when its server wants to be asked again (Retry-After)
	Opens     *time.Time      `json:"opens,omitempty"`      // when its window does, outside of which it is
}

// ThrottleBound is what all members together keep to. What is absent is not bounded.
type ThrottleBound struct {
	Of       string   `json:"of"`                            // server or source
	Name     string   `json:"name"`                          // of that
	Rate     int64    `json:"bytes_per_second,omitempty"`    // of files
	Requests int      `json:"requests_per_minute,omitempty"` // evenly spread
	Pause    float64  `json:"pause_seconds,omitempty"`       // from an answer to the next request
	Why      []string `json:"why"`                           // which sources' throttle says so, or the server's robots.txt

	text string
}

// ThrottledOf tells how fast a source may be asked at a moment; nil: as fast as it answers.
func ThrottledOf(ctx context.Context, q pg.Querier, st control.Standing, now time.Time) (*Throttled, error) {
	server, err := control.ThrottledServer(ctx, q, st.ID)
	if err != nil {
		return nil, err
	}
	left, err := control.LeftAlone(ctx, q, now)
	if err != nil {
		return nil, err
	}
	t := &Throttled{Bounds: []ThrottleBound{}}
	bounds, unread := server.Bounds(st.ID, now)
	for _, b := range bounds {
		t.Bounds = append(t.Bounds, throttleBound(server, st.ID, b, now))
	}
	if server.Crawl > 0 && heedsRobots(st) {
		b := throttle.Bound{Name: throttle.ServerName(server.Name), Limit: throttle.Limit{Pause: server.Crawl}}
		t.Bounds = append(t.Bounds, ThrottleBound{Of: "server", Name: server.Name, Pause: b.Pause.Seconds(), Why: []string{"Crawl-delay of its robots.txt"}, text: b.String()})
	}
	if unread != nil {
		t.Error = unread.Error()
	}
	if until, is := left[st.Server]; is {
		t.LeftUntil = &until
	}
	if st.State == control.SourceAvailable && st.Closed(now) && st.Opens.After(now) {
		t.Opens = st.Opens
	}
	if len(t.Bounds) == 0 && unread == nil && t.LeftUntil == nil && t.Opens == nil {
		return nil, nil
	}
	return t, nil
}

// heedsRobots tells whether sessions for a source read robots.txt.
func heedsRobots(st control.Standing) bool {
	src, err := config.ParseDefinition(st.Definition)
	return err == nil && strings.HasPrefix(st.Protocol, "http") && src.Robots != config.RobotsIgnore
}

// throttleOf is before the source whose throttle is meant.
const throttleOf = "throttle of "

// throttleBound tells of one bound, and of the sources of the server that say it.
func throttleBound(server throttle.Server, source string, b throttle.Bound, now time.Time) ThrottleBound {
	out := ThrottleBound{Of: "source", Name: source, Rate: b.Rate, Requests: b.Requests(), Pause: b.Pause.Seconds(), Why: []string{throttleOf + source}, text: b.String()}
	if b.Name != throttle.ServerName(server.Name) {
		return out
	}
	out.Of, out.Name, out.Why = "server", server.Name, []string{}
	for _, of := range server.Sources {
		// One that can't be read says nothing that is kept.
		if says, _ := (throttle.Server{Name: server.Name, Sources: []throttle.Source{of}}).Bounds("", now); len(says) > 0 {
			out.Why = append(out.Why, throttleOf+of.ID)
		}
	}
	return out
}

// Text says for people what the bound allows.
func (b ThrottleBound) Text() string { return b.text + " (" + strings.Join(b.Why, ", ") + ")" }

// Text says it for people, but for the window, which stands with the times of polls; empty:
// nothing bounds it.
func (t *Throttled) Text() string {
	if t == nil {
		return ""
	}
	var out strings.Builder
	for _, b := range t.Bounds {
		out.WriteString("throttled now, " + screen.Line(b.Of+" "+b.Name+": "+b.Text()) + "\n")
	}
	if t.Error != "" {
		out.WriteString("what throttles it can't all be read: " + screen.Line(t.Error) + "\n")
	}
	if t.LeftUntil != nil {
		out.WriteString("its server has asked to be left alone (Retry-After): it is neither polled nor given a job until " + moment(t.LeftUntil) + "\n")
	}
	return out.String()
}
